import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutStream, cutWhole } from './body-chunks.ts'

async function* pieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  // One buffer for all of them, used again: a piece is valid only until the next is asked for.
  const shared = new Uint8Array(64)
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const piece = bytes.subarray(at, at + (sizes[turn % sizes.length] ?? 1))
    shared.set(piece)
    yield await Promise.resolve(shared.subarray(0, piece.length))
    shared.fill(0xff)
    at += piece.length
  }
}

test('a stream is cut like the same bytes in one piece', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 500 }),
      fc.integer({ min: 1, max: 90 }),
      sizes,
      async (bytes, size, by) => {
        const chunks: Uint8Array[] = []
        for await (const chunk of cutStream(pieces(bytes, by), size, 500)) chunks.push(chunk.slice())
        assert.deepEqual(chunks, [...cutWhole(bytes, size)])
      },
    ),
  )
})

test('a chunk is as it was until the next but one is asked for, and no third is held', async () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, at) => at)
  const buffers = new Set<ArrayBufferLike>()
  let last: Uint8Array | undefined
  let at = 0
  for await (const chunk of cutStream(pieces(bytes, [7]), 16, 100)) {
    if (last !== undefined) assert.deepEqual(last, bytes.subarray(at - 16, at))
    buffers.add(chunk.buffer)
    last = chunk
    at += chunk.length
  }
  assert.equal(buffers.size, 2)
})

test('a stream past its bound ends with an error', async () => {
  const chunks = cutStream(pieces(new Uint8Array(100), [10]), 16, 99)
  await assert.rejects(
    async () => {
      for await (const _chunk of chunks);
    },
    { kind: 'TooLarge' },
  )
})
