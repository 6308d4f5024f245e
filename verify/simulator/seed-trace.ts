import type { VirtualClock } from '@cairn/kernel/testing'

/** The events of one seed in order, with their virtual time, for a failure report. */
export class SeedTrace {
  readonly #clock: VirtualClock
  readonly #lines: string[] = []

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  tell(line: string): void {
    this.#lines.push(`${(this.#clock.now() / 1000).toFixed(3).padStart(8)} s  ${line}`)
  }

  get lines(): readonly string[] {
    return this.#lines
  }
}
