import type { HostProcess, Signal } from './process.ts'

const SIGNALS = { SIGINT: 'interrupt', SIGTERM: 'terminate', SIGHUP: 'hangup' } as const

/**
 * A signal is handled a moment after it came. What clients sent before it may still wait in the kernel: a turn of the event
 * loop accepts one connection of each listener, a later one reads the request on it. They came first, so they are accepted
 * work, and not refused because the node stops. Counted in turns, because a busy machine needs more time for each.
 */
const TURNS = 128
const MOMENT_MS = 25

/** A signal that came. */
interface Arrival {
  readonly signal: Signal
  readonly at: number
  /** Of the event loop, since then. */
  turns: number
}

/** The process this code runs in. While nobody listens, signals do what the system says: they end it. */
export class RealProcess implements HostProcess {
  readonly pid = process.pid
  readonly environment = process.env

  onSignal(hear: (signal: Signal) => void): () => void {
    const arrivals: Arrival[] = []
    const turn = (): void => {
      for (const arrival of arrivals) arrival.turns += 1
      // From the first on: they are heard in the order in which they came.
      for (let first = arrivals[0]; first !== undefined && isDue(first); first = arrivals[0]) {
        arrivals.shift()
        hear(first.signal)
      }
      if (arrivals.length > 0) setImmediate(turn)
    }
    const listen = (name: keyof typeof SIGNALS): void => {
      arrivals.push({ signal: SIGNALS[name], at: performance.now(), turns: 0 })
      if (arrivals.length === 1) setImmediate(turn)
    }
    for (const name of signalNames()) process.on(name, listen)
    return () => {
      arrivals.length = 0
      for (const name of signalNames()) process.off(name, listen)
    }
  }

  exit(code: number): never {
    process.exit(code)
  }
}

function signalNames(): (keyof typeof SIGNALS)[] {
  return ['SIGINT', 'SIGTERM', 'SIGHUP']
}

function isDue({ at, turns }: Arrival): boolean {
  return turns >= TURNS && performance.now() >= at + MOMENT_MS
}
