import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { MemoryChunkStore } from '../src/chunk/chunk-store.ts'
import { DriveStore } from '../src/drive-store.ts'
import { COMPLIANCE } from './chunk-compliance.ts'
import { memoryMachine } from './machine.ts'

const MEBIBYTE = 1024 * 1024

describe('memory', () => {
  for (const { name, run } of COMPLIANCE) {
    test(name, async () => await run(new MemoryChunkStore(memoryMachine().clock, 64 * MEBIBYTE, 3_600_000)))
  }
})

for (const cacheBytes of [0, 2 * MEBIBYTE]) {
  describe(`segments, cache of ${cacheBytes} bytes`, () => {
    for (const { name, run } of COMPLIANCE) {
      test(name, async () => {
        const machine = memoryMachine()
        const storage = await DriveStore.open(machine, { path: 'data', segmentBytes: 2 * MEBIBYTE, cacheBytes })
        await run(storage.chunks)
        await storage.close()
        assert.deepEqual(leaks(machine), [])
      })
    }
  })
}
