/**
 * More clients than permits, and one who may be called away while it waits: never more holders than
 * permits, and at the end every permit is back.
 */
import { type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'
import { Signal, waitIn } from './shell.ts'

function permits(cores: KernelCores, name: string, scene: { permits: number; clients: number }): Model {
  const { semaphore: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const semaphore = core.createSemaphore(scene.permits)
    const away = new Signal()
    const history = { held: 0 }

    function* client(signal: Signal): Task {
      yield step('asks for a permit')
      if (!core.tryAcquire(semaphore)) {
        const waited = yield* waitIn(semaphore.line, { label: 'goes on from the line', signal })
        if (waited.tag === 'canceled') return
      }
      history.held += 1
      yield step('gives its permit back')
      history.held -= 1
      core.release(semaphore)
    }

    const tasks: Record<string, () => Task> = { hasty: () => client(away) }
    for (let count = 1; count < scene.clients; count += 1) tasks[`patient-${count}`] = () => client(new Signal())
    tasks['canceler'] = function* () {
      yield step('calls the hasty one away')
      away.abort()
    }

    return {
      state: { semaphore, away, history },
      tasks,
      never: () => ({ 'too-many-holders': history.held > scene.permits }),
      neverAtEnd: () => ({ 'permit-lost': semaphore.available !== scene.permits }),
      leaks: () => ({ waiters: semaphore.line.size, listeners: away.listeners.size }),
    }
  }
  return { name, setup }
}

export const SEMAPHORE: Suite<KernelCores> = {
  name: 'semaphore permits',
  smallest: (cores) => [permits(cores, 'semaphore: 1 permit, 2 clients', { permits: 1, clients: 2 })],
  larger: (cores) => [
    permits(cores, 'semaphore: 1 permit, 4 clients', { permits: 1, clients: 4 }),
    permits(cores, 'semaphore: 2 permits, 4 clients', { permits: 2, clients: 4 }),
  ],
  mutants: [
    {
      name: 'a permit handed on is also put back',
      file: 'policy/semaphore-core.ts',
      find: 'if (semaphore.line.wakeFirst(undefined)) return',
      replace: 'semaphore.line.wakeFirst(undefined)',
      expect: 'too-many-holders',
    },
    {
      name: 'a permit handed to an empty line is gone',
      file: 'policy/semaphore-core.ts',
      find: 'semaphore.available += 1',
      replace: '',
      expect: 'permit-lost',
    },
  ],
}
