/** At a size every run can afford; `put-memory.long.ts` does the same with 1 GiB. */
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { MIB } from '../../../cli/test/memory-watch.ts'
import { putsWithoutGrowing } from './put-memory.ts'

test('64 MiB streamed to /put have the address of their bytes, and the node stays within 32 MiB of idle', async (t) => {
  if (!existsSync('/proc/self/status')) return t.skip('there is no /proc here to tell the memory of a process')
  await putsWithoutGrowing(t, { size: 64 * MIB, growthMax: 32 * MIB, waitMs: 60_000 })
})
