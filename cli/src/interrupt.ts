import { CairnError } from '@cairn/kernel'
import { RealProcess } from '@cairn/platform'

/** Lets `use` run until it ends, or until a signal to this process aborts it. */
export async function untilInterrupted<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const stopHearing = new RealProcess().onSignal(() => interrupted.abort(new CairnError('Canceled', 'Interrupted.')))
  try {
    return await use(interrupted.signal)
  } finally {
    stopHearing()
  }
}
