/** What every chunk store must do, as cases that any implementation can be put through. */
import assert from 'node:assert/strict'
import { isKind } from '@cairn/kernel'
import { type Address, addressOf } from '@cairn/wire'
import { CHUNK_BYTES_MAX, type ChunkStore } from '../src/chunk/chunk-store.ts'

export interface ComplianceCase {
  readonly name: string
  readonly run: (store: ChunkStore) => Promise<void>
}

const UPLOAD = { upload: 'u1' }

function chunk(seed: number, length = 1000): { id: Address; bytes: Uint8Array } {
  const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + seed) & 0xff)
  return { id: addressOf(bytes), bytes }
}

async function bytesOf(store: ChunkStore, id: Address): Promise<Uint8Array | undefined> {
  using held = await store.read(id)
  return held?.bytes.slice()
}

export const COMPLIANCE: readonly ComplianceCase[] = [
  {
    name: 'what is put is read back',
    run: async (store) => {
      for (const length of [0, 1, 7, 64, 65_536, CHUNK_BYTES_MAX]) {
        const { id, bytes } = chunk(length, length)
        assert.equal(await store.put(id, bytes, UPLOAD), 'new')
        assert.deepEqual(await bytesOf(store, id), bytes)
      }
    },
  },
  {
    name: 'a second put of the same chunk says that it is present',
    run: async (store) => {
      const { id, bytes } = chunk(1)
      assert.equal(await store.put(id, bytes, UPLOAD), 'new')
      assert.equal(await store.put(id, bytes, UPLOAD), 'present')
    },
  },
  {
    name: 'of puts of one chunk at the same time exactly one is new',
    run: async (store) => {
      const { id, bytes } = chunk(2)
      const outcomes = await Promise.all(Array.from({ length: 8 }, async () => await store.put(id, bytes, UPLOAD)))
      assert.deepEqual(outcomes.filter((outcome) => outcome === 'new').length, 1)
      assert.deepEqual(await bytesOf(store, id), bytes)
    },
  },
  {
    name: 'bytes that are not what the id says are refused and leave nothing',
    run: async (store) => {
      const { id } = chunk(3)
      await assert.rejects(store.put(id, chunk(4).bytes, UPLOAD), { kind: 'Conflict', code: 'address_mismatch' })
      assert.equal(await store.read(id), undefined)
      assert.deepEqual(await store.missing([id], 'u1'), [id])
    },
  },
  {
    name: 'a chunk above the largest size is refused',
    run: async (store) => {
      const { id, bytes } = chunk(5, CHUNK_BYTES_MAX + 1)
      await assert.rejects(store.put(id, bytes, UPLOAD), (error) => isKind(error, 'TooLarge'))
    },
  },
  {
    name: 'missing names what is not there, in order',
    run: async (store) => {
      const [a, b, c] = [chunk(6), chunk(7), chunk(8)]
      await store.put(b.id, b.bytes, UPLOAD)
      assert.deepEqual(await store.missing([c.id, b.id, a.id], 'u1'), [c.id, a.id])
      assert.deepEqual(await store.missing([], 'u1'), [])
    },
  },
  {
    name: 'a removed chunk is gone, can be put again, and removing nothing says so',
    run: async (store) => {
      const { id, bytes } = chunk(9)
      assert.equal(await store.remove(id), false)
      await store.put(id, bytes, UPLOAD)
      assert.equal(await store.remove(id), true)
      assert.equal(await store.read(id), undefined)
      assert.equal(await store.remove(id), false)
      assert.equal(await store.put(id, bytes, UPLOAD), 'new')
      assert.deepEqual(await bytesOf(store, id), bytes)
    },
  },
  {
    name: 'the list has every id once, in order, page by page',
    run: async (store) => {
      const chunks = Array.from({ length: 25 }, (_, at) => chunk(at, 100 + at))
      for (const { id, bytes } of chunks) await store.put(id, bytes, UPLOAD)
      await store.remove(chunks[3]?.id ?? 'b3:')
      const expected = chunks.map(({ id }) => id).filter((id) => id !== chunks[3]?.id)
      const found: Address[] = []
      for (let page = await store.list(undefined, 7); page.length > 0; page = await store.list(found.at(-1), 7)) {
        found.push(...page)
      }
      assert.deepEqual(found, expected.sort())
    },
  },
  {
    name: 'what was handed out stays what it was, whatever happens to the chunk',
    run: async (store) => {
      const { id, bytes } = chunk(10)
      await store.put(id, bytes, UPLOAD)
      using held = await store.read(id)
      await store.remove(id)
      for (let seed = 20; seed < 40; seed += 1) {
        const other = chunk(seed)
        await store.put(other.id, other.bytes, UPLOAD)
        using _held = await store.read(other.id)
      }
      assert.deepEqual(held?.bytes, bytes)
    },
  },
]
