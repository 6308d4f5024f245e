/** Signals on their way to the node; what comes before there is one waits for it. */
import type { HostProcess, Signal } from '@cairn/platform'

/** What a signal can ask of a node. */
export interface Signalled {
  requestStop(): void
  requestReload(source: 'signal'): void
}

export class SignalRelay implements Disposable {
  readonly #host: HostProcess
  readonly #stopListening: () => void
  readonly #waiting: Signal[] = []
  readonly #interruptedCode: number
  #node: Signalled | undefined

  /** Who is told to stop twice before there is a node leaves with `interruptedCode`. */
  constructor(host: HostProcess, interruptedCode: number) {
    this.#host = host
    this.#interruptedCode = interruptedCode
    this.#stopListening = host.onSignal((signal) => this.#hear(signal))
  }

  /** From now on signals go to this node, and those that waited go first. */
  pass(node: Signalled): void {
    this.#node = node
    for (const signal of this.#waiting.splice(0)) this.#hear(signal)
  }

  [Symbol.dispose](): void {
    this.#stopListening()
  }

  #hear(signal: Signal): void {
    if (this.#node === undefined) {
      if (signal !== 'hangup' && this.#waiting.some((earlier) => earlier !== 'hangup'))
        this.#host.exit(this.#interruptedCode)
      this.#waiting.push(signal)
    } else if (signal === 'hangup') this.#node.requestReload('signal')
    else this.#node.requestStop()
  }
}
