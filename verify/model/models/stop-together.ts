/**
 * Two services of one process stop together: the one in front still has work that needs the one behind. What the front
 * accepted is served behind until the front is done; clients are refused by both from the start.
 *
 *     client ─▶ front ── call ─▶ behind ◀─ client
 *     node: both begin to drain ──▶ front done ──▶ behind done      (or the deadline: both abort)
 */
import { type Model, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

interface Scene {
  readonly requests: number
  /** How often a request of the front calls the service behind. */
  readonly calls: number
}

function stopTogether(cores: KernelCores, name: string, { requests, calls }: Scene): Model {
  const core = cores.shutdown
  const setup = (): ReturnType<Model['setup']> => {
    const services = { front: core.createShutdown(), behind: core.createShutdown() }
    /** Accepted and not yet over. */
    const open = { front: 0, behind: 0 }
    const history = { answered: 0, refusedWhileAccepted: 0, takenFromOutside: 0, hasBegun: false }
    for (const service of Object.values(services)) core.taskStarted(service, 'listener')
    const isAborted = (): boolean => services.front.phase !== 'running' && services.front.phase !== 'draining'

    function* listener(service: 'front' | 'behind'): Task {
      const shutdown = services[service]
      yield wait('has nothing open and nothing can come', () => core.isClosedToWork(shutdown) && open[service] === 0)
      core.taskEnded(shutdown, 'listener')
    }

    function* request(): Task {
      yield step('asks the front')
      if (!core.takesWork(services.front, 'outside')) return
      if (history.hasBegun) history.takenFromOutside += 1
      open.front += 1
      for (let call = 1; call <= calls; call += 1) {
        yield step(`calls behind, ${call}`)
        if (isAborted()) break
        if (!core.takesWork(services.behind, 'dependent')) {
          history.refusedWhileAccepted += 1
          break
        }
        open.behind += 1
        yield step(`is answered by behind, ${call}`)
        open.behind -= 1
      }
      open.front -= 1
      history.answered += 1
    }

    const tasks: Record<string, () => Task> = {
      front: () => listener('front'),
      behind: () => listener('behind'),
      *client() {
        yield step('asks behind')
        if (core.takesWork(services.behind, 'outside') && history.hasBegun) history.takenFromOutside += 1
      },
      *node() {
        yield step('stops')
        history.hasBegun = true
        core.dependentStarted(services.behind, 'front')
        core.drain(services.front)
        core.drain(services.behind)
        const how = yield select('waits for the front', {
          done: () => services.front.phase === 'stopped',
          deadline: () => true,
        })
        if (how === 'deadline') for (const service of Object.values(services)) core.abort(service, () => true)
        yield wait('has the front', () => services.front.phase === 'stopped')
        core.dependentDone(services.behind, 'front')
        yield wait('has both', () => services.behind.phase === 'stopped')
      },
    }
    for (let count = 1; count <= requests; count += 1) tasks[`request-${count}`] = request

    return {
      state: { services, open, history },
      tasks,
      never: () => ({
        'accepted-work-refused': history.refusedWhileAccepted > 0,
        'taken-from-outside': history.takenFromOutside > 0,
        'stopped-with-work-open': services.front.phase === 'stopped' && open.front > 0,
      }),
      neverAtEnd: () => ({
        'service-not-stopped': Object.values(services).some(({ phase }) => phase !== 'stopped'),
      }),
      leaks: () => ({ tasks: services.front.tasks.size + services.behind.tasks.size }),
      eventually: () => ({ 'both stop': Object.values(services).every(({ phase }) => phase === 'stopped') }),
    }
  }
  return { name, setup }
}

export const STOP_TOGETHER: Suite<KernelCores> = {
  name: 'services of one process stop together',
  smallest: (cores) => [stopTogether(cores, 'stop together: 1 request, 1 call', { requests: 1, calls: 1 })],
  larger: (cores) => [stopTogether(cores, 'stop together: 2 requests, 2 calls', { requests: 2, calls: 2 })],
  mutants: [
    {
      name: 'a service behind refuses whoever is in front',
      file: 'task/shutdown-core.ts',
      find: "return shutdown.phase === 'draining' && from === 'dependent' && shutdown.dependents.size > 0",
      replace: 'return false',
      expect: 'accepted-work-refused',
    },
    {
      name: 'clients are served while a service in front drains',
      file: 'task/shutdown-core.ts',
      find: "from === 'dependent' && shutdown.dependents",
      replace: 'shutdown.dependents',
      expect: 'taken-from-outside',
    },
    {
      name: 'a service in front that is done is waited for',
      file: 'task/shutdown-core.ts',
      find: 'shutdown.dependents.delete(name)',
      replace: '',
      expect: 'service-not-stopped',
    },
  ],
}
