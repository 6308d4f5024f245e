/**
 * The drain deadline comes first: what runs is aborted, what is queued is answered, a task that ignores
 * the abort is named and left behind. Every accepted job still ends exactly once.
 *
 *     running ──▶ draining ──deadline──▶ aborting ──grace──▶ stopped
 */
import { type Model, type Steps, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'
import { Signal, waitIn } from './shell.ts'

function drainDeadline(cores: KernelCores, name: string, { jobs, workers }: { jobs: number; workers: number }): Model {
  const { queue: queueCore, shutdown: shutdownCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const queue = queueCore.createQueue<string>({ capacity: 2, overflow: 'reject' })
    const shutdown = shutdownCore.createShutdown()
    const aborting = new Signal()
    const ends: Record<string, string[]> = {}
    const abortedTasks: string[] = []

    /** Workers with a job in hand. */
    const busy = new Set<string>()

    function* worker(self: string): Task {
      while (!aborting.aborted) {
        let next = queueCore.tryReceive(queue)
        if (next === undefined) {
          const waited = yield* waitIn(queue.receivers.any, { label: 'takes what it waited for', signal: aborting })
          if (waited.tag === 'canceled') break
          next = waited.outcome
        }
        if (next.tag === 'closed') break
        busy.add(self)
        const end = yield* handle(next.item, self)
        busy.delete(self)
        if (end === 'left behind') return
      }
      shutdownCore.taskEnded(shutdown, self)
    }

    /** A job handed over but not begun when the abort comes is answered like one in flight. */
    function* handle(job: string, self: string): Steps<'answered' | 'left behind'> {
      const isAborted = (): boolean => aborting.aborted
      const cancel = (): void => void ends[job]?.push('canceled')
      if (isAborted()) {
        cancel()
        return 'answered'
      }
      aborting.listeners.add(cancel)
      const how = yield select(`works on ${job}`, { done: () => true, 'ignores the abort': isAborted }, job)
      aborting.listeners.delete(cancel)
      if (!isAborted()) ends[job]?.push('done')
      if (how === 'done') return 'answered'
      yield wait('is left behind', () => shutdown.abandoned.includes(self))
      return 'left behind'
    }

    const tasks: Record<string, () => Task> = {
      *listener() {
        for (let count = 1; count <= jobs; count += 1) {
          const job = `job-${count}`
          yield step(`accepts ${job}`)
          ends[job] = []
          if (queueCore.trySend(queue, job, 'normal') !== 'sent') delete ends[job]
        }
      },
    }
    for (let count = 1; count <= workers; count += 1) {
      const self = `worker-${count}`
      shutdownCore.taskStarted(shutdown, self)
      tasks[self] = () => worker(self)
    }
    tasks['supervisor'] = function* () {
      yield step('begins to drain')
      shutdownCore.drain(shutdown)
      queueCore.close(queue)
      const how = yield select('waits for the drain', {
        drained: () => shutdown.phase === 'stopped',
        deadline: () => true,
      })
      if (how === 'drained' || shutdown.phase === 'stopped') return
      abortedTasks.push(...busy)
      shutdownCore.abort(shutdown, (task) => busy.has(task))
      for (const job of queueCore.abort(queue)) ends[job]?.push('canceled')
      aborting.abort()
      yield select('waits for the aborted', { ended: () => shutdown.phase === 'stopped', grace: () => true })
      shutdownCore.abandon(shutdown)
    }

    return {
      state: { queue, shutdown, aborting, ends, abortedTasks, busy },
      tasks,
      never: () => ({
        'job-ended-twice': Object.values(ends).some((end) => end.length > 1),
        'aborted-task-not-counted':
          shutdown.phase === 'aborting' && abortedTasks.some((task) => !shutdown.aborted.includes(task)),
        'idle-task-counted':
          shutdown.phase === 'aborting' && shutdown.aborted.some((task) => !abortedTasks.includes(task)),
      }),
      neverAtEnd: () => ({
        'job-without-end': Object.values(ends).some((end) => end.length === 0),
        'service-not-stopped': shutdown.phase !== 'stopped',
      }),
      leaks: () => ({
        waiters: queueCore.waiting(queue),
        listeners: aborting.listeners.size,
        tasks: shutdown.tasks.size,
      }),
      eventually: () => ({ 'the service stops': shutdown.phase === 'stopped' }),
    }
  }
  return { name, setup }
}

export const DRAIN_DEADLINE: Suite<KernelCores> = {
  name: 'the drain deadline',
  smallest: (cores) => [drainDeadline(cores, 'drain deadline: 2 jobs, 1 worker', { jobs: 2, workers: 1 })],
  larger: (cores) => [drainDeadline(cores, 'drain deadline: 3 jobs, 2 workers', { jobs: 3, workers: 2 })],
  mutants: [
    {
      name: 'abort forgets what it discarded',
      file: 'channel/queue-core.ts',
      find: 'return discarded',
      replace: 'return []',
      expect: 'job-without-end',
    },
    {
      name: 'the aborted are not counted',
      file: 'task/shutdown-core.ts',
      find: 'shutdown.aborted = [...shutdown.tasks].filter(isBusy)',
      replace: '',
      expect: 'aborted-task-not-counted',
    },
    {
      name: 'idle workers count as aborted',
      file: 'task/shutdown-core.ts',
      find: '[...shutdown.tasks].filter(isBusy)',
      replace: '[...shutdown.tasks]',
      expect: 'idle-task-counted',
    },
    {
      name: 'a task that ignores the abort is awaited for ever',
      file: 'task/shutdown-core.ts',
      find: 'shutdown.tasks.clear()',
      replace: 'return',
      expect: 'service-not-stopped',
    },
  ],
}
