import assert from 'node:assert/strict'
import { test } from 'node:test'
import { floodOfPointers } from './flood.ts'

/** What one peer may have told us. */
const KEYS_PER_PEER = 10_000
const REFUSED = 200

test('a peer that tells of more than 10 000 objects is refused the rest; what others tell is taken meanwhile', async (t) => {
  const { found, honest, told, refused, stallMs, seconds } = await floodOfPointers(REFUSED)
  const pace = `${seconds.toFixed(0)} s, longest turn ${stallMs.toFixed(0)} ms`
  t.diagnostic(`${refused} of ${told} pointers refused before it was over, ${pace}`)
  assert.deepEqual(found, [honest])
  assert.ok(told >= KEYS_PER_PEER + REFUSED && refused >= REFUSED)
})
