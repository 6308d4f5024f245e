import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { createAuditHeadLeaf, encodeTrust, type TrustFile } from '@cairn/names'
import { parseTilePath, verifierKey } from '@cairn/tlog'
import { encodeEntryBundle } from '@cairn/tlog/testing'
import { canonicalJson } from '@cairn/wire'
import { Capture } from '../test/capture.ts'
import { manifest, SampleLog, sampleSigner } from '../test/sample-log.ts'
import { main } from './main.ts'

const ALICE = sampleSigner(1, 'alice')
const BOB = sampleSigner(2, 'bob')

let directory = ''
let state = ''
let log: SampleLog
let server: Server
let url = ''
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-verify-'))
})
after(async () => await rm(directory, { recursive: true }))
beforeEach(async () => {
  state = await mkdtemp(join(directory, 'state-'))
  log = twoOfTwo()
  await writeFile(join(directory, 'trust.json'), encodeTrust(log.trust))
  server = createServer((request, response) => {
    answer(request.url ?? '').then(
      (body) => response.end(body),
      (error: unknown) => {
        const { status, code, message } = error as CairnError
        response.writeHead(status, { 'content-type': 'application/problem+json' })
        response.end(JSON.stringify({ type: 'x', title: 'x', status, code, detail: message, corr_id: '' }))
      },
    )
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

function twoOfTwo(): SampleLog {
  const made = new SampleLog([ALICE, BOB], 2)
  made.setName('site@1.0', 'a', [ALICE, BOB])
  return made
}

/** What a registry with this log says. */
async function answer(path: string): Promise<Uint8Array> {
  const { client, call } = log.registry()
  if (path === '/registry/head') {
    return canonicalJson({ ...log.told() })
  }
  if (path.startsWith('/registry/proof/'))
    return log.served.has(path) ? (log.served.get(path) as Uint8Array) : await log.headProof()
  if (path === '/log/checkpoint') return await client.checkpoint(call())
  const tile = parseTilePath(path.slice('/log/'.length))
  if (tile.level !== 'entries') return await client.tile({ ...tile, level: tile.level }, call())
  return encodeEntryBundle(await client.entries(tile.index, tile.width, call()))
}

interface Envelope {
  readonly result: Readonly<Record<string, unknown>>
  readonly error: { readonly code: string; readonly detail: string } | null
}

async function verify(...args: readonly string[]): Promise<Envelope & { code: number }> {
  const terminal = new Capture({ environment: { XDG_STATE_HOME: state } })
  const code = await main(['registry', 'verify', url, '--json', ...args], terminal)
  assert.equal(terminal.words, '')
  return { code, ...(JSON.parse(terminal.data) as Envelope) }
}

/** The same registry, with another log. */
async function verifyAs(shown: SampleLog, ...args: readonly string[]) {
  log = shown
  return await verify(...args)
}

const TRUST = (): string[] => ['--trust', join(directory, 'trust.json')]

test('what holds is verified, counted and remembered', async () => {
  const first = await verify(...TRUST())
  assert.deepEqual([first.code, first.error], [0, null])
  const { verdict, entries, tiles, versions, approvals, bad_index, size } = first.result
  assert.deepEqual([verdict, entries, tiles, versions, approvals, bad_index, size], ['verified', 5, 1, 2, 2, null, 5])
  log.setName('site@1.0', 'b', [ALICE, BOB])
  const second = await verify()
  assert.deepEqual([second.code, second.result['entries']], [0, 9])
})

test('the first bad entry is named, and nothing of it is remembered', async () => {
  log.approve(log.propose([log.nameItem('evil@1', 'e')]), sampleSigner(9, 'mallory'))
  const bad = await verify(...TRUST())
  assert.deepEqual([bad.code, bad.error?.code, bad.result['bad_index']], [4, 'log_damaged', 6])
  assert.match(bad.error?.detail ?? '', /^Entry 6 breaks the rules of the registry: .*mallory is not a signer/)
  assert.equal((await verify()).result['verdict'], 'refused')
})

test('another key, another log and a stale checkpoint are refused before anything is read', async () => {
  const { trust } = log
  const mallory = Buffer.from(sampleSigner(9, 'mallory').signer.key, 'base64url')
  const cases: [string, TrustFile, readonly string[]][] = [
    ['checkpoint_signature', { ...trust, logKeys: [verifierKey(trust.origin, 'ed25519', mallory)] }, []],
    ['other_origin', { ...trust, origin: `elsewhere.example/${trust.genesis.slice(3, 19)}` }, []],
    ['no_timestamp', trust, ['--max-age', '1h']],
  ]
  for (const [code, told, args] of cases) {
    await writeFile(join(directory, 'trust.json'), encodeTrust(told))
    const refused = await verify(...TRUST(), ...args)
    assert.deepEqual([refused.code, refused.error?.code, refused.result['verdict']], [4, code, 'refused'])
  }
})

test('entries that are taken back, or exchanged, are found by whoever has seen them', async () => {
  const long = twoOfTwo()
  long.setName('site@1.0', 'b', [ALICE, BOB])
  assert.equal((await verifyAs(long, ...TRUST())).code, 0)
  const less = await verifyAs(twoOfTwo())
  assert.deepEqual([less.code, less.error?.code], [4, 'older_than_pin'])
  const other = twoOfTwo()
  other.setName('site@1.0', 'c', [ALICE, BOB])
  const forked = await verifyAs(other)
  assert.equal(forked.code, 4)
  assert.match(forked.error?.detail ?? '', /two histories/)
})

test('what retention removed cannot be judged: verified in part is exit code 9', async () => {
  while (log.entries.length < 256) log.append(createAuditHeadLeaf(log.head, { head: manifest('x'), count: 1 }))
  log.setName('site@1.0', 'b', [ALICE, BOB])
  log.served.set('tile/entries/000', new CairnError('NotFound', 'Removed.', { code: 'Pruned', status: 410 }))
  const part = await verify(...TRUST())
  assert.deepEqual([part.code, part.error?.code], [9, 'partial'])
  assert.deepEqual([part.result['minimum_index'], part.result['entries']], [256, 4])
  const checked = part.result['checked'] as { check: string; detail: string }[]
  assert.match(
    checked.find(({ check }) => check === 'head')?.detail ?? '',
    /^HEAD, version 2: every signer set since genesis/,
  )
  // A registry that cannot prove its HEAD has not been verified at all.
  const other = new SampleLog([ALICE], 1)
  log.served.set('/registry/proof/2', await other.headProof())
  const refused = await verify(...TRUST())
  assert.deepEqual([refused.code, refused.result['verdict']], [4, 'refused'])
})

test('no registry there is exit code 5, and what is no address of one is 2', async () => {
  const terminal = new Capture()
  assert.equal(await main(['registry', 'verify', 'http://127.0.0.1:9', '--timeout', '2s'], terminal), 5)
  assert.match(terminal.words, /No registry answers at http:\/\/127\.0\.0\.1:9\./)
  assert.equal(await main(['registry', 'verify', 'ftp://x'], new Capture()), 2)
})

test('somebody who watches sees how far it is', async () => {
  const terminal = new Capture({ isWatched: true, environment: { XDG_STATE_HOME: state, NO_COLOR: '1' } })
  assert.equal(await main(['registry', 'verify', url, ...TRUST()], terminal), 0)
  assert.ok(
    terminal.words.startsWith('\r\u001B[K… 5 entries of 5 read\r\u001B[K✔ every entry up to 5 was read and holds'),
  )
})
