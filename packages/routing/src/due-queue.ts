/**
 * Keys in the order in which they came, each with the time it is due; any of them can be taken out.
 *
 *     entries  [ × × k3 × k5 k6 ]      × was taken out: skipped when it comes to the head,
 *                     ▲ head           so that no step looks at more than it removes
 *     living   k3 k5 k6
 *
 * A new key is due no earlier than those before it, so the head is always the first to be due.
 */
import type { Address } from '@cairn/wire'

interface DueEntry {
  readonly key: Address
  readonly due: number
}

export interface DueQueue {
  readonly entries: DueEntry[]
  head: number
  readonly pending: Map<Address, DueEntry>
}

const COMPACT_AT = 1024

export function createDueQueue(): DueQueue {
  return { entries: [], head: 0, pending: new Map() }
}

export function enqueue(line: DueQueue, key: Address, due: number): void {
  const entry = { key, due }
  line.entries.push(entry)
  line.pending.set(key, entry)
}

export function discard(line: DueQueue, key: Address): void {
  line.pending.delete(key)
}

export function first(line: DueQueue): DueEntry | undefined {
  for (; line.head < line.entries.length; line.head += 1) {
    const entry = line.entries[line.head]
    if (entry !== undefined && line.pending.get(entry.key) === entry) break
  }
  if (line.head >= COMPACT_AT && line.head * 2 >= line.entries.length) {
    line.entries.splice(0, line.head)
    line.head = 0
  }
  return line.entries[line.head]
}
