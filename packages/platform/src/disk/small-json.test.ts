import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { z } from 'zod'
import { readSmallJson, replaceSmallFile, replaceSmallJson } from './durable-file.ts'
import { MemoryDisk } from './memory-disk.ts'

const schema = z.strictObject({ at: z.int() })

test('what was written is read; what is absent, no JSON, or something else is told apart', async () => {
  const disk = new MemoryDisk(systemRuntime(new MemoryLog(), new MemoryMetrics()), 1024 * 1024)
  assert.deepEqual(await readSmallJson(disk, 'place', schema), { tag: 'absent' })
  await replaceSmallJson(disk, 'place', { at: 7 })
  assert.deepEqual(await readSmallJson(disk, 'place', schema), { tag: 'read', value: { at: 7 } })
  for (const text of ['', '{"at":7', '{"at":"7"}', '{"at":7,"more":1}', '\0']) {
    await replaceSmallFile(disk, 'place', Buffer.from(text))
    assert.deepEqual(await readSmallJson(disk, 'place', schema), { tag: 'damaged' }, text)
  }
})
