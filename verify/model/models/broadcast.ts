/**
 * A publisher that waits for nobody, readers at their own pace: what a reader received and what it was
 * told it lost add up to what was published since it subscribed.
 */
import { type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'
import { waitIn } from './shell.ts'

interface Account {
  from: number
  received: number
  lagged: number
  last: number
}

interface Scene {
  readonly capacity: number
  readonly values: number
  readonly readers: number
}

function accounting(cores: KernelCores, name: string, { capacity, values, readers }: Scene): Model {
  const { broadcast: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const broadcast = core.createBroadcast<number>(capacity)
    const accounts: Record<string, Account> = {}
    const history = { isOutOfOrder: false }

    function* reader(self: string): Task {
      yield step('subscribes')
      const place = core.subscribe(broadcast)
      const account: Account = { from: broadcast.published, received: 0, lagged: 0, last: -1 }
      accounts[self] = account
      for (;;) {
        const heard = core.tryHear(broadcast, place)
        if (heard === undefined) yield* waitIn(broadcast.waiters, { label: 'looks again', locals: place })
        else if (heard.tag === 'closed') return
        else {
          if (heard.tag === 'lagged') account.lagged += heard.missed
          else {
            account.received += 1
            history.isOutOfOrder ||= heard.value <= account.last
            account.last = heard.value
          }
          yield step('hears more', place)
        }
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (let count = 1; count <= readers; count += 1) tasks[`reader-${count}`] = () => reader(`reader-${count}`)
    tasks['publisher'] = function* () {
      for (let value = 0; value < values; value += 1) {
        yield step(`publishes ${value}`)
        core.publish(broadcast, value)
      }
      yield step('closes')
      core.closeBroadcast(broadcast)
    }

    return {
      state: { broadcast, accounts, history },
      tasks,
      never: () => ({ 'out-of-order': history.isOutOfOrder }),
      neverAtEnd: () => ({
        'values-miscounted': Object.values(accounts).some(
          ({ from, received, lagged }) => from + received + lagged !== values,
        ),
      }),
      leaks: () => ({ waiters: broadcast.waiters.size }),
    }
  }
  return { name, setup }
}

export const BROADCAST: Suite<KernelCores> = {
  name: 'broadcast accounting',
  smallest: (cores) => [
    accounting(cores, 'broadcast: 2 values, capacity 1, 1 reader', { capacity: 1, values: 2, readers: 1 }),
  ],
  larger: (cores) => [
    accounting(cores, 'broadcast: 4 values, capacity 2, 2 readers', { capacity: 2, values: 4, readers: 2 }),
  ],
  mutants: [
    {
      name: 'a lagging reader skips one more than it is told',
      file: 'channel/broadcast-core.ts',
      find: 'reader.place = oldest',
      replace: 'reader.place = oldest + 1',
      expect: 'values-miscounted',
    },
    {
      name: 'a reader that lags does not notice',
      file: 'channel/broadcast-core.ts',
      find: 'const oldest = Math.max(0, broadcast.published - broadcast.capacity)',
      replace: 'const oldest = 0',
      expect: 'out-of-order',
    },
    {
      name: 'the close wakes nobody',
      file: 'channel/broadcast-core.ts',
      find: "broadcast.state = 'closed'",
      replace: "broadcast.state = 'closed'; return",
      expect: 'deadlock',
    },
  ],
}
