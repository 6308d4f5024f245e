/**
 * Which entries may go. Whole segments from the oldest on, and never
 *   – what no durable checkpoint covers, nor its last entry, which says what HEAD was;
 *   – a proposal that can still be committed, nor anything after it.
 */
import type { RegistryConfig } from '../config.ts'
import type { SegmentStart } from './registry-log.ts'

export interface RetentionFacts {
  readonly policy: RegistryConfig['retention']
  /** Segments with entries, the oldest first; the last is being written. */
  readonly starts: readonly SegmentStart[]
  /** Entries the checkpoint covers. */
  readonly anchor: number
  /** The oldest proposal that is open. */
  readonly oldestOpen: number | undefined
  /** The index of the last commit before a time, if there is one. */
  readonly committedBefore: (ms: number) => number | undefined
  readonly now: number
}

/** The index below which everything may go: the first entry of a segment. Nothing if nothing may. */
export function pruneBelow(facts: RetentionFacts): number | undefined {
  const { starts, anchor, oldestOpen } = facts
  const limit = Math.min(wanted(facts), anchor - 1, oldestOpen ?? anchor)
  // The first segment begins where the log does: to prune below it is to prune nothing.
  return starts.slice(1).findLast(({ index }) => index <= limit)?.index
}

/** How far the policy would go. */
function wanted({ policy, starts, anchor, committedBefore, now }: RetentionFacts): number {
  switch (policy.policy) {
    case 'off':
      return 0
    case 'by-count':
      return anchor - policy.max_count
    case 'by-age': {
      const last = committedBefore(now - policy.max_age)
      return last === undefined ? 0 : last + 1
    }
    case 'by-size': {
      let bytes = 0
      for (const { index, bytes: own } of starts.toReversed()) {
        bytes += own
        if (bytes > policy.target_bytes) return starts.find((start) => start.index > index)?.index ?? index
      }
      return 0
    }
  }
}
