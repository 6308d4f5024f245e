/** What came of a seed, in words. */
import { Matrix } from './matrix.ts'
import type { SeedReport } from './simulate-seed.ts'
import { Tally } from './tally.ts'

/** What came of several. */
export class Summary {
  readonly matrix = new Matrix()
  readonly #tally = new Tally()
  #seeds = 0
  #faults = 0
  #virtualMs = 0

  add({ matrix, tallies, faults, virtualMs }: SeedReport): void {
    this.#seeds += 1
    this.#faults += faults
    this.#virtualMs += virtualMs
    this.matrix.add(matrix)
    for (const { operations, acknowledged, refused, unsure } of Object.values(tallies)) {
      this.#tally.operations += operations
      this.#tally.acknowledged += acknowledged
      this.#tally.refused += refused
      this.#tally.unsure += unsure
    }
  }

  /** One line of figures. */
  get line(): string {
    const { operations, acknowledged, refused, unsure } = this.#tally
    const hours = (this.#virtualMs / 3_600_000).toFixed(2)
    return `${this.#seeds} seeds, ${hours} virtual hours, ${this.#faults} faults that struck, ${operations} operations: ${acknowledged} acknowledged, ${refused} refused, ${unsure} unsure`
  }
}

/** A failure as somebody reads it who has to find its cause. */
export function failureText(seed: number, message: string, trace: readonly string[]): string {
  return [
    `seed ${seed} failed: ${message}`,
    ...trace,
    `  repeat it:      node verify/simulator/main.ts --seed ${seed}`,
    `  make it small:  node verify/simulator/main.ts --seed ${seed} --minimise`,
  ].join('\n')
}
