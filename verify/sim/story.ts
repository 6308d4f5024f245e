import type { VirtualClock } from '@cairn/kernel'

/** What happened in a town, in order and in words. */
export class Story {
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
