/** How the registry names what can go wrong, where it has a name of its own for it. */
import { CairnError, type ErrorKind } from '@cairn/kernel'
import type { RefusalCode, RegistryRefusal } from '@cairn/names'
import type { Address } from '@cairn/wire'

/** What the pipeline and the store call an error, and what this service's clients know it as. */
export const REGISTRY_CODES: Readonly<Record<string, string>> = {
  malformed: 'Malformed',
  unsupported_type: 'Malformed',
  unsupported_coding: 'Malformed',
  bad_coding: 'Malformed',
  bad_path: 'Malformed',
  body_cap: 'HardLimitExceeded',
  too_large: 'HardLimitExceeded',
  ratio_cap: 'HardLimitExceeded',
  decompress_cap: 'HardLimitExceeded',
  busy: 'Busy',
  timeout: 'Timeout',
  canceled: 'Canceled',
  not_found: 'NotFound',
  chain_mismatch: 'ChainMismatch',
  write_failed: 'StorageBusy',
  drive_stalled: 'StorageBusy',
  write_unready: 'NotReady',
  integrity: 'Integrity',
  record_damaged: 'Integrity',
}

interface RefusalRow {
  readonly kind: ErrorKind
  readonly code: string
  readonly status: number
}

/** Every reason of the rules against an approval or a commit, as its client sees it. */
const REFUSALS: Readonly<Record<RefusalCode, RefusalRow>> = {
  expired: { kind: 'Conflict', code: 'Expired', status: 409 },
  stale_signer_set: { kind: 'Conflict', code: 'StaleSignerSet', status: 409 },
  duplicate_approval: { kind: 'Conflict', code: 'DuplicateApproval', status: 409 },
  not_a_signer: { kind: 'Malformed', code: 'NotASigner', status: 422 },
  revoked_key: { kind: 'Malformed', code: 'RevokedKey', status: 422 },
  invalid_sig: { kind: 'Malformed', code: 'InvalidSig', status: 422 },
  quorum_failed: { kind: 'Malformed', code: 'QuorumFailed', status: 422 },
  head_moved: { kind: 'ChainMismatch', code: 'ChainMismatch', status: 409 },
  release_fixed: { kind: 'Conflict', code: 'ReleaseFixed', status: 409 },
  chain_mismatch: { kind: 'ChainMismatch', code: 'ChainMismatch', status: 409 },
}

export function refusal({ code: reason, detail }: RegistryRefusal): CairnError {
  const { kind, code, status } = REFUSALS[reason]
  return new CairnError(kind, detail, { code, status })
}

export function noSuchProposal(id: string): CairnError {
  return new CairnError('NotFound', `There is no proposal ${id} here, or it has expired; propose again.`)
}

/** The proposer chose the id, and has used it before. */
export function proposalExists(id: string): CairnError {
  return new CairnError('Conflict', `The proposal ${id} was opened before; look at it instead.`, {
    code: 'ProposalExists',
  })
}

export function noSuchVersion(version: number, head: number): CairnError {
  return new CairnError('NotFound', `There is no version ${version}; the newest is ${head}.`)
}

/** What retention removed is gone, and never comes back under another meaning. */
export function pruned(what: string, minimumIndex: number): CairnError {
  const detail = `${what} was removed by retention; entries from index ${minimumIndex} on are here.`
  return new CairnError('NotFound', detail, { code: 'Pruned', status: 410 })
}

export function lengthRequired(): CairnError {
  return new CairnError('Malformed', 'Say how long the body is, with Content-Length.', {
    code: 'LengthRequired',
    status: 411,
  })
}

export function crowded(count: number): CairnError {
  const detail = `${count} proposals are open or their payloads take too much room; commit some, or let them expire.`
  return new CairnError('Busy', detail, { retryAfterMs: 60_000 })
}

export function overQuota(perMinute: number, retryAfterMs: number): CairnError {
  const detail = `A token appends at most ${perMinute} audit heads a minute; wait, or ask for a higher limit.`
  return new CairnError('Busy', detail, { code: 'QuotaExceeded', retryAfterMs: Math.max(1, retryAfterMs) })
}

/** Too large for one entry, and there is no storage that could hold it. */
export function needsStorage(payload: Address, bytesMax: number): CairnError {
  const detail = `The payload ${payload} does not fit into a log entry of ${bytesMax} bytes, and no storage is configured to hold it.`
  return new CairnError('TooLarge', detail)
}

/** The log cannot be trusted from this entry on. Nothing is repaired silently: a backup, or whoever has a copy, is. */
export function damagedLog(index: number, why: string): CairnError {
  const detail = `The log is damaged at entry ${index}: ${why} Restore the registry's directory from a backup.`
  return new CairnError('Integrity', detail, { code: 'LogDamaged' })
}

export function otherGenesis(why: string): CairnError {
  const detail = `${why} Point bootstrap.trust_roots_path at the set this registry began with, or use an empty data directory.`
  return new CairnError('Conflict', detail, { code: 'GenesisMismatch' })
}

export function onlyReads(why: string): CairnError {
  const detail = `The registry cannot write now, only read: ${why}`
  return new CairnError('StorageBusy', detail, { code: 'write_unready', retryAfterMs: 1000 })
}

export function adoptRefused(
  code: 'NotRestored' | 'Behind' | 'Forked' | 'NoKeys' | 'OwnCheckpoint',
  detail: string,
): CairnError {
  return new CairnError('Conflict', detail, { code })
}

/** A cosignature for a checkpoint that is not the published one any more. */
export function checkpointMoved(size: number): CairnError {
  const detail = `The published checkpoint is of ${size} entries by now; cosign that one.`
  return new CairnError('Conflict', detail, { code: 'CheckpointMoved' })
}

export function noSuchSize(from: number, size: number): CairnError {
  return new CairnError('NotFound', `The published log has ${size} entries; it cannot continue one of ${from}.`)
}
