/**
 * The head of the audit chain, and where its lines lie. A line is given its number as it is submitted; a write that
 * fails takes every line after it along, so the chain goes on from the last that is durable.
 */
import { type AuditFacts, auditLineHash, encodeAuditLine, type LineRange, NO_LINE } from '@cairn/clients'
import type { Address } from '@cairn/wire'
import type { ChainPoint } from './record.ts'

/** One place is remembered for this many lines; the rest is read from there. */
const STRIDE = 64

interface LinePosition {
  readonly seq: number
  readonly segment: number
  readonly offset: number
}

export function seqOf(line: string): number {
  return (JSON.parse(line) as { readonly seq: number }).seq
}

export class AuditChain {
  #submitted: ChainPoint = { count: 0, head: NO_LINE }
  #durable: ChainPoint = { count: 0, head: NO_LINE }
  #anchored: ChainPoint = { count: 0, head: NO_LINE }
  #anchorIndex: number | undefined
  /** Lines up to this one were let go of. */
  #base = 0
  #places: LinePosition[] = []
  /** Lines that are not where they should be, between others that are. */
  #gaps: LineRange[] = []
  #adopted = 0

  /** Lines that are durable. */
  get count(): number {
    return this.#durable.count
  }

  get head(): Address {
    return this.#durable.head
  }

  get point(): ChainPoint {
    return this.#durable
  }

  /** Where the next line goes. */
  get submitted(): ChainPoint {
    return this.#submitted
  }

  get anchored(): ChainPoint {
    return this.#anchored
  }

  /** Where in the registry's log the newest anchor is. */
  get anchorIndex(): number | undefined {
    return this.#anchorIndex
  }

  /** The first line that is still here. */
  get first(): number {
    return this.#base + 1
  }

  /** Lines that the next ones should follow and that cannot be read. */
  get gaps(): readonly LineRange[] {
    return this.#gaps
  }

  /** What is known of lines up to this one was given up with them. */
  get adopted(): number {
    return this.#adopted
  }

  /** Whether the chain has something in line that is not durable yet. */
  get isBusy(): boolean {
    return this.#submitted.count !== this.#durable.count
  }

  /** The next lines, in order. Nothing has changed yet: `advance` once they are in line. */
  draft(
    facts: readonly AuditFacts[],
    after: ChainPoint = this.#submitted,
  ): { readonly lines: readonly string[]; readonly end: ChainPoint } {
    let { count, head } = after
    const lines = facts.map((each) => {
      count += 1
      const bytes = encodeAuditLine({ ...each, seq: count, prev: head })
      head = auditLineHash(bytes)
      return new TextDecoder().decode(bytes)
    })
    return { lines, end: { count, head } }
  }

  advance(end: ChainPoint): void {
    this.#submitted = end
  }

  /** Nothing that was in line counts. */
  failed(): void {
    this.#submitted = this.#durable
  }

  /** Lines are durable, in a record at this place. */
  fold(lines: readonly string[], segment: number, offset: number): void {
    for (const line of lines) {
      const seq = seqOf(line)
      const last = this.#places.at(-1)
      if (last === undefined) this.#base = Math.max(this.#base, seq - 1)
      else if (seq > this.#durable.count + 1) this.#gaps.push({ first: this.#durable.count + 1, last: seq - 1 })
      if (last?.segment !== segment || seq - last.seq >= STRIDE) this.#places.push({ seq, segment, offset })
      this.#durable = { count: seq, head: auditLineHash(new TextEncoder().encode(line)) }
    }
    if (this.#submitted.count < this.#durable.count) this.advance(this.#durable)
  }

  /** Lines up to this one are not here any more; `point` is the end of the chain if none is left at all. */
  foldBase(point: ChainPoint): void {
    if (point.count <= this.#durable.count) return
    this.#durable = point
    this.#submitted = point
    this.#base = point.count
  }

  /** A line was written that gives up what is missing before it: the chain goes on from this point. */
  foldAdoption(point: ChainPoint, line: string, segment: number, offset: number): void {
    if (this.#places.length === 0) this.#base = Math.max(this.#base, point.count)
    this.#durable = point
    this.fold([line], segment, offset)
    this.advance(this.#durable)
    this.#gaps = []
    this.#adopted = point.count
  }

  foldAnchor(point: ChainPoint, logIndex: number): void {
    this.#anchored = point
    this.#anchorIndex = logIndex
  }

  /** The segment is gone, and those before it. */
  forget(segment: number): void {
    this.#places = this.#places.filter((place) => place.segment > segment)
    const [first] = this.#places
    this.#base = first === undefined ? this.#durable.count : first.seq - 1
  }

  /** Where to begin reading for this line; nothing if it is not here. */
  placeOf(seq: number): LinePosition | undefined {
    let found: LinePosition | undefined
    for (const place of this.#places) {
      if (place.seq > seq) break
      found = place
    }
    return found ?? this.#places[0]
  }
}
