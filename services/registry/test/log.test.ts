/** The log as others read it: tiles, entries and proofs of every size, held against each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProof, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import {
  decodeEntryBundle,
  Frontier,
  leafHash,
  openCheckpoint,
  TILE_WIDTH,
  tileHashReader,
  tilePath,
  tileRoot,
} from '@cairn/tlog'
import { tileIn } from '@cairn/tlog/testing'
import { equalBytes } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { TestService, tokenFor } from './harness.ts'
import { ALICE, address, named, QuorumClient, rootsOf } from './signers.ts'

const ONE_OF_ONE = rootsOf(1, [ALICE])

/** Many entries, quickly: audit heads in batches. */
async function grow(service: TestService, count: number, at = 0): Promise<void> {
  const send = async (each: number): Promise<number> => {
    const body = { head: address(String(each)), count: each }
    return (await service.send('POST', '/log/audit-heads', { body })).status
  }
  for (let from = 0; from < count; from += 100) {
    const numbers = Array.from({ length: Math.min(100, count - from) }, (_, each) => at + from + each)
    const statuses = await service.world.run(Promise.all(numbers.map(send)))
    assert.deepEqual(new Set(statuses), new Set([202]))
  }
}

const QUICK = { ...ONE_OF_ONE, config: { ...ONE_OF_ONE.config, limits: { audit_heads_per_minute: 100_000 } } }

async function sizeOf(service: TestService): Promise<{ size: number; root: Uint8Array }> {
  const { identity, logKey } = service.parts.signer
  const note = await service.ask('GET', '/log/checkpoint', { token: null })
  assert.equal(note.headers['cache-control'], 'public, max-age=2')
  return openCheckpoint(note.body, { ...identity, logKeys: [logKey], cosignerKeys: [] }, systemCrypto).checkpoint
}

test('the tiles of every published size have the root that was signed, and the entries the hashes of the tiles', async () => {
  const service = await TestService.start(QUICK)
  for (const target of [1, 2, 255, 256, 257, 511, 512, 600]) {
    const before = (await sizeOf(service)).size
    await grow(service, target - before, before)
    const { size, root } = await sizeOf(service)
    assert.equal(size, target)
    const reader = tileHashReader(size, async (tile) => {
      const answer = await service.ask('GET', `/log/${tilePath(tile)}`, { token: null })
      assert.equal(answer.status, 200)
      assert.match(answer.headers['cache-control']!, /immutable/)
      return answer.body
    })
    assert.ok(equalBytes((await Frontier.read(size, reader)).root(), root), `size ${size}`)
    for (let index = 0; index * TILE_WIDTH < size; index += 1) {
      const { width } = tileIn(0, index, size)!
      const bundle = await service.ask('GET', `/log/${tilePath({ level: 'entries', index, width })}`, { token: null })
      assert.equal(bundle.headers['content-length'], String(bundle.body.length))
      for (const [at, entry] of decodeEntryBundle(bundle.body, width).entries())
        assert.ok(equalBytes(leafHash(entry), await reader(0, index * TILE_WIDTH + at)))
    }
  }
  await service.stop()
})

test('full tiles match their parents after a restart; narrower partial tiles stay served, wider ones are not there', async () => {
  const service = await TestService.start(QUICK)
  await grow(service, 699)
  const again = await service.restart(QUICK)
  const tile = async (path: string) => await again.ask('GET', `/log/tile/${path}`, { token: null })
  const parents = (await tile('1/000.p/2')).body
  for (const at of [0, 1])
    assert.ok(equalBytes(tileRoot((await tile(`0/00${at}`)).body), parents.subarray(32 * at, 32 * at + 32)))
  const widest = (await tile('0/002.p/188')).body
  for (const width of [1, 100, 187]) {
    const narrow = await tile(`0/002.p/${width}`)
    assert.ok(narrow.body.equals(widest.subarray(0, 32 * width)), 'a partial tile is the beginning of a wider one')
  }
  for (const path of [
    '0/002.p/189',
    '0/002',
    '0/003.p/1',
    '1/000.p/3',
    '2/000.p/1',
    'entries/002',
    'entries/002.p/189',
    '0/2',
    'x',
    '0/000.p/256',
  ])
    isProblem(await tile(path), 404, 'NotFound')
  await again.stop()
})

test('followers that ask for the last tile one after the other cost the drive one reading of each entry', async () => {
  const shut = gates()
  const service = await TestService.start({ ...QUICK, wrap: (platform) => gated(platform, shut) })
  await grow(service, 40)
  const bundle = async () => await service.ask('GET', '/log/tile/entries/000.p/41', { token: null })
  const first = await bundle()
  assert.equal(first.status, 200)
  shut.reads.shut()
  assert.ok((await bundle()).body.equals(first.body))
  shut.reads.open()
  await service.stop()
})

test('proofs of every version and of names verify offline, also after a restart and against an older pin', async () => {
  const service = await TestService.start(QUICK)
  const quorum = new QuorumClient(service)
  for (let at = 0; at < 12; at += 1) await quorum.publish([named(`n-${at}@1`, `${at}`)], [ALICE])
  const { signer } = service.parts
  const trust = { ...signer.identity, logKeys: [signer.logKey, signer.cosignerKey] }
  const { size, root } = await sizeOf(service)
  const pin = { trust, size, root }
  await quorum.publish([named('later@1', 'x')], [ALICE])
  const again = await service.restart(QUICK)
  const now = again.platform.clock.wall()
  const verdictOn = async (path: string) => {
    const proof = parseProof((await again.ask('GET', `${path}?from=${size}`, { token: null })).body)
    return verifyProof(proof, trust, systemCrypto, { now, pin, maxCheckpointAgeMs: 60_000 })
  }
  for (let version = 0; version <= 13; version += 1) {
    const verdict = await verdictOn(`/registry/proof/${version}`)
    assert.equal(verdict.kind, 'verified', JSON.stringify(verdict))
  }
  for (const name of ['n-3@1', 'later@1', 'nobody@1']) {
    const verdict = await verdictOn(`/registry/proof/name/${name}`)
    assert.equal(verdict.kind, 'verified', JSON.stringify(verdict))
  }
  isProblem(await again.ask('GET', '/registry/proof/14'), 404, 'NotFound')
  isProblem(await again.ask('GET', '/registry/proof/1?from=9999'), 404, 'NotFound')
  await again.stop()
})

test('the newest head of each audit chain is told, over a restart too; heads that name no chain are of none', async () => {
  const service = await TestService.start(ONE_OF_ONE)
  const [ours, other] = ['0a'.repeat(16), '0b'.repeat(16)]
  const anchor = async (count: number, chain?: string) =>
    await service.ask('POST', '/log/audit-heads', { body: { head: address(`${count}`), count, chain } })
  for (const [count, chain] of [
    [1, ours],
    [9, other],
    [2, ours],
    [7, undefined],
  ] as const)
    assert.equal((await anchor(count, chain)).status, 202)
  const newest = async (from: TestService, chain: string) =>
    await from.ask('GET', `/log/audit-heads/${chain}`, { token: null })
  assert.deepEqual((await newest(service, ours)).json(), { head: address('2'), count: 2, log_index: 3 })
  isProblem(await newest(service, '0c'.repeat(16)), 404, 'NotFound')
  isProblem(await newest(service, 'ours'), 400, 'Malformed')
  const again = await service.restart(ONE_OF_ONE)
  assert.deepEqual((await newest(again, ours)).json(), { head: address('2'), count: 2, log_index: 3 })
  assert.deepEqual((await newest(again, other)).json(), { head: address('9'), count: 9, log_index: 2 })
  await again.stop()
})

test('audit heads never move HEAD; each token has its own quota, and a refusal is told to the audit', async () => {
  const service = await TestService.start(ONE_OF_ONE)
  using events = service.parts.events.subscribe()
  const body = { head: address('chain'), count: 7 }
  const anchor = async (tid: number) =>
    await service.ask('POST', '/log/audit-heads', { body, token: tokenFor(['registry:anchor'], tid) })
  for (let at = 0; at < 60; at += 1) assert.equal((await anchor(1)).status, 202)
  const refused = await anchor(1)
  isProblem(refused, 429, 'QuotaExceeded')
  assert.equal(service.metric('busy_rejections_total', { endpoint: '/log/audit-heads' }), 1)
  assert.equal((await anchor(2)).status, 202, 'another token')
  assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 0)
  const heard = Array.from({ length: 70 }, () => events.tryReceive()).flatMap((each) =>
    each?.tag === 'value' && each.value.topic === 'audit.event' ? [each.value.body] : [],
  )
  assert.equal(heard.filter(({ decision }) => decision === 'accepted').length, 61)
  assert.deepEqual(heard.find(({ decision }) => decision === 'rejected')?.reason, 'QuotaExceeded')
  isProblem(await service.ask('POST', '/log/audit-heads', { body: { head: 'x', count: 1 } }), 400, 'Malformed')
  await service.sleep(1100)
  assert.equal((await anchor(1)).status, 202, 'a second later there is room for one')
  await service.stop()
})
