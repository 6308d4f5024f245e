/**
 * The little that the production shells add to their cores, as generators: a signal that aborts, and
 * `waitIn`, step for step what `waiters.ts` does with promises.
 */
import type { Waiters } from '../../../packages/kernel/src/channel/waiters.ts'
import { type Steps, wait } from '../model.ts'

/** An abort signal whose state a fingerprint can see. Listeners run synchronously, as on the real one. */
export class Signal {
  aborted = false
  readonly listeners = new Set<() => void>()

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.listeners) listener()
    this.listeners.clear()
  }
}

export type Waited<Outcome> = { readonly tag: 'woken'; readonly outcome: Outcome } | { readonly tag: 'canceled' }

interface Letter<Outcome> {
  answers: Waited<Outcome>[]
  waiter?: unknown
}

/**
 * Waits in line until woken or aborted. Whoever wakes the waiter only leaves a letter; when the task
 * reads it is the checker's choice, so other tasks may run in between, as they do between a promise's
 * resolution and its continuation. A second letter is a broken promise and is thrown.
 */
export function* waitIn<Outcome>(
  line: Waiters<Outcome>,
  { label, signal, locals }: { label: string; signal?: Signal; locals?: unknown },
): Steps<Waited<Outcome>> {
  if (signal?.aborted === true) return { tag: 'canceled' }
  const letter: Letter<Outcome> = { answers: [] }
  const onAbort = (): void => {
    if (line.remove(waiter)) letter.answers.push({ tag: 'canceled' })
  }
  const waiter = line.add((outcome) => {
    signal?.listeners.delete(onAbort)
    letter.answers.push({ tag: 'woken', outcome })
  })
  letter.waiter = waiter
  signal?.listeners.add(onAbort)
  yield wait(label, () => letter.answers.length > 0, [letter, locals])
  const [answer, second] = letter.answers
  if (answer === undefined || second !== undefined) throw new Error('A waiter was woken twice.')
  return answer
}
