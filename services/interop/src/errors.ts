/** How interop names what can go wrong: the reasons of `providers/provider.ts`, and the codes of what is about no bridge. */
import { CairnError, type ErrorKind, toCairnError } from '@cairn/kernel'
import { DENY_REASONS, type DenyRow } from '@cairn/wire'
import { REASONS, type ReasonCode } from './providers/provider.ts'

const UNAVAILABLE = { code: 'DOWNSTREAM_UNAVAILABLE', status: REASONS.DOWNSTREAM_UNAVAILABLE.status } as const

/** What the pipeline and the store call an error, and what this service's clients know it as. */
export const INTEROP_CODES: Readonly<Record<string, string | { readonly code: ReasonCode; readonly status: number }>> =
  {
    ...Object.fromEntries(Object.entries(DENY_REASONS).map(([reason, row]) => [reason, capabilityReason(reason, row)])),
    malformed: 'MALFORMED',
    unsupported_type: 'MALFORMED',
    unsupported_coding: 'MALFORMED',
    bad_path: 'MALFORMED',
    bad_coding: 'MALFORMED',
    body_cap: 'BODY_LIMIT',
    too_large: 'BODY_LIMIT',
    ratio_cap: { code: 'DECOMP_LIMIT', status: REASONS.DECOMP_LIMIT.status },
    decompress_cap: { code: 'DECOMP_LIMIT', status: REASONS.DECOMP_LIMIT.status },
    busy: 'BACKPRESSURE',
    rate_cap: 'RATE_LIMIT',
    backpressure: 'BACKPRESSURE',
    journal_lost: 'JOURNAL_LOST',
    // Of the drive that our own journal is on; what other services say comes by `answeredBy`.
    storage_busy: UNAVAILABLE,
    write_failed: UNAVAILABLE,
    write_unready: UNAVAILABLE,
    drive_stalled: UNAVAILABLE,
    no_space: UNAVAILABLE,
  }

function capabilityReason(reason: string, { kind }: DenyRow): ReasonCode {
  if (reason === 'token_expired') return 'EXPIRED_TOKEN'
  return kind === 'Unauthorized' ? 'UNAUTH' : 'SCOPE_MISMATCH'
}

const KINDS: Readonly<Record<ReasonCode, ErrorKind>> = {
  UNAUTH: 'Unauthorized',
  BAD_ORIGIN: 'Malformed',
  EXPIRED_TOKEN: 'Unauthorized',
  SCOPE_MISMATCH: 'Forbidden',
  BODY_LIMIT: 'TooLarge',
  DECOMP_LIMIT: 'Malformed',
  RATE_LIMIT: 'Busy',
  BACKPRESSURE: 'Busy',
  DOWNSTREAM_UNAVAILABLE: 'StorageBusy',
  POLICY_BLOCKED: 'Forbidden',
  MALFORMED: 'Malformed',
  JOURNAL_LOST: 'StorageBusy',
}

/** A refusal for a reason of the table. */
export function refusal(reason: ReasonCode, detail: string, retryAfterMs?: number): CairnError {
  return new CairnError(KINDS[reason], detail, {
    code: reason,
    status: REASONS[reason].status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}

/** The brownout sheds this; it may come again. */
export function shed(what: string): CairnError {
  const detail = `${what} is not taken while this node is under pressure; send it again later.`
  return new CairnError('Backpressure', detail, { code: 'BACKPRESSURE', retryAfterMs: 5000 })
}

/** Nothing may be forgotten to make room, so nothing more is taken. */
export function full(what: string): CairnError {
  const detail = `${what} at its bound, and nothing is forgotten early to make room; send it again later.`
  return new CairnError('Backpressure', detail, { code: 'BACKPRESSURE', retryAfterMs: 30_000 })
}

/** Something that was here is gone: what came again could not be told from what is new. */
export function journalLost(detail: string): CairnError {
  const next = `Nothing is taken before it is restored from a backup or given up: cairn interop adopt`
  return refusal('JOURNAL_LOST', `${detail} ${next}`, 60_000)
}

export function nothingLost(): CairnError {
  const detail = 'Nothing is missing in the journal of this interop: there is nothing to give up.'
  return new CairnError('Conflict', detail, { code: 'nothing_lost' })
}

export function noSuchProvider(name: string): CairnError {
  return refusal('POLICY_BLOCKED', `The provider ${name} is not enabled here; see interop.providers.`)
}

/** Codes of ours that another service may give as its own. */
const SHARED: ReadonlySet<string> = new Set(['timeout', 'integrity', 'canceled', 'draining'])

/**
 * What another service answered, for whoever asked us. Whatever it is that it cannot do now, they may come again; that is
 * so too if it does not take our own token, as when a clock was set between making and reading it.
 */
export function answeredBy(service: string, error: unknown): unknown {
  const { kind, code, status, message, retryAfterMs = 1000 } = toCairnError(error)
  const isDenied = kind === 'Unauthorized' || Object.hasOwn(DENY_REASONS, code)
  if (!isDenied && (status < 500 || SHARED.has(code))) return error
  const detail = isDenied ? `The ${service} of this node does not take our token now; send it again.` : message
  return new CairnError(KINDS.DOWNSTREAM_UNAVAILABLE, detail, { ...UNAVAILABLE, retryAfterMs, cause: error })
}

export function needsStorage(): CairnError {
  return refusal('DOWNSTREAM_UNAVAILABLE', 'This node runs no storage, so nothing can be kept.', 5000)
}
