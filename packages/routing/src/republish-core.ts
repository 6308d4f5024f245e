/**
 * When to announce again to the DHT what we hold: everything every 12 hours, one at a time, evenly.
 *
 *     fresh    never announced; goes first
 *     failed   reached no peer; again after 5 minutes              ──▶ take ──▶ announced ──┐
 *     waiting  announced; again 12 hours after that                                         │
 *        ▲                                                                                  │
 *        └──────────────────────────────────────────────────────────────────────────────────┘
 *
 * Between two takes lies at least one interval of the pace, so a thousand objects that arrive at once leave as slowly
 * as any others, and return 12 hours later just as far apart. The pace grows with the number of objects: a full round
 * never takes longer than half the time a record lasts, even if every object was announced once more because it failed.
 *
 * Each line is in order of due time by itself: a new key is due a constant time after now.
 */
import type { Address } from '@cairn/wire'
import { REPUBLISH_MS } from './record.ts'

/** Objects in a second, however few there are. */
const PACE_MIN_PER_S = 4
const RETRY_MS = 300_000
/** Room for retries: the pace is this much faster than a round needs. */
const HEADROOM = 2

export interface RepublishCore {
  readonly fresh: DueQueue
  readonly failed: DueQueue
  readonly waiting: DueQueue
  /** Taken and neither told nor failed yet. */
  readonly taken: Set<Address>
  /** No take before this. */
  nextAt: number
}

export function createRepublish(now: number): RepublishCore {
  return { fresh: createDueQueue(), failed: createDueQueue(), waiting: createDueQueue(), taken: new Set(), nextAt: now }
}

/** Announces this object from now on; does nothing if it is announced already. */
export function add(core: RepublishCore, key: Address, now: number): void {
  if (core.taken.has(key) || linesOf(core).some(({ pending: living }) => living.has(key))) return
  enqueue(core.fresh, key, now)
}

/** Stops announcing this object. */
export function remove(core: RepublishCore, key: Address): void {
  for (const line of linesOf(core)) discard(line, key)
  core.taken.delete(key)
}

export function size(core: RepublishCore): number {
  return linesOf(core).reduce((sum, { pending: living }) => sum + living.size, core.taken.size)
}

/** Milliseconds between two takes. */
export function paceMs(core: RepublishCore): number {
  const perSecond = Math.max(PACE_MIN_PER_S, (HEADROOM * size(core) * 1000) / REPUBLISH_MS)
  return 1000 / perSecond
}

/** Takes the next object to announce, if it is time; the caller reports its end with `announced` or `failed`. */
export function take(core: RepublishCore, now: number): Address | undefined {
  if (now < core.nextAt) return undefined
  const next = linesOf(core)
    .map(first)
    .find((entry) => entry !== undefined && entry.due <= now)
  if (next === undefined) return undefined
  remove(core, next.key)
  core.taken.add(next.key)
  core.nextAt = now + paceMs(core)
  return next.key
}

/** Milliseconds until `take` may have something; undefined while there is nothing to wait for. */
export function delayMs(core: RepublishCore, now: number): number | undefined {
  const due = Math.min(...linesOf(core).map((line) => first(line)?.due ?? Infinity))
  return due === Infinity ? undefined : Math.max(0, core.nextAt - now, due - now)
}

export function announced(core: RepublishCore, key: Address, now: number): void {
  if (core.taken.delete(key)) enqueue(core.waiting, key, now + REPUBLISH_MS)
}

export function failed(core: RepublishCore, key: Address, now: number): void {
  if (core.taken.delete(key)) enqueue(core.failed, key, now + RETRY_MS)
}

/** In the order in which they are served. */
function linesOf({ fresh, failed: again, waiting }: RepublishCore): readonly DueQueue[] {
  return [fresh, again, waiting]
}

// * Keys in the order in which they came, each with the time it is due; any of them can be taken out.
//
//     entries  [ × × k3 × k5 k6 ]      × was taken out: skipped when it comes to the head,
//                     ▲ head           so that no step looks at more than it removes
//     living   k3 k5 k6
//
// A new key is due no earlier than those before it, so the head is always the first to be due.

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

function createDueQueue(): DueQueue {
  return { entries: [], head: 0, pending: new Map() }
}

function enqueue(line: DueQueue, key: Address, due: number): void {
  const entry = { key, due }
  line.entries.push(entry)
  line.pending.set(key, entry)
}

function discard(line: DueQueue, key: Address): void {
  line.pending.delete(key)
}

function first(line: DueQueue): DueEntry | undefined {
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
