/**
 * Whether an object may be removed, as far as its holds go; asked in the step in which its tombstone is put in line.
 *
 *     hold    in line ─▶ durable: in the index in that step ─▶ released: a tombstone, durable
 *             └────────────────── it counts ──────────────┘
 *
 * While some segment was not read yet a hold may be in there: then the answer is neither yes nor no.
 */

export interface HoldsCore {
  /** Owners whose holds are in line, by object and by turn. */
  readonly coming: Map<string, Map<number, readonly string[]>>
  turn: number
}

export type HoldVerdict = 'free' | 'held' | 'unknown'

export interface HoldCount {
  /** Holds of the object that are durable and not released. */
  readonly durable: number
  /** The holds of every segment were read. */
  readonly isComplete: boolean
}

export function createHolds(): HoldsCore {
  return { coming: new Map(), turn: 0 }
}

/** These holds are in line from now on. Returns what to end them with. */
export function begin(core: HoldsCore, object: string, owners: readonly string[]): number {
  core.turn += 1
  const coming = core.coming.get(object) ?? new Map<number, readonly string[]>()
  core.coming.set(object, coming.set(core.turn, owners))
  return core.turn
}

/** They failed, or are durable and in the index. */
export function settle(core: HoldsCore, object: string, turn: number): void {
  const coming = core.coming.get(object)
  coming?.delete(turn)
  if (coming?.size === 0) core.coming.delete(object)
}

export function ownersComing(core: HoldsCore, object: string): string[] {
  return [...(core.coming.get(object)?.values() ?? [])].flat()
}

export function judge(core: HoldsCore, object: string, { durable, isComplete }: HoldCount): HoldVerdict {
  if (core.coming.has(object)) return 'held'
  if (durable > 0) return 'held'
  return isComplete ? 'free' : 'unknown'
}
