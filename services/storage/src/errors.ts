/** How storage names what can go wrong, where it has a name of its own for it. */
import { CairnError } from '@cairn/kernel'
import type { Address } from '@cairn/wire'

/** What the pipeline and the store call an error, and what this service's clients know it as. */
export const STORAGE_CODES = {
  malformed: 'bad_request',
  body_cap: 'payload_too_large',
  too_large: 'payload_too_large',
  address_mismatch: 'conflict',
  write_unready: 'not_ready',
  record_damaged: 'integrity',
} as const satisfies Readonly<Record<string, string>>

export function noSuchObject(id: Address): CairnError {
  return new CairnError('NotFound', `There is no object ${id} here.`)
}

export function otherBytes(expected: Address, actual: Address): CairnError {
  return new CairnError('Conflict', `These bytes are ${actual}, not ${expected}; no object was stored.`)
}

export function objectTooLarge(bytesMax: number): CairnError {
  return new CairnError('TooLarge', `An object has at most ${bytesMax} bytes here; see limits.max_object_bytes.`)
}

/** Chunks that were taken in are gone again: the drive failed between the first of them and the last. */
export function lostWrites(): CairnError {
  const detail = 'The drive failed while this was written; nothing of it counts. Send it again.'
  return new CairnError('StorageBusy', detail, { code: 'write_failed', retryAfterMs: 1000 })
}

/** The drive could not read: it may the next time, so this is not yet a damaged chunk. */
export function readFailed(cause: CairnError): CairnError {
  const detail = 'The drive could not read this; try again, and look at its health.'
  return new CairnError('StorageBusy', detail, { code: 'read_failed', retryAfterMs: 1000, cause })
}

export function partGone(id: Address): CairnError {
  return new CairnError('Integrity', `A part of the object, ${id}, is damaged or gone; put the object again.`)
}

/** What was written is on some targets, and on too few to be told that it is safe. */
export function underReplicated(made: number, wanted: number): CairnError {
  const detail = `${made} of ${wanted} copies could be made; try again when more targets are up, or see durability.allow_degraded_writes.`
  return new CairnError('StorageBusy', detail, { code: 'under_replicated', retryAfterMs: 5000 })
}

/** As many targets are away as there are copies: whether there is such an object cannot be said now. */
export function copiesAway(away: number): CairnError {
  const who =
    away === 1 ? 'A target that may hold a copy does not answer' : `${away} targets that may hold copies do not answer`
  const detail = `${who}; try again when all are back.`
  return new CairnError('StorageBusy', detail, { code: 'copies_away', retryAfterMs: 5000 })
}
