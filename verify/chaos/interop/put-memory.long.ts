import { test } from 'node:test'
import { MIB } from '../../../cli/test/memory-watch.ts'
import { putsWithoutGrowing } from './put-memory.ts'

test('1 GiB streamed to /put has the address of its bytes, and the node stays within 64 MiB of idle', async (t) => {
  await putsWithoutGrowing(t, { size: 1024 * MIB, growthMax: 64 * MIB, waitMs: 600_000 })
})
