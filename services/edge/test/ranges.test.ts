/** Ranges and preconditions, the same through every kind of source. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { FakePacks, FakeStorage, fakeIndex } from './fakes.ts'
import { LIVE, TestEdge } from './harness.ts'

const BYTES = noise(150_000)
const SMALL = noise(3_000, 2)

interface Source {
  readonly name: string
  readonly target: string
  readonly bytes: Buffer
  readonly isImmutable: boolean
  /** Asked for under a new path each time, while somebody else's request fills it. */
  readonly isGrowing?: boolean
}

const storage = new FakeStorage()
const [large, small] = [storage.put(BYTES, 'image/png'), storage.put(SMALL, 'image/png')]
const site = storage.tree({ 'big.bin': BYTES, 'small.bin': SMALL })
const packs = new FakePacks()
packs.files.set('/p', { file: BYTES, tiles: { '1/0/0': SMALL } })
const index = fakeIndex({ names: { 'site@1': site } })

const SOURCES: readonly Source[] = [
  {
    name: 'a large object of the storage',
    target: `/edge/assets/b3/${large.slice(3)}`,
    bytes: BYTES,
    isImmutable: true,
  },
  {
    name: 'a small object of the storage',
    target: `/edge/assets/b3/${small.slice(3)}`,
    bytes: SMALL,
    isImmutable: true,
  },
  { name: 'a stored response', target: '/edge/assets/u/up/stored', bytes: BYTES, isImmutable: false },
  { name: 'a small stored response', target: '/edge/assets/u/up/small', bytes: SMALL, isImmutable: false },
  {
    name: 'a response that is being filled',
    target: '/edge/assets/u/up/growing',
    bytes: BYTES,
    isImmutable: false,
    isGrowing: true,
  },
  { name: 'a pack file', target: '/edge/assets/p/map', bytes: BYTES, isImmutable: false },
  { name: 'a pack file by address', target: `/edge/assets/p/map@${addressOf(BYTES)}`, bytes: BYTES, isImmutable: true },
  { name: 'a tile', target: '/edge/assets/p/map/1/0/0.png', bytes: SMALL, isImmutable: false },
  { name: 'a large file of a site', target: '/edge/assets/n/site@1/big.bin', bytes: BYTES, isImmutable: false },
  { name: 'a small file of a site', target: '/edge/assets/n/site@1/small.bin', bytes: SMALL, isImmutable: false },
]

const GROWING_MS = 200
let edge: TestEdge
let grown = 0

async function ask(source: Source, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Answer> {
  const { target, isGrowing = false, bytes } = source
  if (!isGrowing) return await edge.ask(method, target, { headers })
  grown += 1
  const path = `${target}-${grown}`
  const meanwhile = async (): Promise<Answer> => {
    const first = edge.send('GET', path)
    await edge.world.sleep(GROWING_MS / 4)
    assert.equal(edge.parts.fills.flying, 1)
    const answer = await edge.send(method, path, { headers })
    assert.ok((await first).body.equals(bytes))
    return answer
  }
  return await edge.world.run(meanwhile())
}

before(async () => {
  edge = await TestEdge.start({
    config: { ...LIVE, packs: [{ name: 'map', path: '/p' }] },
    storage: storage.client(),
    index,
    openPack: packs.open,
    upstream: ({ url }) => ({
      headers: { 'cache-control': 'max-age=600', etag: '"up"', 'last-modified': 'Tue, 14 Nov 2023 00:00:00 GMT' },
      body: url.pathname.includes('growing')
        ? [BYTES.subarray(0, 1000), GROWING_MS, BYTES.subarray(1000)]
        : [url.pathname.endsWith('small') ? SMALL : BYTES],
    }),
  })
  for (const { target } of SOURCES) await edge.get(target)
  await edge.sleep(200)
})

after(async () => {
  await edge.stop()
})

for (const source of SOURCES) {
  const { name, bytes, isImmutable } = source
  describe(name, () => {
    const size = bytes.length

    test('200 with everything, its length and a tag; HEAD the same without', async () => {
      const answer = await ask(source)
      assert.equal(answer.status, 200)
      assert.ok(answer.body.equals(bytes))
      assert.equal(answer.headers['content-length'], String(size))
      // Whether what is being filled will be kept, and parts of it can be had, nobody knows yet.
      assert.equal(answer.headers['accept-ranges'], source.isGrowing === true ? undefined : 'bytes')
      assert.match(answer.headers['etag'] ?? '', /^"(b3:[0-9a-f]{64}|up)"$/)
      assert.equal(/immutable/.test(answer.headers['cache-control'] ?? ''), isImmutable)
      const head = await ask(source, {}, 'HEAD')
      assert.equal(`${head.status} ${head.headers['content-length']} ${head.body.length}`, `200 ${size} 0`)
    })

    const ranges: readonly (readonly [header: string, first: number, last: number])[] = [
      ['bytes=0-0', 0, 0],
      ['bytes=10-1999', 10, 1999],
      [`bytes=${size - 1}-`, size - 1, size - 1],
      ['bytes=100-', 100, size - 1],
      ['bytes=-500', size - 500, size - 1],
      [`bytes=1000-${size * 2}`, 1000, size - 1],
      [`bytes=-${size * 2}`, 0, size - 1],
    ]
    for (const [range, first, last] of ranges) {
      test(`206 for ${range}`, async () => {
        const answer = await ask(source, { range })
        assert.equal(answer.status, 206)
        assert.ok(answer.body.equals(bytes.subarray(first, last + 1)))
        assert.equal(answer.headers['content-range'], `bytes ${first}-${last}/${size}`)
        assert.equal(answer.headers['content-length'], String(last + 1 - first))
      })
    }

    test('416 for what is not there, and for several ranges; 200 for what is no range', async () => {
      for (const range of [`bytes=${size}-`, 'bytes=0-0,2-3']) {
        const answer = await ask(source, { range })
        assert.equal(`${answer.status} ${answer.code}`, '416 invalid_range')
        assert.equal(answer.headers['x-reason'], 'invalid_range')
      }
      assert.equal((await ask(source, { range: `bytes=${size}-` })).headers['content-range'], `bytes */${size}`)
      for (const range of ['bytes=5-2', 'lines=0-1', 'bytes=x'])
        assert.equal((await ask(source, { range })).status, 200)
    })

    test('304 and 412 by the tag, in the order HTTP gives them', async () => {
      const { etag = '' } = (await ask(source)).headers
      const conditions: readonly (readonly [Record<string, string>, number])[] = [
        [{ 'if-none-match': etag }, 304],
        [{ 'if-none-match': `W/${etag}` }, 304],
        [{ 'if-none-match': '*' }, 304],
        [{ 'if-none-match': `"x", ${etag}` }, 304],
        [{ 'if-none-match': '"x"' }, 200],
        [{ 'if-match': etag }, 200],
        [{ 'if-match': '"x"' }, 412],
        [{ 'if-match': '"x"', 'if-none-match': etag }, 412],
        [{ 'if-none-match': etag, range: 'bytes=0-1' }, 304],
        [{ 'if-range': etag, range: 'bytes=0-1' }, 206],
        [{ 'if-range': '"x"', range: 'bytes=0-1' }, 200],
        [{ 'if-range': `W/${etag}`, range: 'bytes=0-1' }, 200],
      ]
      for (const [headers, status] of conditions) {
        const answer = await ask(source, headers)
        assert.equal(answer.status, status, JSON.stringify(headers))
        if (status === 304) assert.equal(answer.headers['etag'], etag)
        if (status === 304) assert.equal(answer.body.length, 0)
      }
    })
  })
}

test('with enable_multi_range, several ranges are one multipart body', async () => {
  edge.config.swap({ values: { ...edge.config.current, http: { enable_multi_range: true } }, origins: {} })
  for (const source of SOURCES.filter(({ name }) => !name.includes('storage') && !name.includes('large file'))) {
    const { bytes, name } = source
    const answer = await ask(source, { range: 'bytes=0-1,10-12' })
    assert.equal(answer.status, 206, name)
    const text = answer.body.toString('latin1')
    assert.equal(answer.headers['content-length'], String(answer.body.length))
    assert.match(answer.headers['content-type'] ?? '', /^multipart\/byteranges; boundary=cairn-/)
    assert.ok(text.includes(bytes.subarray(10, 13).toString('latin1')))
  }
})
