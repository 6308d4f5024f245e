/** Long lists of small things, packed: a million of them are tens of megabytes and nothing for the garbage collector. */
import { CairnError } from '@cairn/kernel'
import type { RecordPlace } from '@cairn/store'

// Where the checkpoints of the log lie in its journal, in the order they were written: sizes never go down.

export class Checkpoints {
  readonly #sizes = new NumberColumn()
  readonly #places = new RecordPositions()

  /** The next checkpoint, of so many entries. */
  push(size: number, place: RecordPlace): void {
    this.#sizes.push(size)
    this.#places.push(place)
  }

  /** The checkpoints of exactly so many entries, the oldest first. */
  of(size: number): RecordPlace[] {
    const found: RecordPlace[] = []
    for (let row = this.#first(size); row < this.#sizes.length && this.#sizes.at(row) === size; row += 1) {
      const place = this.#places.at(row)
      if (place !== undefined) found.push(place)
    }
    return found
  }

  /** The first row of this size or above. */
  #first(size: number): number {
    let [low, high] = [0, this.#sizes.length]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (this.#sizes.at(middle) >= size) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** Marks a number whose record is not in the journal any more. */
const NOWHERE = -1

/** Where records lie in the journal, by a running number. */
export class RecordPositions {
  readonly #segments = new NumberColumn()
  readonly #offsets = new NumberColumn()
  readonly #lengths = new NumberColumn()

  get length(): number {
    return this.#segments.length
  }

  push(place: RecordPlace | undefined): void {
    this.#segments.push(place?.segment ?? NOWHERE)
    this.#offsets.push(place?.offset ?? 0)
    this.#lengths.push(place?.length ?? 0)
  }

  remove(row: number): void {
    this.#segments.set(row, NOWHERE)
  }

  /** Where the record is; nothing if it was removed. */
  at(row: number): RecordPlace | undefined {
    const segment = this.#segments.at(row)
    if (segment === NOWHERE) return undefined
    return { segment, offset: this.#offsets.at(row), length: this.#lengths.at(row) }
  }
}

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
