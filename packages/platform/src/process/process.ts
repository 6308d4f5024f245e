/** The process we run in. */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the heap of this process, threads included, near what it needs. Left to itself the engine gives new objects up
 * to 64 MiB, and lets a heap of 30 MiB grow to 130 before it looks at it again: under a stream that makes much garbage
 * and keeps nothing, all of that is used.
 *
 * Beside the engine's memory saver: new space does not grow, and one thread collects it, since waking others to look at
 * next to nothing costs more than it saves.
 */
export function keepHeapSmall(): void {
  for (const flag of ['--memory-saver-mode', '--semi-space-growth-factor=1', '--no-parallel-scavenge']) {
    setFlagsFromString(flag)
  }
}

/** How many files and connections this process may have open; nothing where the system does not say. */
export function openFilesLimit(read: () => string = readLimits): number | undefined {
  let text: string
  try {
    text = read()
  } catch {
    return undefined
  }
  return softLimitIn(text)
}

function readLimits(): string {
  return readFileSync('/proc/self/limits', 'latin1')
}

/** Node raises the soft limit to the hard one when it starts, so the first number is the one that counts. */
function softLimitIn(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1]
  return soft === undefined ? undefined : Number(soft)
}

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

/** The process this code runs in. Without a listener, signals do what the system says: they end it. */
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

export type Signal = 'interrupt' | 'terminate' | 'hangup'

export interface HostProcess {
  readonly pid: number
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Calls back for every signal until the returned function is called. */
  onSignal(hear: (signal: Signal) => void): () => void
  /** Ends the process. Only the composition root calls it. */
  exit(code: number): never
}
