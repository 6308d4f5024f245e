import { canceled } from '@cairn/kernel'

/**
 * The result of work that cannot be stopped, for as long as anybody wants it: after an abort this rejects at once, and
 * what the work comes to in the end is handed to `late`.
 */
export async function abandoning<T>(work: Promise<T>, signal: AbortSignal, late: (value: T) => void): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    let isAbandoned = false
    const abandon = (): void => {
      isAbandoned = true
      reject(canceled(signal))
    }
    if (signal.aborted) abandon()
    else signal.addEventListener('abort', abandon, { once: true })
    work.then(
      (value) => {
        signal.removeEventListener('abort', abandon)
        if (isAbandoned) late(value)
        else resolve(value)
      },
      (error: unknown) => {
        signal.removeEventListener('abort', abandon)
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}
