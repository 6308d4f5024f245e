import assert from 'node:assert/strict'
import { test } from 'node:test'
import { virtualRuntime } from '@cairn/kernel/testing'
import { createUlid, isCorrelationId } from '@cairn/wire'
import { CorrelationIds } from './correlation.ts'

test('ids are ULIDs of their time, all different, and in order within one draw of randomness', () => {
  const runtime = virtualRuntime()
  const ids = new CorrelationIds(runtime)
  const made: string[] = []
  for (let count = 0; count < 5000; count += 1) {
    if (count % 700 === 0) runtime.clock.advance(3)
    const id = ids.of(undefined)
    assert.ok(isCorrelationId(id) && id.length === 26)
    assert.equal(id.slice(0, 10), createUlid(runtime.clock.wall(), new Uint8Array(10)).slice(0, 10))
    made.push(id)
  }
  assert.equal(new Set(made).size, made.length)
  assert.deepEqual(made.slice(0, 700).toSorted(), made.slice(0, 700))
})
