import { canceled, throwIfCanceled, type WaitOptions } from '../channel/waiters.ts'
import type { Clock } from '../clock.ts'

/** Resolves after `ms` on this clock; an abort ends it at once and cancels the timer. */
export async function sleep(clock: Clock, ms: number, { signal }: WaitOptions = {}): Promise<void> {
  throwIfCanceled(signal)
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      timer.cancel()
      if (signal !== undefined) reject(canceled(signal))
    }
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
