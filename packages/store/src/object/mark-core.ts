/**
 * Which chunks are garbage, those that a whole marking round did not reach, and when one of them may be removed.
 *
 *     due ─ begin ─▶ marking ─ every live object record and page read ─▶ whole ─ candidates removed one by one ─▶ over
 *                       └───────── anything unreadable ─▶ blocked: nothing is removed, and the next round begins anew
 *
 *     who sets marks during a round     the round, on what it reaches from live object records
 *                                       a commit, on what its object refers to
 *                                       the index, on every record that is new
 *
 * No reference is ever stored: a stored one may be wrong, and then removes what an object needs.
 */
import { isLeased, type LeaseCore } from '../chunk/lease-core.ts'

/*
 * The way of a chunk to its removal. `mayCondemn` is asked in the step in which its tombstone is put in line.
 *
 *     unmarked in the index ─▶ its record is read back ─▶ mayCondemn ─▶ tombstone in line ─▶ durable ─▶ compaction
 *                                                                          └─ from here on a put writes the chunk anew
 */

export interface CandidateFacts {
  /** The record was read back, is this chunk, and is still the one the index points to. */
  readonly isProved: boolean
  /** Reached since the round began: the candidates were listed some time ago. */
  readonly isMarked: boolean
  /** Nothing about it is in line: a put that is promises the chunk, a removal makes another one pointless. */
  readonly isSettled: boolean
}

export function mayCondemn(
  marks: MarkCore,
  leases: LeaseCore,
  id: string,
  facts: CandidateFacts,
  now: number,
): boolean {
  if (marks.phase !== 'whole') return false
  if (!mayRemoveAt(leases, now)) return false
  if (isLeased(leases, id, now)) return false
  return facts.isProved && facts.isSettled && !facts.isMarked
}

export type RoundPhase = 'idle' | 'marking' | 'whole'

export interface MarkCore {
  phase: RoundPhase
  /** Why this round, or the last one, may remove nothing; the first reason. */
  blockedBy: string | undefined
  /** Grows whenever something durable may have left a chunk without a referrer. A start counts as one. */
  deaths: number
  /** Up to which of them a whole round has looked; what died during a round waits for the next. */
  deathsSeen: number
  deathsAtBegin: number
}

export function createMarks(): MarkCore {
  return { phase: 'idle', blockedBy: undefined, deaths: 1, deathsSeen: 0, deathsAtBegin: 0 }
}

/** Called once the death is durable and in the index: a round that began before may still have met it alive. */
export function died(core: MarkCore): void {
  core.deaths += 1
}

/**
 * Marking costs a read of every object: without a death there is nothing to find. After a start nothing is removed for
 * one lease time: leases of an earlier life may still run, and were forgotten.
 */
export function isDue(core: MarkCore, leases: LeaseCore, now: number): boolean {
  return mayRemoveAt(leases, now) && core.deaths + leases.abandoned > core.deathsSeen
}

function mayRemoveAt(leases: LeaseCore, now: number): boolean {
  return now >= leases.sweepsFrom
}

/** `blindness` says what of the journal cannot be read: whatever is in there may refer to anything. */
export function beginRound(core: MarkCore, leases: LeaseCore, blindness: string | undefined): void {
  core.phase = 'marking'
  core.blockedBy = blindness
  core.deathsAtBegin = core.deaths + leases.abandoned
}

/** Something could not be read, so that what it refers to cannot be marked; or a removal failed. The round settles nothing. */
export function block(core: MarkCore, why: string): void {
  core.blockedBy ??= why
}

/** Every live object was read. */
export function marked(core: MarkCore): void {
  core.phase = core.blockedBy === undefined ? 'whole' : 'idle'
}

/** The round is over; one that was blocked or cut off has settled nothing. */
export function endRound(core: MarkCore): void {
  if (core.phase === 'whole' && core.blockedBy === undefined) core.deathsSeen = core.deathsAtBegin
  core.phase = 'idle'
}

/**
 * An object became durable: what it refers to is marked, after it is in the index and before its commit stops keeping
 * those chunks. So each of them is kept, or marked, or reached by a round that has yet to read the object.
 */
export function referredTo<Id>(ids: Iterable<Id>, mark: (id: Id) => void): void {
  for (const id of ids) mark(id)
}
