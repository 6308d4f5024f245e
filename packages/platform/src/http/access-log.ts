import type { Runtime } from '@cairn/kernel'
import type { Exchange } from './exchange.ts'
import { NO_ROUTE } from './metrics.ts'

/** One line for each request, or for a part of them; failures of ours are never left out. */
export class AccessLog {
  readonly #runtime: Runtime
  #ratio: number
  /** Grows by the ratio with each request; each whole number is a line. Exact over time, and needs no chance. */
  #credit = 0

  constructor(runtime: Runtime, ratio: number) {
    this.#runtime = runtime
    this.#ratio = ratio
  }

  reconfigure(ratio: number): void {
    this.#ratio = ratio
  }

  note(exchange: Exchange, status: number, elapsedMs: number, bytesOut: number | undefined): void {
    this.#credit += this.#ratio
    const isChosen = this.#credit >= 1
    if (isChosen) this.#credit -= 1
    if (!isChosen && status < 500) return
    const { method, corrId, served, peer } = exchange
    const fields = {
      corr_id: corrId,
      method,
      route: served?.route.path ?? NO_ROUTE,
      status,
      latency_ms: Math.round(elapsedMs * 1000) / 1000,
      bytes_out: bytesOut,
      peer: peer.kind === 'unix' ? 'unix' : peer.address,
    }
    this.#runtime.log.info(fields, 'request')
  }
}
