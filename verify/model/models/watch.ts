/**
 * One writer, readers that come and go as they like: nobody misses the last write.
 *
 *     writer ──▶ watch(value, version) ──▶ reader-1, reader-2        each waits for a version it has not seen
 */
import { type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'
import { Signal, waitIn } from './shell.ts'

function lastWrite(cores: KernelCores, name: string, { writes, readers }: { writes: number; readers: number }): Model {
  const { watch: watchCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const watch = watchCore.createWatch(0)
    const signal = new Signal()
    const heard = Array.from({ length: readers }, () => 0)
    const history = { wentBack: false }

    function* reader(self: number): Task {
      for (let seen = 0; watch.value < writes || seen < watch.version; ) {
        if (!watchCore.hasChanged(watch, seen)) {
          const waited = yield* waitIn(watch.waiters, { label: 'looks again', signal, locals: seen })
          if (waited.tag === 'canceled') return
        }
        history.wentBack ||= watch.value < (heard[self] ?? 0)
        heard[self] = watch.value
        seen = watch.version
        yield step('thinks about it', seen)
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (let self = 0; self < readers; self += 1) {
      tasks[`reader-${self + 1}`] = function* () {
        yield step('arrives')
        yield* reader(self)
      }
    }
    tasks['writer'] = function* () {
      for (let value = 1; value <= writes; value += 1) {
        yield step(`sets ${value}`)
        watchCore.setWatch(watch, value)
      }
    }

    return {
      state: { watch, signal, heard, history },
      tasks,
      never: () => ({ 'value-went-back': history.wentBack }),
      neverAtEnd: () => ({ 'last-write-missed': heard.some((value) => value !== writes) }),
      leaks: () => ({ waiters: watch.waiters.size, listeners: signal.listeners.size }),
    }
  }
  return { name, setup }
}

/** Readers hold a snapshot across awaits while writers swap it: old or new, never half of each. */
function configSwap(cores: KernelCores, name: string): Model {
  const { watch: watchCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const watch = watchCore.createWatch({ host: 'old', port: 'old' })
    const read: string[] = []

    function* reader(): Task {
      yield step('takes a snapshot')
      const config = watch.value
      yield step('reads the host', config)
      const { host } = config
      yield step('reads the port', [config, host])
      read.push(`${host}:${config.port}`)
    }

    return {
      state: { watch, read },
      tasks: {
        'reader-1': reader,
        'reader-2': reader,
        *writer() {
          for (const value of ['new', 'newer']) {
            yield step(`swaps in the ${value} configuration`)
            watchCore.setWatch(watch, { host: value, port: value })
          }
        },
      },
      never: () => ({ 'torn-configuration': read.some((pair) => new Set(pair.split(':')).size > 1) }),
    }
  }
  return { name, setup }
}

export const WATCH: Suite<KernelCores> = {
  name: 'watch: last write and configuration swap',
  smallest: (cores) => [
    lastWrite(cores, 'watch: 2 writes, 1 reader', { writes: 2, readers: 1 }),
    configSwap(cores, 'watch: configuration swap, 2 readers'),
  ],
  larger: (cores) => [lastWrite(cores, 'watch: 3 writes, 2 readers', { writes: 3, readers: 2 })],
  mutants: [
    {
      name: 'a write before the wait does not count',
      file: 'channel/watch-core.ts',
      find: 'return watch.version > seen',
      replace: 'return false',
      expect: 'last-write-missed',
    },
    {
      name: 'a write wakes only the first reader',
      file: 'channel/watch-core.ts',
      find: 'watch.waiters.wakeAll(undefined)',
      replace: 'watch.waiters.wakeFirst(undefined)',
      expect: 'last-write-missed',
    },
    {
      name: 'the snapshot is changed in place',
      file: 'channel/watch-core.ts',
      find: 'watch.value = value',
      replace: "if (typeof value === 'object') Object.assign(watch.value as object, value); else watch.value = value",
      expect: 'torn-configuration',
    },
  ],
}
