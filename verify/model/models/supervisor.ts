/**
 * A task that fails, is restarted after a pause, and fails again, while somebody may begin to drain at any
 * moment; and a task that fails too often.
 *
 *     runs ──fails──▶ pause ──▶ runs …          drain: no restart is decided any more
 *                 └── more than 5 failures in 60 s ──▶ fatal, and the service drains
 */
import type { Random } from '../../../packages/kernel/src/random.ts'
import { choose, type Model, select, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

const NO_JITTER: Random = { next: () => 0, bytes: (length) => new Uint8Array(length) }

function restartWhileDraining(cores: KernelCores, name: string, { tasks: size }: { tasks: number }): Model {
  const { supervisor, shutdown: shutdownCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const shutdown = shutdownCore.createShutdown()
    const isRunning = (): boolean => shutdown.phase === 'running'
    const observed = { restartsDecidedWhileDraining: 0, startsAfterStop: 0 }

    function* supervised(self: string): Task {
      let history = supervisor.NO_FAILURES
      for (;;) {
        if (shutdown.phase === 'stopped') observed.startsAfterStop += 1
        const exit = yield select(
          'runs',
          { finished: () => !isRunning(), failed: () => history.failures.length < 3 },
          history,
        )
        if (exit === 'failed') history = supervisor.noteFailure(history, history.failures.length)
        const decision = supervisor.decide(history, exit === 'failed' ? 'failed' : 'finished', isRunning(), NO_JITTER)
        if (decision.tag !== 'restart') break
        if (!isRunning()) observed.restartsDecidedWhileDraining += 1
        const pause = yield select('pauses', { over: () => true, draining: () => !isRunning() }, [history, decision])
        if (pause === 'draining') break
      }
      shutdownCore.taskEnded(shutdown, self)
    }

    const tasks: Record<string, () => Task> = {}
    for (let count = 1; count <= size; count += 1) {
      const self = `task-${count}`
      shutdownCore.taskStarted(shutdown, self)
      tasks[self] = () => supervised(self)
    }
    tasks['supervisor'] = function* () {
      yield step('begins to drain')
      shutdownCore.drain(shutdown)
    }

    return {
      state: { shutdown, history: observed },
      tasks,
      never: () => ({
        'restart-while-draining': observed.restartsDecidedWhileDraining > 0,
        'start-after-stop': observed.startsAfterStop > 0,
      }),
      neverAtEnd: () => ({ 'service-not-stopped': shutdown.phase !== 'stopped' }),
      leaks: () => ({ tasks: shutdown.tasks.size }),
      eventually: () => ({ 'the service stops': shutdown.phase === 'stopped' }),
    }
  }
  return { name, setup }
}

/** Failures at every spacing the checker likes; whether they were too many is counted here by other means. */
function crashLoop(cores: KernelCores, name: string): Model {
  const { supervisor, shutdown: shutdownCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const shutdown = shutdownCore.createShutdown()
    const failedAt: number[] = []
    const observed = { fatal: false, restarted: 0 }
    shutdownCore.taskStarted(shutdown, 'flapping')

    const recentFailures = (): number => failedAt.filter((at) => (failedAt.at(-1) ?? 0) - at < 60_000).length

    function* flapping(): Task {
      let history = supervisor.NO_FAILURES
      for (let now = 0; failedAt.length < 8; ) {
        const exit = yield choose('runs', ['fails soon', 'fails after 20 s', 'finishes'], [history, now])
        if (exit === 'finishes') break
        now += exit === 'fails soon' ? 100 : 20_000
        failedAt.push(now)
        history = supervisor.noteFailure(history, now)
        const decision = supervisor.decide(history, 'failed', shutdown.phase === 'running', NO_JITTER)
        if (decision.tag === 'fatal') {
          observed.fatal = true
          shutdownCore.drain(shutdown)
        }
        if (decision.tag !== 'restart') break
        observed.restarted += 1
      }
      shutdownCore.taskEnded(shutdown, 'flapping')
    }

    return {
      state: { shutdown, failedAt, history: observed },
      tasks: { flapping },
      never: () => ({
        'crash-loop-goes-on': recentFailures() > 5 && !observed.fatal,
        'escalated-too-early': recentFailures() <= 5 && observed.fatal,
      }),
      neverAtEnd: () => ({ 'fatal-without-stop': observed.fatal && shutdown.phase !== 'stopped' }),
    }
  }
  return { name, setup }
}

export const SUPERVISOR: Suite<KernelCores> = {
  name: 'supervisor: restarts, draining and crash loops',
  smallest: (cores) => [
    restartWhileDraining(cores, 'supervisor: restart while draining, 1 task', { tasks: 1 }),
    crashLoop(cores, 'supervisor: crash loop'),
  ],
  larger: (cores) => [restartWhileDraining(cores, 'supervisor: restart while draining, 3 tasks', { tasks: 3 })],
  mutants: [
    {
      name: 'draining does not end restarts',
      file: 'task/supervisor-core.ts',
      find: "if (exit !== 'failed' || !running) return { tag: 'end' }",
      replace: "if (exit !== 'failed') return { tag: 'end' }",
      expect: 'restart-while-draining',
    },
    {
      name: 'one more restart before it is fatal',
      file: 'task/supervisor-core.ts',
      find: 'if (history.failures.length > RESTARTS_MAX)',
      replace: 'if (history.failures.length > RESTARTS_MAX + 1)',
      expect: 'crash-loop-goes-on',
    },
    {
      name: 'old failures are never forgotten',
      file: 'task/supervisor-core.ts',
      find: 'history.failures.filter((at) => at > now - RESTART_WINDOW_MS)',
      replace: 'history.failures',
      expect: 'escalated-too-early',
    },
  ],
}
