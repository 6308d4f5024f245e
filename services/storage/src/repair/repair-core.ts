/**
 * What has to be done about one object, given what every target knows of it.
 *
 *     newest is an object ─▶ the targets it belongs on and is not, or only as it was before: copies, from the first
 *                         ─▶ proved on all of those: other copies of this node are let go of
 *                         ─▶ who holds one copy, and not another: holds that one too
 *     newest is a delete  ─▶ whoever has an older copy, and enough others to remember it
 *
 * Every node plans for what it holds. Of those that hold an object the first in the placement makes the copies, so that
 * two nodes that agree on who is there do not make the same one twice.
 */
import type { BucketShape } from '@cairn/kernel'
import { chooseCopies } from '../placement/placement-core.ts'
import type { KnownCopy } from '../targets/target.ts'
import { newestOf, ownersOf } from '../targets/version-core.ts'

/** A target in the placement order of the object. */
export interface TargetFacts {
  readonly node: string
  readonly domain: string
  readonly isWritable: boolean
  /** Away for so long that it comes back empty, if it does. */
  readonly isExpired: boolean
  /** `undefined` if it did not answer. */
  readonly known: KnownCopy | undefined
}

export type RepairStep<T> =
  | { readonly tag: 'copy'; readonly from: T; readonly to: T; readonly isUrgent: boolean }
  | { readonly tag: 'hold'; readonly at: T }
  | {
      readonly tag: 'delete'
      readonly at: T
      readonly version: number
      /** The statement to show for it, if the newest tombstone has one. */
      readonly record: Uint8Array | undefined
      /** As many know of it as of any delete that is acknowledged: it goes although it is held there. */
      readonly isAgreed: boolean
    }
  | { readonly tag: 'drop'; readonly at: T; readonly version: number }

export interface ObjectVerdict<T> {
  readonly newest: KnownCopy
  /** Failure domains with a copy. */
  readonly copies: number
  /** Those of them whose copy was read and hashed. */
  readonly proved: number
  readonly steps: readonly RepairStep<T>[]
  /** Whoever holds one copy holds all that answered. */
  readonly isHeldAlike: boolean
  /** A delete that everybody who could contradict it knows of. */
  readonly isSettled: boolean
}

export interface JudgedBy {
  readonly node: string
  /** Copies an object should have. */
  readonly copies: number
  /** Somebody asked this node about the object: it makes the copies, whoever holds them. */
  readonly isAsked?: boolean
}

export function judge<T extends TargetFacts>(order: readonly T[], by: JudgedBy): ObjectVerdict<T> {
  const newest = newestOf(order.map(({ known }) => known ?? { tag: 'absent' }))
  const holders = order.filter(({ known }) => isCopyLike(known, newest))
  const proved = holders.filter(({ known }) => known?.tag === 'object' && known.isProved)
  const unheld = copiesToHold(order, by)
  const isHeldAlike = unheld.length === 0
  const facts = { newest, copies: domainsOf(holders), proved: domainsOf(proved), isHeldAlike }
  switch (newest.tag) {
    case 'absent':
      return { ...facts, steps: [], isSettled: false }
    case 'tombstone':
      return { ...facts, ...burials(order, newest, by) }
    case 'object':
      return {
        ...facts,
        steps: [
          ...copiesToMake(order, holders, newest.version, by),
          ...unheld.filter(({ isWritable }) => isWritable).map((at) => ({ tag: 'hold', at }) as const),
          ...(isHeldAlike ? copiesToDrop(order, newest.version, by) : []),
        ],
        isSettled: false,
      }
  }
}

function copiesToMake<T extends TargetFacts>(
  order: readonly T[],
  holders: readonly T[],
  version: number,
  { node, copies, isAsked = false }: JudgedBy,
): RepairStep<T>[] {
  const from = holders.find(({ known }) => isCopy(known, version))
  if (from === undefined || (from.node !== node && !isAsked)) return []
  const wanted = chooseCopies(order, copies, (each) => each.isWritable || holders.includes(each))
  const isUrgent = domainsOf(holders) <= 1
  return wanted
    .filter(({ known, isWritable }) => known !== undefined && isWritable && !isCopy(known, version))
    .map((to) => ({ tag: 'copy', from, to, isUrgent }))
}

/**
 * A target that was away when somebody came to hold the object does not know it. Each node gives the others the holds it
 * has itself: one that a peer only tells of may be made up, and would keep the object for good.
 */
function copiesToHold<T extends TargetFacts>(order: readonly T[], { node }: JudgedBy): T[] {
  const owners = ownersOf(order.filter((each) => each.node === node).map(({ known }) => known))
  return order.filter(({ known }) => known?.tag === 'object' && owners.some((owner) => !isHeldBy(known, owner)))
}

function isHeldBy({ owners = [] }: KnownCopy & { readonly tag: 'object' }, owner: string): boolean {
  return owners.includes(owner)
}

/** A copy made while a target was away is one too many once that target is back, and its copy was read and hashed. */
function copiesToDrop<T extends TargetFacts>(
  order: readonly T[],
  version: number,
  { node, copies }: JudgedBy,
): RepairStep<T>[] {
  const home = chooseCopies(order, copies, () => true)
  const isSafe = home.length === copies && home.every(({ known }) => isCopy(known, version) && known.isProved)
  if (!isSafe) return []
  return order
    .filter((each) => each.node === node && each.isWritable && !home.includes(each))
    .flatMap((at) => (isCopy(at.known, version) || isShare(at.known) ? dropOf(at) : []))
}

/** Whether it is what the newest is: shards of an older encoding are no copy, and a copy is no shard of a newer one. */
function isCopyLike(known: KnownCopy | undefined, newest: KnownCopy): boolean {
  return known?.tag === 'object' && isShare(known) === isShare(newest)
}

export function isShare(known: KnownCopy | undefined): boolean {
  return known?.tag === 'object' && known.isStriped === true
}

export function dropOf<T extends TargetFacts>(at: T): RepairStep<T>[] {
  return at.known?.tag === 'object' ? [{ tag: 'drop', at, version: at.known.version }] : []
}

function isCopy(known: KnownCopy | undefined, version: number): known is KnownCopy & { readonly tag: 'object' } {
  return known?.tag === 'object' && known.version === version
}

function burials<T extends TargetFacts>(
  order: readonly T[],
  { version, record }: KnownCopy & { readonly tag: 'tombstone' },
  { node, copies }: JudgedBy,
): Pick<ObjectVerdict<T>, 'steps' | 'isSettled'> {
  const writable = order.filter(({ isWritable, known }) => isWritable && known !== undefined)
  const knowers = order.filter(({ known }) => known?.tag === 'tombstone' && known.version >= version)
  const enough = Math.min(copies, order.length)
  // A hold that outlived its release: this node ends it only if the delete may have been acknowledged without it.
  const isAgreed = domainsOf(knowers) >= enough
  const mayGo = (at: T): boolean => !isHeld(at.known) || (at.node === node && isAgreed)
  const stale = writable.filter(({ known }) => known?.tag === 'object')
  const lacking = Math.max(0, enough - knowers.length - stale.length)
  const others = writable.filter(({ known }) => known?.tag !== 'object' && !isAsNew(known, version)).slice(0, lacking)
  const steps = [...stale.filter(mayGo), ...others].map(
    (at) => ({ tag: 'delete', at, version, record, isAgreed }) as const,
  )
  return { steps, isSettled: order.every(isNoObjection) }
}

function isHeld(known: KnownCopy | undefined): boolean {
  return known?.tag === 'object' && (known.owners ?? []).length > 0
}

/** A target that holds no copy, or will not when it is back. */
function isNoObjection({ known, isExpired }: TargetFacts): boolean {
  return known === undefined ? isExpired : known.tag !== 'object'
}

function isAsNew(known: KnownCopy | undefined, version: number): boolean {
  return known?.tag === 'tombstone' && known.version >= version
}

function domainsOf(targets: readonly TargetFacts[]): number {
  return new Set(targets.map(({ domain }) => domain)).size
}

/** Bytes of a repair that are moved at once, right after they were paid for; fewer if the budget is small. */
const RUN_BYTES_MAX = 256 * 1024

/**
 * A bucket with which no more than the budget is moved in any second: what is saved up, what comes in while it is spent,
 * and one run that was paid for in part before are the budget together.
 */
export function repairBudget(bytesPerSecond: number): BucketShape & { readonly runBytes: number } {
  const burst = Math.floor(bytesPerSecond / 8)
  const runBytes = Math.min(RUN_BYTES_MAX, Math.floor(bytesPerSecond / 4))
  return { rate: bytesPerSecond - burst - runBytes, burst, runBytes }
}
