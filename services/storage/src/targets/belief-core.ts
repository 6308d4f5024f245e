/**
 * What this node believes of the word of others.
 *
 *     of a peer: a copy it claims, until it was looked for; a delete that a member has signed     else: a hint
 *     of all peers: that this node was away for too long, if it was by its own record, and most of those it lost say so
 */

export interface Heard {
  readonly tag: 'object' | 'tombstone' | 'absent'
  readonly version: number
  /** The version is one that some node can have issued by now. */
  readonly isPlausible: boolean
  /** A member's statement about this object and version came with it. */
  readonly isSigned: boolean
}

export function isBelieved({ tag, version, isPlausible, isSigned }: Heard): boolean {
  if (tag === 'absent') return true
  if (!isPlausible) return false
  // A tombstone of no version is about a copy too many, and beats none.
  return tag === 'object' || version === 0 || isSigned
}

/** What a node has written down about its own absence. */
export interface OwnRecord {
  readonly wasAway: boolean
  readonly peers: readonly string[]
  /** Peers it did not reach for as long as deletes are kept, and that have not begun empty since. */
  readonly lost: readonly string[]
}

/** Whether this node has to come back empty, given which peers say that it was away for too long. */
export function mustBeginEmpty({ wasAway, peers, lost }: OwnRecord, saidBy: ReadonlySet<string>): boolean {
  // Those that began empty themselves since have forgotten what they knew, and have no say.
  const voters = lost.length > 0 ? lost : peers
  const votes = voters.filter((node) => saidBy.has(node)).length
  return wasAway && 2 * votes > voters.length
}
