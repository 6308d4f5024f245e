/**
 * Whether a chunk may be removed; asked in the same step in which its tombstone is put in line.
 *
 *     unmarked in the index ─▶ its record is read back ─▶ mayCondemn ─▶ tombstone in line ─▶ durable ─▶ compaction
 *                                                                          └─ from here on a put writes the chunk anew
 */
import { isLeased, type LeaseCore } from '../chunk/lease-core.ts'
import { type MarkCore, mayRemoveAt } from './mark-core.ts'

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
