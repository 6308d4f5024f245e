import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { type Address, addressOf, createManifest, encodeManifest, ManifestBuilder } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import type { Upstream } from './fake-upstream.ts'
import { FakeStorage, fakeIndex } from './fakes.ts'
import { isProblem, LIVE, TestEdge } from './harness.ts'

const CONFIG = { ...LIVE, allow: ['peer.example', 'other.example'] }

/** A provider that has these bytes; `spoil` changes what it sends. */
function provider(bytes: Buffer, spoil: (chunk: Uint8Array, path: string) => Uint8Array = (chunk) => chunk): Upstream {
  const builder = new ManifestBuilder()
  const chunks = new Map<string, Uint8Array>()
  for (let at = 0; at < bytes.length; at += 65_536) {
    const chunk = bytes.subarray(at, at + 65_536)
    chunks.set(`/c/${addressOf(chunk)}`, chunk)
    builder.add(chunk)
  }
  const built = builder.finish()
  const id = addressOf(bytes)
  const manifest = built.kind === 'chunked' ? built.manifest : undefined
  return ({ url }) => {
    if (url.pathname === `/m/${id}`) {
      if (manifest !== undefined) return { body: [encodeManifest(manifest)] }
      const problem = { type: 'about:blank', title: 't', status: 404, detail: 'd', code: 'single_chunk', corr_id: 'c' }
      return { status: 404, headers: { 'content-type': 'application/problem+json' }, body: [JSON.stringify(problem)] }
    }
    const chunk = url.pathname === `/o/${id}` ? bytes : chunks.get(url.pathname)
    return chunk === undefined ? { status: 404 } : { body: [spoil(chunk, `${url.host}${url.pathname}`)] }
  }
}

function chunked(bytes: Buffer) {
  const builder = new ManifestBuilder()
  const chunks = new Map<string, Uint8Array>()
  for (let at = 0; at < bytes.length; at += 65_536) {
    const chunk = bytes.subarray(at, at + 65_536)
    chunks.set(`/c/${builder.add(chunk)}`, chunk)
  }
  const built = builder.finish()
  assert.ok(built.kind === 'chunked')
  return { manifest: built.manifest, chunks }
}

function hexOf(id: Address): string {
  return `/edge/assets/b3/${id.slice(3)}`
}

describe('an object', () => {
  test('of this node is handed through and not kept; what is uploaded as a page leaves as a download', async () => {
    const storage = new FakeStorage()
    const id = storage.put(noise(200_000), 'image/png')
    const edge = await TestEdge.start({ storage: storage.client() })
    const answer = await edge.get(hexOf(id))
    assert.ok(answer.body.equals(noise(200_000)))
    assert.equal(answer.headers['content-type'], 'image/png')
    assert.match(answer.headers['cache-control'] ?? '', /immutable/)
    assert.equal(edge.parts.cas.facts().entries, 0)
    assert.equal(edge.metric('edge_cache_hits_total', { kind: 'storage' }), 1)
    await edge.stop()
  })

  test('that is small is served from memory for a moment, and asked for again after it', async () => {
    const storage = new FakeStorage()
    const id = storage.put('hello', 'text/plain')
    const edge = await TestEdge.start({ storage: storage.client() })
    for (let round = 0; round < 5; round += 1) assert.equal((await edge.get(hexOf(id))).body.toString(), 'hello')
    assert.equal(storage.reads, 1)
    storage.objects.delete(id)
    await edge.sleep(6000)
    isProblem(await edge.get(hexOf(id)), 404, 'not_found')
    await edge.stop()
  })

  test('of somebody else comes through the index, is proved, kept, and served from then on', async () => {
    for (const size of [1000, 65_536, 300_000]) {
      const bytes = noise(size)
      const index = fakeIndex({ providers: ['https://peer.example/'] })
      const storage = new FakeStorage()
      const edge = await TestEdge.start({ config: CONFIG, index, storage: storage.client(), upstream: provider(bytes) })
      const target = hexOf(addressOf(bytes))
      const answers = await edge.world.run(Promise.all([edge.send('GET', target), edge.send('GET', target)]))
      for (const answer of answers) assert.ok(answer.status === 200 && answer.body.equals(bytes))
      const asked = edge.upstream.requests.length
      await edge.sleep(100)
      const again = await edge.get(target, { range: 'bytes=5-9' })
      assert.ok(again.body.equals(bytes.subarray(5, 10)))
      assert.equal(edge.upstream.requests.length, asked)
      await edge.stop()
    }
  })

  test('of a liar is never seen: the next provider is asked, from the chunk that was wrong', async () => {
    const bytes = noise(300_000)
    const spoil = (chunk: Uint8Array, path: string): Uint8Array => {
      const wrong = Buffer.from(chunk)
      wrong[7]! ^= 1
      return path.startsWith('peer.example/c/') ? wrong : chunk
    }
    const reports: string[] = []
    const index = fakeIndex({
      providers: ['https://peer.example/', 'https://other.example/'],
      onReport: (provider, reason) => reports.push(`${provider} ${reason}`),
    })
    const edge = await TestEdge.start({ config: CONFIG, index, upstream: provider(bytes, spoil) })
    const answer = await edge.get(hexOf(addressOf(bytes)))
    assert.ok(answer.body.equals(bytes))
    assert.deepEqual(reports, ['p0 corrupt'])
    await edge.stop()
  })

  test('is never seen by a manifest that proves itself and names other chunks, which prove themselves as well', async () => {
    const [bytes, others] = [noise(300_000, 1), noise(300_000, 2)]
    const [own, foreign] = [chunked(bytes), chunked(others)]
    const forged = encodeManifest(createManifest({ ...own.manifest, chunkIds: foreign.manifest.chunkIds }))
    const upstream: Upstream = ({ url }) => {
      if (url.pathname === `/m/${addressOf(bytes)}`) return { body: [forged] }
      const chunk = foreign.chunks.get(url.pathname)
      return chunk === undefined ? { status: 404 } : { body: [chunk] }
    }
    const index = fakeIndex({ providers: ['https://peer.example/'] })
    const edge = await TestEdge.start({ config: CONFIG, index, upstream })
    const answer = await edge.get(hexOf(addressOf(bytes)))
    assert.ok(!answer.body.includes(others.subarray(0, 16)), 'not a byte of it')
    assert.equal(edge.parts.cas.facts().entries, 0)
    await edge.stop()
  })

  test('of liars only is an error before a byte, or a broken connection; nothing is kept', async () => {
    const bytes = noise(300_000)
    let chunks = 0
    const spoil = (chunk: Uint8Array, path: string): Uint8Array => {
      chunks += path.includes('/c/') ? 1 : 0
      return chunks < 3 ? chunk : Buffer.alloc(chunk.length)
    }
    const index = fakeIndex({ providers: ['https://peer.example/'] })
    const edge = await TestEdge.start({ config: CONFIG, index, upstream: provider(bytes, spoil) })
    const answer = await edge.get(hexOf(addressOf(bytes)))
    assert.ok(isKind(answer.broken, 'Integrity'), String(answer.broken))
    assert.ok(answer.body.equals(bytes.subarray(0, answer.body.length)))
    await edge.sleep(2000)
    assert.deepEqual(edge.parts.cas.facts(), { bytes: 0, entries: 0, isWritable: true })
    await edge.stop()
  })

  test('of somebody who has it no more is taken from the next, and the index hears of it', async () => {
    const bytes = noise(300_000)
    const honest = provider(bytes)
    const reports: string[] = []
    const index = fakeIndex({
      providers: ['https://peer.example/', 'https://other.example/'],
      onReport: (provider, reason) => reports.push(`${provider} ${reason}`),
    })
    const upstream: Upstream = (request, attempt) =>
      request.url.host === 'peer.example' ? { status: 404 } : honest(request, attempt)
    const edge = await TestEdge.start({ config: CONFIG, index, upstream })
    assert.ok((await edge.get(hexOf(addressOf(bytes)))).body.equals(bytes))
    assert.deepEqual(reports, ['p0 dead'])
    await edge.stop()
  })

  test('nobody has is 404; an address that is none is 400', async () => {
    const edge = await TestEdge.start({ index: fakeIndex({}) })
    isProblem(await edge.get(hexOf(addressOf(noise(5)))), 404, 'not_found')
    isProblem(await edge.get('/edge/assets/b3/xyz'), 400, 'malformed')
    await edge.stop()
  })
})
