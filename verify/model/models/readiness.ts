/**
 * When a service begins to drain, `/readyz` says so before the intake refuses anything: whoever balances
 * the load must never see a ready service that turns work away.
 */
import { type Model, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

function readiness(cores: KernelCores, name: string, { requests }: { requests: number }): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const shutdown = new cores.shutdownShell.Shutdown()
    const health = new cores.health.Health(['store'])
    const isReady = (): boolean => health.readiness.value.ready && shutdown.phase.value === 'running'
    const history = { isIntakeOpen: true, refusedWhileReady: 0, served: 0 }
    shutdown.taskStarted('intake')
    shutdown.draining.addEventListener('abort', () => {
      history.isIntakeOpen = false
      if (isReady()) history.refusedWhileReady += 1
    })

    function* intake(): Task {
      for (let count = 1; count <= requests; count += 1) {
        yield step(`is asked for ${count}`)
        if (history.isIntakeOpen) history.served += 1
        else if (isReady()) history.refusedWhileReady += 1
      }
      yield wait('closes the listener', () => !history.isIntakeOpen)
      shutdown.taskEnded('intake')
    }

    return {
      state: {
        history,
        health: health.readiness,
        get phase() {
          return shutdown.phase.value
        },
        get conditions() {
          return health.readiness.value
        },
      },
      tasks: {
        intake,
        *store() {
          yield step('is ready')
          health.meet('store')
          yield step('is busy')
          health.miss('store', 'compacting')
        },
        *supervisor() {
          yield step('begins to drain')
          shutdown.drain()
        },
      },
      never: () => ({
        'refused-while-ready': history.refusedWhileReady > 0,
        'ready-with-a-condition-unmet': isReady() && !health.readiness.value.conditions['store']?.ready,
      }),
      neverAtEnd: () => ({ 'service-not-stopped': shutdown.phase.value !== 'stopped' }),
      leaks: () => ({ tasks: shutdown.tasks.size }),
    }
  }
  return { name, setup }
}

export const READINESS: Suite<KernelCores> = {
  name: 'readiness flips before intake stops',
  smallest: (cores) => [
    readiness(cores, 'readiness: 1 request', { requests: 1 }),
    readiness(cores, 'readiness: 3 requests', { requests: 3 }),
  ],
  larger: () => [],
  mutants: [
    {
      name: 'the new phase is not published',
      file: 'task/shutdown.ts',
      find: 'if (phase !== this.#phase.value) this.#phase.set(phase)',
      replace: '',
      expect: 'refused-while-ready',
    },
    {
      name: 'one condition is enough to be ready',
      file: 'observe/health.ts',
      find: 'ready: missing.length === 0',
      replace: 'ready: true',
      expect: 'ready-with-a-condition-unmet',
    },
  ],
}
