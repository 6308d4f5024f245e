import type { Place } from '@cairn/store'
import { NumberColumn } from './columns.ts'

/** Marks a number whose record is not in the journal any more. */
const NOWHERE = -1

/** Where records lie in the journal, by a running number. */
export class Places {
  readonly #segments = new NumberColumn()
  readonly #offsets = new NumberColumn()
  readonly #lengths = new NumberColumn()

  get length(): number {
    return this.#segments.length
  }

  push(place: Place | undefined): void {
    this.#segments.push(place?.segment ?? NOWHERE)
    this.#offsets.push(place?.offset ?? 0)
    this.#lengths.push(place?.length ?? 0)
  }

  remove(row: number): void {
    this.#segments.set(row, NOWHERE)
  }

  /** Where the record is; nothing if it was removed. */
  at(row: number): Place | undefined {
    const segment = this.#segments.at(row)
    if (segment === NOWHERE) return undefined
    return { segment, offset: this.#offsets.at(row), length: this.#lengths.at(row) }
  }
}
