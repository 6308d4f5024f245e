import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestBytes } from '@cairn/transport'
import { readBounded, readWhole, tooLarge } from './body.ts'

/** Three pieces that can be freed, and the log of when they were. */
function freeable(log: string[]): RequestBytes {
  return {
    async *[Symbol.asyncIterator]() {
      for (const text of ['ab', 'cd', 'e']) yield await Promise.resolve(new TextEncoder().encode(text))
    },
    free: (piece) => log.push(`free ${new TextDecoder().decode(piece)}`),
  }
}

test('a piece of a stream is freed when the next is asked for, not before', async () => {
  const log: string[] = []
  for await (const piece of readBounded(freeable(log), 5, () => tooLarge(5)))
    log.push(`take ${new TextDecoder().decode(piece)}`)
  assert.deepEqual(log, ['take ab', 'free ab', 'take cd', 'free cd', 'take e', 'free e'])
})

test('the pieces of a whole body are freed once they are joined', async () => {
  const log: string[] = []
  const whole = await readWhole(freeable(log), 5)
  assert.equal(new TextDecoder().decode(whole), 'abcde')
  assert.deepEqual(log, ['free ab', 'free cd', 'free e'])
})

test('a stream and a whole body end with an error past their bound', async () => {
  await assert.rejects(readWhole(freeable([]), 4), { code: 'body_cap' })
  const stream = readBounded(freeable([]), 4, () => tooLarge(4))
  await assert.rejects(Array.fromAsync(stream), { code: 'body_cap' })
})
