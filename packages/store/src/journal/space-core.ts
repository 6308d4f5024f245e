/**
 * Room on the drive, asked for now and then and estimated in between.
 *
 *     │ used │ free for anybody │ reserve: tombstones and compaction only │
 *
 * Without the reserve a full disk could not be freed: a delete has to be written before anything can be removed.
 */

/** The estimate is good for this many bytes of ours; others write to the disk too. */
const ESTIMATE_BYTES = 64 * 1024 * 1024

export interface SpaceCore {
  readonly reserveBytes: number
  /** Free bytes by the last answer, less what was written since. */
  freeBytes: number
  /** How much may be written before the drive is asked again. */
  trustedBytes: number
}

export function createSpace(reserveBytes: number): SpaceCore {
  return { reserveBytes, freeBytes: 0, trustedBytes: 0 }
}

/** Whether the drive must be asked before this much is written. */
export function mustAsk(space: SpaceCore, bytes: number): boolean {
  return bytes > space.trustedBytes
}

export function answered(space: SpaceCore, freeBytes: number): void {
  space.freeBytes = freeBytes
  // Close to the reserve every byte counts.
  space.trustedBytes = Math.min(ESTIMATE_BYTES, Math.max(0, (freeBytes - space.reserveBytes) / 4))
}

/** Whether data of this size leaves the reserve alone. */
export function hasRoom(space: SpaceCore, bytes: number): boolean {
  return space.freeBytes - bytes >= space.reserveBytes
}

export function spend(space: SpaceCore, bytes: number): void {
  space.freeBytes -= bytes
  space.trustedBytes = Math.max(0, space.trustedBytes - bytes)
}
