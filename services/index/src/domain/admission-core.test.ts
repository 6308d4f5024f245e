import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWorkerLoad, expectedWaitMs, noteService, SERVICE_MS_AT_START } from './admission-core.ts'

test('nobody waits while a worker is free', () => {
  const load = { ...createWorkerLoad(4), busy: 3 }
  assert.equal(expectedWaitMs(load, 0), 0)
  assert.ok(expectedWaitMs(load, 1) > 0)
})

test('the wait is what is in line before, at the pace of all workers', () => {
  const load = { ...createWorkerLoad(16), busy: 16, serviceMs: 1200 }
  assert.equal(expectedWaitMs(load, 15), 1200)
  assert.equal(expectedWaitMs(load, 31), 2400)
})

test('the pace follows what lookups take, and one of them does not turn it round', () => {
  const load = createWorkerLoad(16)
  noteService(load, 1200, true)
  assert.ok(load.serviceMs > SERVICE_MS_AT_START && load.serviceMs < 200)
  for (let count = 0; count < 100; count += 1) noteService(load, 1200, true)
  assert.ok(load.serviceMs > 1190)
})

test('a lookup that was cut off early says nothing about how long one takes', () => {
  const load = createWorkerLoad(16)
  noteService(load, 0, false)
  assert.deepEqual(load, createWorkerLoad(16))
  noteService(load, 1200, false)
  assert.ok(load.serviceMs > SERVICE_MS_AT_START)
})
