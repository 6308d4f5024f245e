/**
 * Which records each segment is known to hold, by id: in its side file up to some place, and in memory from there on.
 *
 *     segment   │ header │ ········· covered by the side file ········· │ ···· unlisted, in memory ···· │ end
 */
import { SEGMENT_HEADER_BYTES } from '../journal/format.ts'
import { createUnlisted, type ListedFacts, noteRecord, restOf, type Unlisted } from './entry-lists.ts'
import type { SideFileFoot } from './side-file-core.ts'

export class SegmentLists {
  readonly #sides = new Map<number, SideFileFoot>()
  readonly #unlisted = new Map<number, Unlisted>()

  side(segment: number): SideFileFoot | undefined {
    return this.#sides.get(segment)
  }

  unlisted(segment: number): Unlisted | undefined {
    return this.#unlisted.get(segment)
  }

  /** Bytes of what is in memory. */
  get bytes(): number {
    return [...this.#unlisted.values()].reduce(
      (sum, { entries, links }) => sum + entries.bytes.length + links.bytes.length,
      0,
    )
  }

  /** A record that was appended to the segment. */
  note(segment: number, record: ListedFacts, object: Uint8Array | undefined): void {
    let list = this.#unlisted.get(segment)
    if (list === undefined) {
      list = createUnlisted(this.#sides.get(segment)?.coveredEnd ?? SEGMENT_HEADER_BYTES)
      this.#unlisted.set(segment, list)
    }
    noteRecord(list, record, object)
  }

  /** A side file that is sound as far as it was read. */
  found(foot: SideFileFoot): void {
    this.#sides.set(foot.number, foot)
  }

  /** What a scan found, from where the side file ends or the segment begins. Records may have been appended since. */
  scanned(segment: number, list: Unlisted): void {
    const since = this.#unlisted.get(segment)
    if (list.from === SEGMENT_HEADER_BYTES) this.#sides.delete(segment)
    this.#unlisted.set(segment, since === undefined ? list : joined(list, since))
  }

  /** A new side file has what the first so many items of this list said. */
  written(foot: SideFileFoot, list: Unlisted, entries: number, links: number, isSealed: boolean): void {
    // Read again meanwhile: then what was written is not what is known now, and is written once more.
    if (this.#unlisted.get(foot.number) !== list) return
    this.#sides.set(foot.number, foot)
    const rest = restOf(list, foot.coveredEnd, entries, links)
    if (isSealed && rest.entries.count === 0) this.#unlisted.delete(foot.number)
    else this.#unlisted.set(foot.number, rest)
  }

  forget(segment: number): void {
    this.#sides.delete(segment)
    this.#unlisted.delete(segment)
  }
}

/** A record may be in both: only one of them counts where they are read. */
function joined(first: Unlisted, second: Unlisted): Unlisted {
  const list = restOf(first, first.from, 0, 0)
  const rest = restOf(second, second.from, 0, 0)
  for (const kind of ['entries', 'links'] as const) {
    const { bytes, itemBytes } = rest[kind]
    for (let at = 0; at < bytes.length; at += itemBytes) {
      const item = list[kind].add()
      item.bytes.set(bytes.subarray(at, at + itemBytes), item.at)
    }
  }
  if (second.end > list.end) {
    list.end = second.end
    list.last = second.last
  }
  return list
}
