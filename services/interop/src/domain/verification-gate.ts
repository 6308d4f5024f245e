/**
 * How many webhooks of one address are read and verified at once. A flood of bad signatures from one place keeps out
 * nobody but itself; only addresses with a request open have an entry.
 */
import { refusal } from '../errors.ts'

export class VerificationGate {
  readonly #max: () => number
  readonly #open = new Map<string, number>()

  constructor(max: () => number) {
    this.#max = max
  }

  /** A seat for this address, given back when disposed; `RATE_LIMIT` if it has as many as it may. */
  enter(address: string): Disposable {
    const open = this.#open.get(address) ?? 0
    const max = this.#max()
    if (open >= max) {
      throw refusal('RATE_LIMIT', `${max} webhooks of this address are being verified; send fewer at once.`, 1000)
    }
    this.#open.set(address, open + 1)
    let isHeld = true
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        const left = (this.#open.get(address) ?? 1) - 1
        if (left === 0) this.#open.delete(address)
        else this.#open.set(address, left)
      },
    }
  }

  get addresses(): number {
    return this.#open.size
  }
}
