/**
 * A process to be killed: a registry on the real disk under load, which says on its standard output, synchronously,
 * what it is asked, what it answers and what it signs. Kills itself where it is told to, if it gets there.
 * Usage: `node kill-registry.ts DIRECTORY SEED [POINT]`.
 */
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { SystemClock, sleep } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { CrashPointHook } from '../../../services/registry/src/domain/crash-points.ts'
import { openRealLife } from './real-life.ts'
import { runLoad } from './registry-load.ts'
import { encodeMark, type MarkSink } from './registry-marks.ts'

/** So that the load is under way when the point comes. */
const TIMES_BEFORE = 3

const [data = '', seed = '1', wanted = ''] = process.argv.slice(2)
const mark: MarkSink = (each) => void writeSync(1, `${encodeMark(each)}\n`)
const clock = new SystemClock()
let times = 0
const reach: CrashPointHook = async (point) => {
  if (point !== wanted) return
  times += 1
  if (times < (point.startsWith('mid-') ? 1 : TIMES_BEFORE)) return
  writeSync(1, `reached ${point}\n`)
  process.kill(process.pid, 'SIGKILL')
  await Promise.withResolvers<void>().promise
}
const life = await openRealLife(data, mark, reach)
// Compiled once for all the processes that follow: a kill leaves no time for it at the end.
flushCompileCache()
writeSync(1, 'open\n')
const pause = async (ms: number): Promise<void> => await sleep(clock, ms)
// A proposal that lost to another stays open for a day, and nothing after it is pruned: alone nobody loses.
const clients = wanted === 'mid-prune' ? 1 : 6
// Far more than it will live to do.
await runLoad({ life, mark, random: new SeededRandom(Number(seed)), clients, stepsEach: 1_000_000, pause })
