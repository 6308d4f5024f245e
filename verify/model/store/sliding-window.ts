/**
 * Repair workers that move chunks of any size, within one budget of bytes a second: in no second, wherever it begins, more
 * than it, but for a chunk that is larger, which is alone in its second.
 *
 *     one worker at a time: waits until it fits with the last second ─▶ moves it
 */
import { type Model, type Task, wait } from '../model.ts'
import type { Source, Suite } from '../suite.ts'

type SlidingWindowCore = typeof import('../../../services/storage/src/repair/sliding-window-core.ts')

const SECOND_MS = 1000
const TICK_MS = 250
const BYTES_PER_SECOND = 8

interface Scene {
  /** The bytes of what each worker moves, in order. */
  readonly workers: Readonly<Record<string, readonly number[]>>
  /** How often time passes while nobody waits for it. */
  readonly idleTicks: number
}

function slidingWindow(core: SlidingWindowCore, name: string, { workers, idleTicks }: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const clock = { now: 0, wakesAt: 0, idleTicks }
    const last = core.createSlidingWindow(BYTES_PER_SECOND)
    const moved: { readonly at: number; readonly bytes: number }[] = []
    const payer = { isFree: true }

    /** As `repair-worker.ts` does once it has paid. */
    function* worker(chunks: readonly number[]): Task {
      for (const [index, bytes] of chunks.entries()) {
        yield wait(`wants to move ${bytes}`, () => payer.isFree, index)
        payer.isFree = false
        for (;;) {
          const waitMs = core.waitMs(last, bytes, clock.now)
          if (waitMs === 0) break
          clock.wakesAt = clock.now + waitMs
          yield wait(`waits to move ${bytes}`, () => clock.now >= clock.wakesAt, index)
        }
        core.record(last, bytes, clock.now)
        moved.push({ at: clock.now, bytes })
        payer.isFree = true
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (const [taskName, chunks] of Object.entries(workers)) tasks[taskName] = () => worker(chunks)
    tasks['clock'] = function* () {
      for (;;) {
        yield wait('time passes', () => clock.now < clock.wakesAt || clock.idleTicks > 0)
        if (clock.now >= clock.wakesAt) clock.idleTicks -= 1
        clock.now += TICK_MS
      }
    }
    return {
      state: { clock, last, moved, payer },
      tasks,
      daemons: ['clock'],
      never: () => ({ 'over-budget': isOverBudget(moved) }),
      neverAtEnd: () => ({ left: moved.length < Object.values(workers).flat().length }),
    }
  }
  return { name, setup }
}

/** Whether several were moved within a second, its first and last moment included, that are together too much. */
function isOverBudget(moved: readonly { readonly at: number; readonly bytes: number }[]): boolean {
  return moved.some(({ at: from }) => {
    const within = moved.filter(({ at }) => at >= from && at <= from + SECOND_MS)
    return within.length > 1 && within.reduce((sum, { bytes }) => sum + bytes, 0) > BYTES_PER_SECOND
  })
}

export const LAST_SECOND: { readonly source: Source<SlidingWindowCore>; readonly suite: Suite<SlidingWindowCore> } = {
  source: {
    directory: new URL('../../../services/storage/src/', import.meta.url),
    load: async (directory) =>
      (await import(new URL('repair/sliding-window-core.ts', directory).href)) as SlidingWindowCore,
  },
  suite: {
    name: 'what repairs move in a second',
    smallest: (core) => [
      slidingWindow(core, 'last second: 2 workers, one with a chunk of half the budget', {
        workers: { 'worker-1': [4], 'worker-2': [5] },
        idleTicks: 4,
      }),
    ],
    larger: (core) => [
      slidingWindow(core, 'last second: 2 workers, chunks of any size', {
        workers: { 'worker-1': [3, 8, 1], 'worker-2': [5, 2, 9] },
        idleTicks: 4,
      }),
    ],
    mutants: [
      {
        name: 'a second is over a moment too early',
        file: 'repair/sliding-window-core.ts',
        find: 'const SPAN_MS = 1100',
        replace: 'const SPAN_MS = 900',
        expect: 'over-budget',
      },
      {
        name: 'what was moved does not count',
        file: 'repair/sliding-window-core.ts',
        find: 'last.bytes += bytes',
        replace: '',
        expect: 'over-budget',
      },
      {
        name: 'what is about to be moved does not count',
        file: 'repair/sliding-window-core.ts',
        find: 'let together = last.bytes + bytes',
        replace: 'let together = last.bytes',
        expect: 'over-budget',
      },
    ],
  },
}
