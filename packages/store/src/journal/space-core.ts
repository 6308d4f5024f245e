/**
 * Room on the drive, asked for now and then and estimated in between.
 *
 *     │ used │ free for anybody │ margin │ reserve still to be had │ reserve held: a file of ours │
 *                               └─ tombstones and compaction only ─┴─ given back to them first ────┘
 *
 * Without the reserve a full disk could not be freed: a delete has to be written before anything can be removed. What is
 * held cannot be taken by another program; the rest is only left alone by us.
 */

/** The estimate is good for this many bytes of ours; others write to the disk too. */
const ESTIMATE_BYTES = 64 * 1024 * 1024
/** A file system needs some room of its own: data that came up to the last byte would fail, and use up the reserve. */
const MARGIN_SHARE = 8
const MARGIN_BYTES_MAX = 4 * 1024 * 1024

export interface SpaceCore {
  readonly reserveBytes: number
  /** What of it is in our own file. */
  heldBytes: number
  /** Free bytes by the last answer, less what was written since. */
  freeBytes: number
  /** How much may be written before the drive is asked again. */
  trustedBytes: number
}

export function createSpace(reserveBytes: number): SpaceCore {
  return { reserveBytes, heldBytes: 0, freeBytes: 0, trustedBytes: 0 }
}

/** Whether the drive must be asked before this much is written. */
export function mustAsk(space: SpaceCore, bytes: number): boolean {
  return bytes > space.trustedBytes
}

export function answered(space: SpaceCore, freeBytes: number): void {
  space.freeBytes = freeBytes
  // Close to the reserve every byte counts.
  space.trustedBytes = Math.min(ESTIMATE_BYTES, Math.max(0, (freeBytes - leftAlone(space)) / 4))
}

function margin({ reserveBytes }: SpaceCore): number {
  return Math.min(MARGIN_BYTES_MAX, Math.floor(reserveBytes / MARGIN_SHARE))
}

/** What data must leave free. */
export function leftAlone(space: SpaceCore): number {
  return Math.max(margin(space), space.reserveBytes - space.heldBytes)
}

/** Whether data of this size leaves the reserve alone. */
export function hasRoom(space: SpaceCore, bytes: number): boolean {
  return space.freeBytes - bytes >= leftAlone(space)
}

/** How much must be given back for a write that may use the reserve. */
export function lacking(space: SpaceCore, bytes: number): number {
  return Math.min(space.heldBytes, Math.max(0, bytes + margin(space) - space.freeBytes))
}

/** How much may be taken into the reserve now: what is missing of it, as long as the drive has as much again. */
export function allocatable(space: SpaceCore, sliceBytes: number): number {
  const missing = Math.min(sliceBytes, space.reserveBytes - space.heldBytes)
  return missing > 0 && space.freeBytes - missing >= 2 * margin(space) ? missing : 0
}

/** The reserve has grown, or shrunk, at the cost of what is free, or to its good. */
export function reserved(space: SpaceCore, bytes: number): void {
  space.heldBytes += bytes
  space.freeBytes -= bytes
}

export function spend(space: SpaceCore, bytes: number): void {
  space.freeBytes -= bytes
  space.trustedBytes = Math.max(0, space.trustedBytes - bytes)
}
