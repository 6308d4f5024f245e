/**
 * Workers that share a budget over time: over any stretch of time no more is taken than was saved up at
 * most plus what flowed in, however the takers and the clock interleave.
 */
import { type Model, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

/** One token a millisecond, so that budgets are easy to read. */
const SHAPE = { rate: 1000, burst: 2 }

interface Scene {
  /** What each worker takes, in order. */
  readonly takers: Readonly<Record<string, readonly number[]>>
  readonly milliseconds: number
}

function budget(cores: KernelCores, name: string, { takers, milliseconds }: Scene): Model {
  const { bucket: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const clock = { now: 0 }
    const bucket = core.createBucket(SHAPE, clock.now)
    const taken = Array.from({ length: milliseconds + 1 }, () => 0)

    function* taker(amounts: readonly number[]): Task {
      for (const [index, amount] of amounts.entries()) {
        yield step(`takes ${amount}`, index)
        while (!core.tryTake(bucket, amount, clock.now)) {
          const until = clock.now + core.waitMs(bucket, amount, clock.now)
          if (until > milliseconds) return
          yield wait(`is paced, then takes ${amount}`, () => clock.now >= until, [index, until])
        }
        taken[clock.now] = (taken[clock.now] ?? 0) + amount
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (const [taskName, amounts] of Object.entries(takers)) tasks[taskName] = () => taker(amounts)
    tasks['clock'] = function* () {
      while (clock.now < milliseconds) {
        yield step('a millisecond passes')
        clock.now += 1
      }
    }

    return {
      state: { clock, bucket, taken },
      tasks,
      never: () => ({ 'over-budget': isOverBudget(taken) }),
    }
  }
  return { name, setup }
}

/** Whether some stretch of time took more than its burst and its inflow. */
function isOverBudget(taken: readonly number[]): boolean {
  return taken.some((_, from) => {
    let sum = 0
    return taken.slice(from).some((amount, passed) => {
      sum += amount
      return sum > SHAPE.burst + (SHAPE.rate * passed) / 1000
    })
  })
}

export const TOKEN_BUCKET: Suite<KernelCores> = {
  name: 'token bucket',
  smallest: (cores) => [
    budget(cores, 'bucket: 2 takers, 2 ms', { takers: { 'taker-1': [1, 2], 'taker-2': [1] }, milliseconds: 2 }),
  ],
  larger: (cores) => [
    budget(cores, 'bucket: 3 takers, 4 ms', {
      takers: { 'taker-1': [1, 1, 1], 'taker-2': [2, 2], 'taker-3': [1, 2] },
      milliseconds: 4,
    }),
  ],
  mutants: [
    {
      name: 'the same time flows in twice',
      file: 'policy/token-bucket-core.ts',
      find: 'bucket.filledAt += elapsed',
      replace: '',
      expect: 'over-budget',
    },
    {
      name: 'more is saved up than the burst',
      file: 'policy/token-bucket-core.ts',
      find: 'Math.min(bucket.burst * 1000, bucket.level + elapsed * bucket.rate)',
      replace: 'bucket.level + elapsed * bucket.rate',
      expect: 'over-budget',
    },
    {
      name: 'the last token is given on credit',
      file: 'policy/token-bucket-core.ts',
      find: 'if (bucket.level < amount * 1000) return false',
      replace: 'if (bucket.level <= 0) return false',
      expect: 'over-budget',
    },
  ],
}
