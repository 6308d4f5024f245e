import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readFrames } from './body-chunks.ts'

function framed(chunks: readonly Uint8Array[]): Buffer {
  const head = (length: number): Buffer => Buffer.from(Uint32Array.of(length).buffer).swap32()
  return Buffer.concat(chunks.flatMap((chunk) => [head(chunk.length), chunk]))
}

async function read(body: Iterable<Uint8Array>, framesMax = 100): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for await (const chunk of readFrames(body, framesMax)) chunks.push(Buffer.from(chunk))
  return chunks
}

test('chunks come out as they went in, however the stream is cut', async () => {
  const anyChunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(anyChunks, fc.array(fc.nat(60), { maxLength: 20 }), async (chunks, cuts) => {
      const all = framed(chunks)
      const pieces: Uint8Array[] = []
      let at = 0
      for (const cut of cuts) {
        pieces.push(all.subarray(at, at + cut))
        at += cut
      }
      pieces.push(all.subarray(at))
      assert.deepEqual(
        await read(pieces),
        chunks.map((chunk) => Buffer.from(chunk)),
      )
    }),
  )
})

test('a stream that ends in a frame, at any byte of it, is refused', async () => {
  const all = framed([Buffer.from('abc'), Buffer.from('defgh')])
  const whole = [0, 7, all.length]
  for (let end = 0; end <= all.length; end += 1) {
    if (whole.includes(end)) await read([all.subarray(0, end)])
    else await assert.rejects(read([all.subarray(0, end)]), { code: 'bad_frame' }, String(end))
  }
})

test('no chunk of no bytes, none above the largest, and not more than allowed', async () => {
  await assert.rejects(read([Buffer.alloc(4)]), { code: 'bad_frame' })
  await assert.rejects(read([Buffer.from([0, 0x10, 0, 1])]), { code: 'bad_frame' })
  const three = framed(['a', 'b', 'c'].map((text) => Buffer.from(text)))
  assert.equal((await read([three], 3)).length, 3)
  await assert.rejects(read([three], 2), { kind: 'TooLarge' })
})
