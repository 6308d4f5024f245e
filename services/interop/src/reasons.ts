/** Every reason for which interop turns something away: one closed table, known to clients, metrics and the audit. */

export interface ReasonRow {
  /** The status that is sent; `BACKPRESSURE` of a brownout is a 503 instead. */
  readonly status: number
  readonly when: string
}

export const REASONS = {
  UNAUTH: { status: 401, when: 'The signature or the capability is missing or does not verify.' },
  BAD_ORIGIN: {
    status: 400,
    when: 'The request names a host, or comes from an address, that the provider may not use.',
  },
  EXPIRED_TOKEN: { status: 401, when: 'The capability has expired.' },
  SCOPE_MISMATCH: { status: 403, when: 'The capability does not carry the scope of this route.' },
  BODY_LIMIT: { status: 413, when: 'The body is larger than this route or provider takes.' },
  DECOMP_LIMIT: { status: 400, when: 'The body inflates beyond its bound.' },
  RATE_LIMIT: { status: 429, when: 'The rate of requests is at its bound.' },
  BACKPRESSURE: { status: 429, when: 'A queue is full (429), or the brownout sheds bridges (503).' },
  DOWNSTREAM_UNAVAILABLE: { status: 503, when: 'Something this work needs does not answer.' },
  POLICY_BLOCKED: { status: 403, when: 'The provider is not enabled, or the signed time is outside the window.' },
  JOURNAL_LOST: {
    status: 503,
    when: 'The journal holds less than it is known to have held; only reads are served until `cairn interop adopt`.',
  },
  MALFORMED: { status: 400, when: 'The request is not of the required form.' },
} as const satisfies Record<string, ReasonRow>

export type ReasonCode = keyof typeof REASONS
