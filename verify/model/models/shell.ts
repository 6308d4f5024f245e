/**
 * What stands between a core and a generator: a signal that a fingerprint can see into, and a wait. The wait itself is
 * `Waiters.enter`, the very code that ships.
 */
import type { Waiters, WaitSignal } from '../../../packages/kernel/src/channel/waiters.ts'
import { type Steps, wait } from '../model.ts'

/** An abort signal whose state a fingerprint can see. Listeners run synchronously, once, as on the real one. */
export class Signal implements WaitSignal {
  aborted = false
  readonly listeners = new Set<() => void>()

  addEventListener(_type: string, listener: unknown): void {
    this.listeners.add(listener as () => void)
  }

  removeEventListener(_type: string, listener: unknown): void {
    this.listeners.delete(listener as () => void)
  }

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    const listeners = [...this.listeners]
    this.listeners.clear()
    for (const listener of listeners) listener()
  }
}

export type Waited<Outcome> = { readonly tag: 'woken'; readonly outcome: Outcome } | { readonly tag: 'canceled' }

interface Letter<Outcome> {
  answers: Waited<Outcome>[]
  waiter?: unknown
}

/**
 * Waits in line until woken or aborted. The waiter's end only leaves a letter; when the task reads it is the checker's
 * choice, so other tasks may run in between, as they do between a promise's resolution and its continuation. A second
 * letter is a broken promise and is thrown.
 */
export function* waitIn<Outcome>(
  line: Waiters<Outcome>,
  { label, signal = new Signal(), locals }: { label: string; signal?: Signal; locals?: unknown },
): Steps<Waited<Outcome>> {
  if (signal.aborted) return { tag: 'canceled' }
  const letter: Letter<Outcome> = { answers: [] }
  letter.waiter = line.enter(signal, {
    woken: (outcome) => void letter.answers.push({ tag: 'woken', outcome }),
    aborted: () => void letter.answers.push({ tag: 'canceled' }),
  })
  yield wait(label, () => letter.answers.length > 0, [letter, locals])
  const [answer, second] = letter.answers
  if (answer === undefined || second !== undefined) throw new Error('A waiter ended twice.')
  return answer
}
