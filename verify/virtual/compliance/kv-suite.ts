/** What every `Kv` does, whoever implements it. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { KV_KEY_BYTES_MAX, type Kv, type KvOpener, type KvOperation, type KvRange } from '@cairn/platform'
import fc from 'fast-check'
import type { MakeSubject } from './subject.ts'

const OPTIONS = { mapBytes: 1024 * 1024 }

type Body = (opener: KvOpener, path: string) => Promise<void>
type Behaves = (behaviour: string, body: Body) => void

export function testKv(name: string, make: MakeSubject<KvOpener>): void {
  const once = async (body: Body): Promise<void> => {
    const { subject, root, run, finish } = await make()
    await run(body(subject, `${root}/index`))
    await finish()
  }
  const behaves: Behaves = (behaviour, body) => {
    test(behaviour, async () => await once(body))
  }
  describe(`${name} is a Kv`, () => {
    testCommits(behaves)
    testRanges(behaves)
    testLife(behaves)
    test('agrees with a plain sorted map on any batches', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(anyOperation(), { maxLength: 30 }), { maxLength: 8 }), async (batches) => {
          await once(async (opener, path) => await agrees(opener, path, batches))
        }),
        { numRuns: 25 },
      )
    })
  })
}

function testCommits(behaves: Behaves): void {
  behaves('shows a commit whole once it resolved, and the last one of a key wins', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    await kv.commit([put('a', '1'), put('b', '2'), put('a', '3'), remove('b'), put('empty', '')])
    assert.equal(got(kv, 'a'), '3')
    assert.equal(got(kv, 'b'), undefined)
    assert.equal(got(kv, 'empty'), '')
    await kv.commit([])
    await kv.commit([remove('none'), remove('a')])
    assert.equal(got(kv, 'a'), undefined)
  })

  behaves('takes commits that are under way at once in their order', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    await Promise.all(['1', '2', '3'].map(async (value) => await kv.commit([put('a', value), put(value, value)])))
    assert.equal(got(kv, 'a'), '3')
    assert.equal(got(kv, '1'), '1')
  })

  behaves('hands out and takes in bytes that stay as they are', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    const value = Buffer.from('value')
    await kv.commit([{ tag: 'put', key: Buffer.from('k'), value }, put('l', 'other')])
    value.fill(0)
    const first = kv.get(Buffer.from('k'))
    kv.get(Buffer.from('l'))
    assert.equal(Buffer.from(first ?? []).toString(), 'value')
    first?.fill(0)
    assert.equal(got(kv, 'k'), 'value')
  })

  behaves('refuses an impossible key before anything is written', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    const long = Buffer.alloc(KV_KEY_BYTES_MAX, 'k')
    await kv.commit([{ tag: 'put', key: long, value: Buffer.from('v') }])
    for (const key of [new Uint8Array(), Buffer.alloc(KV_KEY_BYTES_MAX + 1)]) {
      await assert.rejects(kv.commit([put('a', '1'), { tag: 'put', key, value: key }]), (error) =>
        isKind(error, 'Internal'),
      )
    }
    assert.equal(got(kv, 'a'), undefined)
    assert.equal(Buffer.from(kv.get(long) ?? []).toString(), 'v')
  })
}

function testRanges(behaves: Behaves): void {
  behaves('reads a range in order of key bytes, from inclusive, to exclusive, at most limit', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    const keys = [[0], [0, 0], [1], [1, 255], [2], [127, 0], [128], [255], [255, 255]]
    await kv.commit(
      keys.toReversed().map((key) => ({ tag: 'put', key: Uint8Array.from(key), value: Uint8Array.from(key) })),
    )
    const read = (range: KvRange): number[][] => [...kv.range(range)].map(({ key }) => [...key])
    assert.deepEqual(read({}), keys)
    assert.deepEqual(read({ from: Uint8Array.of(1), to: Uint8Array.of(128) }), keys.slice(2, 6))
    assert.deepEqual(read({ from: Uint8Array.of(1, 0), limit: 2 }), keys.slice(3, 5))
    assert.deepEqual(read({ limit: 0 }), [])
    assert.deepEqual(read({ from: Uint8Array.of(9), to: Uint8Array.of(9) }), [])
  })

  behaves('reads a range as it stood when it began', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    await kv.commit([put('a', '1'), put('b', '1'), put('c', '1')])
    const seen: string[] = []
    for (const { key, value } of kv.range({})) {
      seen.push(`${Buffer.from(key).toString()}${Buffer.from(value).toString()}`)
      if (seen.length === 1) await kv.commit([put('b', '2'), remove('c'), put('d', '2')])
    }
    assert.deepEqual(seen, ['a1', 'b1', 'c1'])
    assert.equal(got(kv, 'b'), '2')
  })

  behaves('lets a range be left before its end', async (opener, path) => {
    await using kv = await opener.open(path, OPTIONS)
    await kv.commit([put('a', '1'), put('b', '1')])
    for (const { key } of kv.range({})) {
      assert.equal(Buffer.from(key).toString(), 'a')
      break
    }
  })
}

function testLife(behaves: Behaves): void {
  behaves('keeps what was committed from one opening to the next', async (opener, path) => {
    const kv = await opener.open(path, OPTIONS)
    const commits = [kv.commit([put('a', '1')]), kv.commit([put('b', '2')])]
    await kv.close()
    await kv.close()
    await Promise.all(commits)
    await using again = await opener.open(path, OPTIONS)
    assert.equal(got(again, 'a'), '1')
    assert.equal(got(again, 'b'), '2')
  })

  behaves('is opened by one at a time, and of no use once closed', async (opener, path) => {
    const kv = await opener.open(path, OPTIONS)
    await assert.rejects(opener.open(path, OPTIONS), (error) => isKind(error, 'Conflict'))
    await kv.commit([put('a', '1'), put('b', '1')])
    const range = kv.range({})[Symbol.iterator]()
    range.next()
    await kv.close()
    assert.throws(
      () => kv.get(Buffer.from('a')),
      (error) => isKind(error, 'Canceled'),
    )
    assert.throws(
      () => range.next(),
      (error) => isKind(error, 'Canceled'),
    )
    await assert.rejects(kv.commit([]), (error) => isKind(error, 'Canceled'))
  })
}

async function agrees(opener: KvOpener, path: string, batches: readonly KvOperation[][]): Promise<void> {
  await using kv = await opener.open(path, OPTIONS)
  const model = new Map<string, string>()
  for (const batch of batches) {
    await kv.commit(batch)
    for (const operation of batch) {
      const key = Buffer.from(operation.key).toString('hex')
      if (operation.tag === 'put') model.set(key, Buffer.from(operation.value).toString('hex'))
      else model.delete(key)
    }
  }
  const stored = [...kv.range({})].map(({ key, value }) => [
    Buffer.from(key).toString('hex'),
    Buffer.from(value).toString('hex'),
  ])
  assert.deepEqual(
    stored,
    [...model].sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function anyOperation(): fc.Arbitrary<KvOperation> {
  const key = fc.uint8Array({ minLength: 1, maxLength: 2 })
  return fc.oneof(
    fc.record({ tag: fc.constant('put' as const), key, value: fc.uint8Array({ maxLength: 8 }) }),
    fc.record({ tag: fc.constant('delete' as const), key }),
  )
}

function put(key: string, value: string): KvOperation {
  return { tag: 'put', key: Buffer.from(key), value: Buffer.from(value) }
}

function remove(key: string): KvOperation {
  return { tag: 'delete', key: Buffer.from(key) }
}

function got(kv: Kv, key: string): string | undefined {
  const value = kv.get(Buffer.from(key))
  return value === undefined ? undefined : Buffer.from(value).toString()
}
