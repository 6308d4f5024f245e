import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { type Answer, ask as askPeer, bodyOf, isBadAnswer } from '../test/answering.ts'
import type { CallContext } from './caller.ts'
import { type EdgeClient, edgeClient } from './edge-client.ts'

const B3 = addressOf(new TextEncoder().encode('x'))
const EMPTY = { b3: null, size: null, media_type: null, tiles: null, min_zoom: null, max_zoom: null, why: null }
const FILE = { b3: B3, size: 9, media_type: 'application/vnd.pmtiles', tiles: 'mvt', min_zoom: 0, max_zoom: 4 }
const MOUNTED = { ...EMPTY, ...FILE, name: 'a', path: '/a', from: 'added', state: 'mounted' }
const FAILED = { ...EMPTY, name: 'b', path: '/b', from: 'config', state: 'failed', why: 'No pack.' }
const OPENING = { ...EMPTY, name: 'c', path: '/c', from: 'config', state: 'opening' }

async function ask<T>(answer: Answer, use: (client: EdgeClient, context: CallContext) => Promise<T>) {
  return await askPeer(edgeClient, ['edge:admin'], [answer], use)
}

test('packs are listed with how it stands with each', async () => {
  const body = { packs: [MOUNTED, FAILED, OPENING] }
  const { value, lines, requests } = await ask({ status: 200, body }, (client, at) => client.packs(at))
  assert.deepEqual(lines, ['GET /edge/admin/packs'])
  assert.equal(requests[0]!.headers['authorization'], 'Bearer tok.en')
  const facts = { size: 9, mediaType: 'application/vnd.pmtiles', tiles: 'mvt', minZoom: 0, maxZoom: 4 }
  assert.deepEqual(value, [
    { name: 'a', path: '/a', from: 'added', b3: B3, state: { tag: 'mounted', ...facts } },
    { name: 'b', path: '/b', from: 'config', b3: undefined, state: { tag: 'failed', why: 'No pack.' } },
    { name: 'c', path: '/c', from: 'config', b3: undefined, state: { tag: 'opening' } },
  ])
})

test('a pack is added and removed under its name', async () => {
  const added = await ask({ status: 200, body: MOUNTED }, (client, at) => client.addPack('a b', '/a', B3, at))
  assert.deepEqual([added.lines, bodyOf(added.requests[0]!)], [['PUT /edge/admin/packs/a%20b'], { path: '/a', b3: B3 }])
  const any = await ask({ status: 200, body: MOUNTED }, (client, at) => client.addPack('a', '/a', undefined, at))
  assert.deepEqual(bodyOf(any.requests[0]!), { path: '/a' })
  const removed = await ask({ status: 204 }, (client, at) => client.removePack('a', at))
  assert.deepEqual(removed.lines, ['DELETE /edge/admin/packs/a'])
})

test('an answer of another form is refused', async () => {
  for (const lie of [{ state: 'lost' }, { from: 'air' }, { b3: 'b3:00' }, { size: null }, { name: 7 }])
    await assert.rejects(
      ask({ status: 200, body: { packs: [{ ...MOUNTED, ...lie }] } }, (client, at) => client.packs(at)),
      isBadAnswer,
      JSON.stringify(lie),
    )
})
