/** Where the checkpoints of the log lie in its journal, in the order they were written: sizes never go down. */
import type { Place } from '@cairn/store'
import { NumberColumn } from './columns.ts'
import { Places } from './places.ts'

export class Checkpoints {
  readonly #sizes = new NumberColumn()
  readonly #places = new Places()

  /** The next checkpoint, of so many entries. */
  push(size: number, place: Place): void {
    this.#sizes.push(size)
    this.#places.push(place)
  }

  /** The checkpoints of exactly so many entries, the oldest first. */
  of(size: number): Place[] {
    const found: Place[] = []
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
