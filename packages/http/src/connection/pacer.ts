import type { Clock, Timer } from '@cairn/kernel'
import type { IngressConfig } from '../pipeline/config.ts'
import { createPace, judge, noteBytes, type PaceLimits, startWaiting, type TransferPace } from './transfer-pace-core.ts'

/** How often waits are looked at; a limit is exceeded by at most this. */
const CHECK_MS = 500

/** A check often enough for short limits too. */
export function checkIntervalMs(limitMs: number): number {
  return Math.min(CHECK_MS, Math.max(1, Math.ceil(limitMs / 4)))
}

/** Bytes going one way between us and one peer. */
export class Transfer {
  readonly op: 'read' | 'write'
  readonly pace: TransferPace = createPace()
  readonly tooSlow: () => void

  /** `tooSlow` must end the transfer. */
  constructor(op: 'read' | 'write', tooSlow: () => void) {
    this.op = op
    this.tooSlow = tooSlow
  }
}

/** Looks after every transfer that waits for its peer, with one timer for all of them. */
export class Pacer {
  readonly #clock: Clock
  readonly #waiting = new Set<Transfer>()
  #config: IngressConfig
  #timer: Timer | undefined

  constructor(clock: Clock, config: IngressConfig) {
    this.#clock = clock
    this.#config = config
  }

  reconfigure(config: IngressConfig): void {
    this.#config = config
  }

  wait(transfer: Transfer): void {
    startWaiting(transfer.pace, this.#clock.now())
    this.#waiting.add(transfer)
    this.#timer ??= this.#clock.timer(this.#checkMs, this.#check)
  }

  /** The peer moved; false if it was too slow, and the transfer has been ended for it. */
  progress(transfer: Transfer, bytes: number): boolean {
    this.#waiting.delete(transfer)
    if (noteBytes(transfer.pace, bytes, this.#limits(transfer), this.#clock.now()) === 'fine') return true
    transfer.tooSlow()
    return false
  }

  /** The transfer is over. */
  drop(transfer: Transfer): void {
    this.#waiting.delete(transfer)
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#waiting.clear()
  }

  get #checkMs(): number {
    return checkIntervalMs(Math.min(this.#config.read_timeout, this.#config.write_timeout))
  }

  #limits({ op }: Transfer): PaceLimits {
    const { read_timeout, write_timeout, min_bytes_per_second, rate_window } = this.#config
    const pauseMs = op === 'read' ? read_timeout : write_timeout
    return { pauseMs, bytesPerSecond: min_bytes_per_second, windowMs: rate_window }
  }

  readonly #check = (): void => {
    this.#timer = undefined
    const now = this.#clock.now()
    for (const transfer of this.#waiting) {
      if (judge(transfer.pace, this.#limits(transfer), now) === 'fine') continue
      this.#waiting.delete(transfer)
      transfer.tooSlow()
    }
    if (this.#waiting.size > 0) this.#timer ??= this.#clock.timer(this.#checkMs, this.#check)
  }
}
