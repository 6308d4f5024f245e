/**
 * Producers, a bounded queue, workers, and a shutdown that drains.
 *
 *     producer-a ─┐                    ┌─▶ worker-1
 *     producer-b ─┴─▶ queue(capacity) ─┴─▶ worker-2        supervisor: drain, close the queue
 *
 * Whoever was told `sent` gets exactly one end: done, or dropped to make room. Workers go on until the
 * queue is closed and empty; then the service has stopped.
 */
import type { Lane, QueueShape, Take } from '../../../packages/kernel/src/channel/queue-core.ts'
import { type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'
import { waitIn } from './shell.ts'

interface Scene {
  readonly shape: QueueShape
  /** Jobs of each producer in order; those in capitals are urgent. */
  readonly producers: Readonly<Record<string, readonly string[]>>
  readonly workers: number
  /** What each worker takes from; both lanes when absent. */
  readonly takes?: readonly Take[]
}

function queueDrain(cores: KernelCores, name: string, scene: Scene): Model {
  const { queue: queueCore, shutdown: shutdownCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const queue = queueCore.createQueue<string>(scene.shape)
    const shutdown = shutdownCore.createShutdown()
    /** Accepted jobs, and how each one ended. */
    const ends: Record<string, string[]> = {}
    const wrongLane: string[] = []
    const end = (job: string, how: string): void => {
      ends[job]?.push(how)
    }

    function* producer(jobs: readonly string[]): Task {
      for (const job of jobs) {
        yield step(`sends ${job}`)
        const lane: Lane = isUrgent(job) ? 'urgent' : 'normal'
        ends[job] = []
        if (queueCore.trySend(queue, job, lane, (dropped) => end(dropped, 'dropped')) !== 'sent') delete ends[job]
      }
    }

    function* worker(self: string, take: Take): Task {
      for (;;) {
        let next = queueCore.tryReceive(queue, take)
        if (next === undefined) {
          const waited = yield* waitIn(queue.receivers[take], { label: 'takes what it waited for' })
          if (waited.tag === 'canceled') throw new Error('Nobody cancels a worker here.')
          next = waited.outcome
        }
        if (next.tag === 'closed') break
        if (take !== 'any' && isUrgent(next.item) !== (take === 'urgent')) wrongLane.push(next.item)
        yield step(`finishes ${next.item}`, next.item)
        end(next.item, 'done')
      }
      shutdownCore.taskEnded(shutdown, self)
    }

    const tasks: Record<string, () => Task> = {}
    for (const [producerName, jobs] of Object.entries(scene.producers)) tasks[producerName] = () => producer(jobs)
    for (let count = 1; count <= scene.workers; count += 1) {
      const self = `worker-${count}`
      shutdownCore.taskStarted(shutdown, self)
      const take = scene.takes?.[count - 1] ?? 'any'
      tasks[self] = () => worker(self, take)
    }
    tasks['supervisor'] = function* () {
      yield step('begins to drain')
      shutdownCore.drain(shutdown)
      yield step('closes the queue')
      queueCore.close(queue)
    }

    return {
      state: { queue, shutdown, ends, wrongLane },
      tasks,
      never: () => ({
        'over-capacity': queueCore.depth(queue) > scene.shape.capacity,
        'reserved-slot-taken': queue.normal.length > queue.normalCapacity,
        'items-miscounted': queue.sent !== queue.received + queue.dropped + queue.discarded + queueCore.depth(queue),
        'job-ended-twice': Object.values(ends).some((end) => end.length > 1),
        'wrong-lane': wrongLane.length > 0,
        'urgent-job-dropped': Object.entries(ends).some(([job, end]) => isUrgent(job) && end.includes('dropped')),
      }),
      neverAtEnd: () => ({
        'job-without-end': Object.values(ends).some((end) => end.length === 0),
        'service-not-stopped': shutdown.phase !== 'stopped',
      }),
      leaks: () => ({ waiters: queueCore.waiting(queue), tasks: shutdown.tasks.size }),
      eventually: () => ({ 'the service stops': shutdown.phase === 'stopped' }),
    }
  }
  return { name, setup }
}

function isUrgent(job: string): boolean {
  return job === job.toUpperCase()
}

const TWO_BY_TWO = { 'producer-a': ['a1', 'a2'], 'producer-b': ['b1', 'b2'] }
const WITH_URGENT = { 'producer-a': ['a1', 'a2'], 'producer-b': ['B1', 'B2'] }

export const QUEUE_DRAIN: Suite<KernelCores> = {
  name: 'queue, workers and a draining shutdown',
  smallest: (cores) => [
    queueDrain(cores, 'queue: 1×2 jobs, capacity 1, 1 worker', {
      shape: { capacity: 1, overflow: 'reject' },
      producers: { 'producer-a': ['a1', 'a2'] },
      workers: 1,
    }),
    queueDrain(cores, 'queue: 1×2 jobs, capacity 2, 1 worker', {
      shape: { capacity: 2, overflow: 'reject' },
      producers: { 'producer-a': ['a1', 'a2'] },
      workers: 1,
    }),
  ],
  larger: (cores) => [
    queueDrain(cores, 'queue: 2×2 jobs, capacity 1, 2 workers', {
      shape: { capacity: 1, overflow: 'reject' },
      producers: TWO_BY_TWO,
      workers: 2,
    }),
    queueDrain(cores, 'queue: 2×2 jobs, capacity 2, 2 workers', {
      shape: { capacity: 2, overflow: 'reject' },
      producers: TWO_BY_TWO,
      workers: 2,
    }),
    queueDrain(cores, 'queue: drop-oldest, capacity 1', {
      shape: { capacity: 1, overflow: 'drop-oldest' },
      producers: TWO_BY_TWO,
      workers: 1,
    }),
    queueDrain(cores, 'queue: drop-oldest, capacity 2', {
      shape: { capacity: 2, overflow: 'drop-oldest' },
      producers: TWO_BY_TWO,
      workers: 1,
    }),
    queueDrain(cores, 'queue: 1 of 2 slots reserved', {
      shape: { capacity: 2, overflow: 'reject', reserved: 1 },
      producers: WITH_URGENT,
      workers: 1,
    }),
    queueDrain(cores, 'queue: drop-oldest, 1 of 2 slots reserved', {
      shape: { capacity: 2, overflow: 'drop-oldest', reserved: 1 },
      producers: WITH_URGENT,
      workers: 1,
    }),
    queueDrain(cores, 'queue: 1 of 2 slots reserved, a worker for each lane', {
      shape: { capacity: 2, overflow: 'reject', reserved: 1 },
      producers: WITH_URGENT,
      workers: 2,
      takes: ['urgent', 'normal'],
    }),
  ],
  mutants: [
    {
      name: 'a closed queue gives nothing any more',
      file: 'channel/queue-core.ts',
      find: 'if (lane.length === 0) return queue.state.tag',
      replace: "if (lane.length === 0 || queue.state.tag !== 'open') return queue.state.tag",
      expect: 'job-without-end',
    },
    {
      name: 'one item too many fits',
      file: 'channel/queue-core.ts',
      find: 'if (depth(queue) >= queue.capacity) return false',
      replace: 'if (depth(queue) > queue.capacity) return false',
      expect: 'over-capacity',
    },
    {
      name: 'a dropped job is not answered',
      file: 'channel/queue-core.ts',
      find: 'dropped?.(oldest)',
      replace: '',
      expect: 'job-without-end',
    },
    {
      name: 'normal items use the reserved slot',
      file: 'channel/queue-core.ts',
      find: 'return urgent || queue.normal.length < queue.normalCapacity',
      replace: 'return true',
      expect: 'reserved-slot-taken',
    },
    {
      name: 'an item handed to a waiter is also stored',
      file: 'channel/queue-core.ts',
      find: '|| receivers.any.wakeFirst(received)) {',
      replace: '|| (receivers.any.wakeFirst(received), false)) {',
      expect: 'job-ended-twice',
    },
    {
      name: 'an urgent item wakes a worker of the other lane',
      file: 'channel/queue-core.ts',
      find: "receivers[urgent ? 'urgent' : 'normal']",
      replace: "receivers['normal']",
      expect: 'wrong-lane',
    },
    {
      name: 'the last task to end does not stop the service',
      file: 'task/shutdown-core.ts',
      find: "if (shutdown.phase !== 'running' && shutdown.tasks.size === 0) shutdown.phase = 'stopped'",
      replace: "if (shutdown.phase === 'running' && shutdown.tasks.size === 0) shutdown.phase = 'stopped'",
      expect: 'service-not-stopped',
    },
  ],
}
