/**
 * Repair workers that share one budget of bytes a second: in no second, wherever it begins, do they move more than it,
 * whoever is served when.
 *
 *     repairBudget(bytes a second) ─▶ bucket {rate, burst} ─▶ one worker at a time pays, in parts ─▶ then moves a run
 */
import { type Model, step, type Task, wait } from '../model.ts'
import type { KernelCores } from '../models/cores.ts'
import type { Source, Suite } from '../suite.ts'

type RepairCore = typeof import('../../../services/storage/src/repair/repair-core.ts')
type BucketCore = KernelCores['bucket']

const SECOND_MS = 1000
/** Small, so that a second holds few steps: one byte saved up, runs of two, five a second. */
const BYTES_PER_SECOND = 8

interface Scene {
  /** The bytes of the repairs each worker makes, in order. */
  readonly workers: Readonly<Record<string, readonly number[]>>
  readonly tickMs: number
  readonly ticks: number
}

interface PacerCores {
  readonly bucket: BucketCore
  readonly repairBudget: RepairCore['repairBudget']
}

function pacer({ bucket: core, repairBudget }: PacerCores, name: string, { workers, tickMs, ticks }: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const clock = { now: 0 }
    const shape = repairBudget(BYTES_PER_SECOND)
    const bucket = core.createBucket(shape, clock.now)
    const moved = Array.from({ length: ticks + 1 }, () => 0)
    const payer = { isFree: true }

    /** As `repair-worker.ts` does: more than the bucket holds is paid in parts, by one at a time, and moved when all is. */
    function* worker(repairs: readonly number[]): Task {
      for (const [index, bytes] of repairs.entries()) {
        yield wait(`wants to move ${bytes}`, () => payer.isFree, index)
        payer.isFree = false
        for (let left = bytes; left > 0; left -= shape.burst) {
          const part = Math.min(left, shape.burst)
          while (!core.tryTake(bucket, part, clock.now)) {
            const until = clock.now + core.waitMs(bucket, part, clock.now)
            if (until > tickMs * ticks) {
              payer.isFree = true
              return
            }
            yield wait(`is paced, then pays ${part}`, () => clock.now >= until, [index, left, until])
          }
        }
        const at = clock.now / tickMs
        moved[at] = (moved[at] ?? 0) + bytes
        payer.isFree = true
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (const [taskName, repairs] of Object.entries(workers)) tasks[taskName] = () => worker(repairs)
    tasks['clock'] = function* () {
      while (clock.now < tickMs * ticks) {
        yield step('time passes')
        clock.now += tickMs
      }
    }
    return {
      state: { clock, bucket, moved, payer },
      tasks,
      never: () => ({ 'over-budget': isOverBudget(moved, tickMs) }),
    }
  }
  return { name, setup }
}

/** Whether more than the budget was moved in some second, its first and last moment included. */
function isOverBudget(moved: readonly number[], tickMs: number): boolean {
  return moved.some((_, from) => {
    const within = moved.slice(from, from + SECOND_MS / tickMs + 1)
    return within.reduce((sum, bytes) => sum + bytes, 0) > BYTES_PER_SECOND
  })
}

const smallest = (cores: PacerCores): Model[] => [
  pacer(cores, 'pacer: 2 workers, half a second', {
    workers: { 'worker-1': [1, 2], 'worker-2': [1] },
    tickMs: 250,
    ticks: 2,
  }),
]

const larger = (cores: PacerCores): Model[] => [
  pacer(cores, 'pacer: 2 workers, more than a second', {
    workers: { 'worker-1': [2, 1, 1, 1], 'worker-2': [1, 1, 2, 1] },
    tickMs: 125,
    ticks: 10,
  }),
]

const SERVICE = new URL('../../../services/storage/src/', import.meta.url)
const KERNEL_SOURCE = new URL('../../../packages/kernel/src/', import.meta.url)

async function load(service: URL, kernel: URL): Promise<PacerCores> {
  const { repairBudget } = (await import(new URL('repair/repair-core.ts', service).href)) as RepairCore
  const bucket = (await import(new URL('policy/token-bucket-core.ts', kernel).href)) as BucketCore
  return { bucket, repairBudget }
}

/** How the budget becomes a bucket. */
export const BUDGET: { readonly source: Source<PacerCores>; readonly suite: Suite<PacerCores> } = {
  source: { directory: SERVICE, load: async (directory) => await load(directory, KERNEL_SOURCE) },
  suite: {
    name: 'the budget of repairs',
    smallest,
    larger,
    mutants: [
      {
        name: 'what is saved up, and what was paid for before, come on top of the budget',
        file: 'repair/repair-core.ts',
        find: 'return { rate: bytesPerSecond - burst - runBytes, burst, runBytes }',
        replace: 'return { rate: bytesPerSecond, burst, runBytes }',
        expect: 'over-budget',
      },
      {
        name: 'more is saved up than was reckoned with',
        file: 'repair/repair-core.ts',
        find: 'return { rate: bytesPerSecond - burst - runBytes, burst, runBytes }',
        replace: 'return { rate: bytesPerSecond - burst - runBytes, burst: 4 * burst, runBytes }',
        expect: 'over-budget',
      },
    ],
  },
}

/** How workers take from it. */
export const PACER: typeof BUDGET = {
  source: { directory: KERNEL_SOURCE, load: async (directory) => await load(SERVICE, directory) },
  suite: {
    name: 'workers that share the budget of repairs',
    smallest: () => [],
    larger,
    mutants: [
      {
        name: 'what was taken is still there for the next worker',
        file: 'policy/token-bucket-core.ts',
        find: 'bucket.level -= amount * 1000',
        replace: '',
        expect: 'over-budget',
      },
      {
        name: 'the same time flows in for every worker',
        file: 'policy/token-bucket-core.ts',
        find: 'bucket.filledAt += elapsed',
        replace: '',
        expect: 'over-budget',
      },
    ],
  },
}
