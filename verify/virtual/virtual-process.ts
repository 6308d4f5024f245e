import { CairnError } from '@cairn/kernel'
import type { HostProcess, Signal } from '@cairn/platform'

/** What a shell reports of a process that a signal ended. */
const EXIT_CODES: Readonly<Record<Signal, number>> = { hangup: 129, interrupt: 130, terminate: 143 }

/** The process of one life. `send` is the operator's side: it delivers a signal. */
export class VirtualProcess implements HostProcess {
  readonly pid: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly #hearers = new Set<(signal: Signal) => void>()
  readonly #onExit: (code: number) => void

  constructor(pid: number, environment: Readonly<Record<string, string | undefined>>, onExit: (code: number) => void) {
    this.pid = pid
    this.environment = environment
    this.#onExit = onExit
  }

  onSignal(hear: (signal: Signal) => void): () => void {
    const own = (signal: Signal): void => hear(signal)
    this.#hearers.add(own)
    return () => {
      this.#hearers.delete(own)
    }
  }

  /** Delivers a signal; like a real process, one that nobody listens for ends it. */
  send(signal: Signal): void {
    if (this.#hearers.size === 0) this.#onExit(EXIT_CODES[signal])
    for (const hear of this.#hearers) hear(signal)
  }

  exit(code: number): never {
    this.#onExit(code)
    throw new CairnError('Canceled', `The process ended with ${code}.`)
  }
}
