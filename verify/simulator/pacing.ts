/**
 * Repairs keep to their budget: what a storage sends to the others while clients are still, in any second.
 *
 *     sent     ▌  ▌▌   ▌      ▌ ▌▌
 *     a second ├──────────┤              never more than the budget in it, wherever it begins
 */
import type { Packet } from '../virtual/network/links.ts'

const WINDOW_MS = 1000
/** Lists of chunks are sent as well, and not paid for. */
const OVERHEAD = 1.05
/** Of a storage to another: a copy, chunks of one, or what makes a copy of them. */
const COPYING = /^request (?:PUT|POST) :7071 \/(?:o\/|c\?)\S* with (\d+) bytes$/

interface Sending {
  readonly at: number
  readonly from: string
  readonly bytes: number
}

export class Pacing {
  readonly #bytesPerSecond: number
  #sendings: Sending[] | undefined

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond
  }

  /** From now on nobody but repairs sends anything to a storage, until `check`. */
  watch(): void {
    this.#sendings = []
  }

  see({ from, to, what }: Packet, at: number): void {
    const [, bytes] = this.#sendings === undefined || from === to ? [] : (COPYING.exec(what) ?? [])
    if (bytes !== undefined) this.#sendings?.push({ at, from, bytes: Number(bytes) })
  }

  check(): void {
    const sendings = this.#sendings ?? []
    this.#sendings = undefined
    for (const name of new Set(sendings.map(({ from }) => from))) {
      const most = mostInASecond(sendings.filter(({ from }) => from === name))
      if (most > OVERHEAD * this.#bytesPerSecond)
        throw new Error(`${name} sent ${most} bytes of repairs in a second, and has ${this.#bytesPerSecond}.`)
    }
  }
}

function mostInASecond(sendings: readonly Sending[]): number {
  return Math.max(
    ...sendings.map(({ at: from }) =>
      sendings.filter(({ at }) => at >= from && at < from + WINDOW_MS).reduce((sum, { bytes }) => sum + bytes, 0),
    ),
  )
}
