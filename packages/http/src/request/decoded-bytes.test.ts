/** What coded bodies take in memory is bounded over all requests, not for each alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as zlib from 'node:zlib'
import { inlineInflate } from '@cairn/platform/testing'
import { type Route, route } from '../pipeline/route.ts'
import { json } from '../response/message.ts'
import { bodyOf, fixture } from '../test/fixture.ts'

const CODED = zlib.gzipSync(Buffer.from('0123456789'.repeat(20)))

/** Keeps the body it received until `let` is called. */
function holding(): { readonly hold: Route; readonly let: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const hold = route({
    method: 'POST',
    path: '/hold',
    lane: 'inline',
    summary: 'Keeps the body for a while.',
    body: 'bytes',
    responses: {},
    handler: async ({ body }) => {
      await promise
      return json(200, { bytes: body.length })
    },
  })
  return { hold, let: resolve }
}

const post = (): { method: string; target: string; headers: string[]; body: AsyncIterable<Uint8Array> } => ({
  method: 'POST',
  target: '/hold',
  headers: ['Host', 'localhost', 'Content-Encoding', 'gzip'],
  body: bodyOf(CODED),
})

test('bodies past the bound are refused until those before them are done', async () => {
  const { hold, let: finish } = holding()
  const config = { decompress_max_total_bytes: 1024, decompress_max_ratio: 100 }
  const { call, runtime } = fixture({ routes: [hold], config })
  const first = call(post())
  const second = call(post())
  await runtime.clock.settle()
  const third = await call(post())
  assert.deepEqual([third.status, third.json()['code']], [429, 'busy'])
  assert.ok(Number(third.headers['retry-after']) >= 1)
  assert.equal(runtime.metrics.value('quota_exhaustions_total', { kind: 'decoded_bytes' }), 2)
  finish()
  // The first was let in alone, whatever it might have become; the second did not fit beside it while it was decoded.
  assert.deepEqual([(await first).status, (await second).status], [200, 429])
  assert.equal((await call(post())).status, 200)
})

test('a decoded body counts as what it is, no longer as what it might have been', async () => {
  const { hold, let: finish } = holding()
  const reserved = CODED.length * 10
  const config = { decompress_max_total_bytes: Math.max(1024, reserved + 400) }
  const { call, runtime } = fixture({ routes: [hold], config })
  const open: Promise<{ status: number }>[] = []
  for (let at = 0; at < 3; at += 1) {
    open.push(call(post()))
    await runtime.clock.settle()
  }
  finish()
  const statuses = (await Promise.all(open)).map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 200])
})

test('what a failed body had reserved is given back', async () => {
  const { hold, let: finish } = holding()
  finish()
  let isBroken = true
  const config = { decompress_max_total_bytes: 1024, decompress_max_ratio: 100 }
  const { call } = fixture({
    routes: [hold],
    config,
    inflate: async (...args) => {
      if (isBroken) throw new Error('not gzip')
      return await inlineInflate(...args)
    },
  })
  for (let at = 0; at < 5; at += 1) assert.equal((await call(post())).status, 400)
  isBroken = false
  assert.equal((await call(post())).status, 200)
})
