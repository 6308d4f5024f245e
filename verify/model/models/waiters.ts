/**
 * Abort, deliver and close on the same line of waiters: exactly one of them ends a wait, and no item
 * goes to somebody who has left.
 *
 *     sender ──▶ queue ──▶ patient    waits until the close
 *     canceler ─ abort ──▶ hasty      may leave at any moment
 */
import { type Model, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'
import { Signal, waitIn } from './shell.ts'

interface Scene {
  readonly items: readonly string[]
  readonly patient: number
  /** Receivers that one abort sends away. */
  readonly hasty: number
}

function abortVersusDeliver(cores: KernelCores, name: string, scene: Scene): Model {
  const { queue: queueCore } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const queue = queueCore.createQueue<string>({ capacity: 2, overflow: 'reject' })
    const signal = new Signal()
    const sent: string[] = []
    const received: string[] = []

    function* receiver(leaving?: Signal): Task {
      for (;;) {
        if (leaving?.aborted === true) return
        let next = queueCore.tryReceive(queue)
        if (next === undefined) {
          const signalOption = leaving === undefined ? {} : { signal: leaving }
          const waited = yield* waitIn(queue.receivers.any, { label: 'takes what it waited for', ...signalOption })
          if (waited.tag === 'canceled') return
          next = waited.outcome
        }
        if (next.tag === 'closed') return
        received.push(next.item)
        yield step('asks for more')
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (let count = 1; count <= scene.hasty; count += 1) tasks[`hasty-${count}`] = () => receiver(signal)
    for (let count = 1; count <= scene.patient; count += 1) tasks[`patient-${count}`] = () => receiver()
    tasks['sender'] = function* () {
      for (const item of scene.items) {
        yield step(`sends ${item}`)
        if (queueCore.trySend(queue, item, 'normal') === 'sent') sent.push(item)
      }
      yield step('closes the queue')
      queueCore.close(queue)
    }
    tasks['canceler'] = function* () {
      yield step('sends the hasty ones away')
      signal.abort()
    }

    return {
      state: { queue, signal, sent, received },
      tasks,
      never: () => ({
        'item-received-twice': new Set(received).size < received.length,
        'listens-without-waiting': signal.listeners.size > queueCore.waiting(queue),
      }),
      neverAtEnd: () => ({ 'item-lost': sent.length !== received.length + queueCore.depth(queue) }),
      leaks: () => ({ waiters: queueCore.waiting(queue), listeners: signal.listeners.size }),
    }
  }
  return { name, setup }
}

export const WAITERS: Suite<KernelCores> = {
  name: 'abort, deliver and close on one line of waiters',
  smallest: (cores) => [
    abortVersusDeliver(cores, 'waiters: abort against deliver', { items: ['x'], hasty: 1, patient: 1 }),
    abortVersusDeliver(cores, 'waiters: close while three wait', { items: ['x'], hasty: 0, patient: 3 }),
  ],
  larger: (cores) => [
    abortVersusDeliver(cores, 'waiters: two abandoned, two patient', { items: ['x', 'y'], hasty: 2, patient: 2 }),
  ],
  mutants: [
    {
      name: 'an aborted waiter does not leave the line',
      file: 'channel/waiters.ts',
      find: 'if (this.remove(waiter)) aborted()',
      replace: 'aborted()',
      expect: 'item-lost',
    },
    {
      name: 'a woken waiter still listens to its signal',
      file: 'channel/waiters.ts',
      find: "signal.removeEventListener('abort', onAbort)",
      replace: '',
      expect: 'listens-without-waiting',
    },
    {
      name: 'an abandoned waiter stays at the head of the line',
      file: 'channel/waiters.ts',
      find: 'if (waiter.previous === undefined) this.#first = waiter.next',
      replace: 'if (waiter.previous === undefined) this.#first = waiter',
      expect: 'item-lost',
    },
    {
      name: 'a woken waiter stays in line',
      file: 'channel/waiters.ts',
      find: '    this.remove(waiter)',
      replace: '',
      expect: 'exception',
    },
    {
      name: 'close wakes all but the last',
      file: 'channel/waiters.ts',
      find: 'for (let left = this.#size; left > 0; left -= 1)',
      replace: 'for (let left = this.#size; left > 1; left -= 1)',
      expect: 'deadlock',
    },
  ],
}
