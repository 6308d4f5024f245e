/**
 * Keys in the order in which they came, each with the time it is due; any of them can be taken out.
 *
 *     entries  [ × × k3 × k5 k6 ]      × was taken out: skipped when it comes to the head,
 *                     ▲ head           so that no step looks at more than it removes
 *     living   k3 k5 k6
 *
 * Whoever joins is due no earlier than those before, so the head is always the first to be due.
 */
import type { Address } from '@cairn/wire'

interface Entry {
  readonly key: Address
  readonly due: number
}

export interface DueLine {
  readonly entries: Entry[]
  head: number
  readonly living: Map<Address, Entry>
}

const COMPACT_AT = 1024

export function createLine(): DueLine {
  return { entries: [], head: 0, living: new Map() }
}

export function join(line: DueLine, key: Address, due: number): void {
  const entry = { key, due }
  line.entries.push(entry)
  line.living.set(key, entry)
}

export function leave(line: DueLine, key: Address): void {
  line.living.delete(key)
}

export function first(line: DueLine): Entry | undefined {
  for (; line.head < line.entries.length; line.head += 1) {
    const entry = line.entries[line.head]
    if (entry !== undefined && line.living.get(entry.key) === entry) break
  }
  if (line.head >= COMPACT_AT && line.head * 2 >= line.entries.length) {
    line.entries.splice(0, line.head)
    line.head = 0
  }
  return line.entries[line.head]
}
