import { canceled, throwIfCanceled } from '@cairn/kernel'

/**
 * Waits for work that cannot be interrupted, but no longer than the signal allows. What it yields after that goes
 * to `late`, to be released. The listener is gone once this settles.
 */
export async function abortable<T>(signal: AbortSignal, work: Promise<T>, late?: (value: T) => void): Promise<T> {
  if (signal.aborted) {
    work.then(late, ignore)
    throwIfCanceled(signal)
  }
  return await new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(canceled(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(
      (value) => {
        signal.removeEventListener('abort', onAbort)
        if (signal.aborted) late?.(value)
        else resolve(value)
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort)
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}

function ignore(): void {}
