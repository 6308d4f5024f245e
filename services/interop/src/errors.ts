/** How interop names what can go wrong: the reasons of `reasons.ts`, and the codes of what is about no bridge. */
import { CairnError, type ErrorKind, toCairnError } from '@cairn/kernel'
import { DENY_REASONS, type DenyRow } from '@cairn/wire'
import { REASONS, type ReasonCode } from './reasons.ts'

const SILENCE = [
  'unreachable',
  'connection_lost',
  'bad_answer',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
] as const
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
    breaker_open: 'DOWNSTREAM_UNAVAILABLE',
    storage_busy: 'DOWNSTREAM_UNAVAILABLE',
    write_failed: 'DOWNSTREAM_UNAVAILABLE',
    write_unready: 'DOWNSTREAM_UNAVAILABLE',
    not_ready: 'DOWNSTREAM_UNAVAILABLE',
    drive_stalled: 'DOWNSTREAM_UNAVAILABLE',
    no_space: 'DOWNSTREAM_UNAVAILABLE',
    // Another service is gone, or something in front of it answers that does not speak as services do.
    ...Object.fromEntries(SILENCE.map((code) => [code, UNAVAILABLE])),
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

export function noSuchProvider(name: string): CairnError {
  return refusal('POLICY_BLOCKED', `The provider ${name} is not enabled here; see interop.providers.`)
}

/**
 * What another service answered, for whoever asked us. If it is our own token that it does not take, as when a clock was
 * set between making and reading it, they did nothing wrong: they may come again.
 */
export function answeredBy(service: string, error: unknown): unknown {
  const { kind, code } = toCairnError(error)
  if (kind !== 'Unauthorized' && !Object.hasOwn(DENY_REASONS, code)) return error
  const detail = `The ${service} of this node does not take our token now; send it again.`
  return new CairnError(KINDS.DOWNSTREAM_UNAVAILABLE, detail, { ...UNAVAILABLE, retryAfterMs: 1000, cause: error })
}

export function needsStorage(): CairnError {
  return refusal('DOWNSTREAM_UNAVAILABLE', 'This node runs no storage, so nothing can be kept.', 5000)
}
