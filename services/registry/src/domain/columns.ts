/** Long lists of small things, packed: a million of them are tens of megabytes and nothing for the garbage collector. */
import { CairnError } from '@cairn/kernel'

const FIRST_ROWS = 1024

/** Equal-sized byte strings, one after the other. What was handed out stays as it is when the column grows. */
export class BytesColumn {
  readonly #width: number
  #bytes: Uint8Array
  #rows = 0

  constructor(width: number) {
    this.#width = width
    this.#bytes = new Uint8Array(width * FIRST_ROWS)
  }

  get length(): number {
    return this.#rows
  }

  push(row: Uint8Array): void {
    if (row.length !== this.#width) throw new CairnError('Internal', `A row has ${this.#width} bytes.`)
    const at = this.#rows * this.#width
    if (at === this.#bytes.length) {
      const grown = new Uint8Array(2 * this.#bytes.length)
      grown.set(this.#bytes)
      this.#bytes = grown
    }
    this.#bytes.set(row, at)
    this.#rows += 1
  }

  /** Rows `from` up to, not including, `to`; a view. */
  slice(from: number, to: number): Uint8Array {
    if (from < 0 || to > this.#rows || from > to) throw new CairnError('Internal', 'There are no such rows.')
    return this.#bytes.subarray(from * this.#width, to * this.#width)
  }

  at(row: number): Uint8Array {
    return this.slice(row, row + 1)
  }
}

/** Whole numbers up to 2⁵³. */
export class NumberColumn {
  #values = new Float64Array(FIRST_ROWS)
  #rows = 0

  get length(): number {
    return this.#rows
  }

  push(value: number): void {
    if (this.#rows === this.#values.length) {
      const grown = new Float64Array(2 * this.#rows)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.#rows] = value
    this.#rows += 1
  }

  set(row: number, value: number): void {
    if (row >= this.#rows) throw new CairnError('Internal', 'There is no such row.')
    this.#values[row] = value
  }

  at(row: number): number {
    const value = row < this.#rows ? this.#values[row] : undefined
    if (value === undefined) throw new CairnError('Internal', 'There is no such row.')
    return value
  }
}
