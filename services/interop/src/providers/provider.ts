/**
 * What every provider promises: to judge a request by its exact bytes, and by nothing else.
 *
 *     headers, body, now ─▶ verify ─┬─▶ verified: which secret, what it is, under which key a second one is a replay
 *                                   └─▶ refused: a reason of the closed table
 *
 * `verify` keeps no state: whether a verified request came before is for whoever keeps the replay keys.
 */

/** Reading a verified body: what it says is believed, but it need not be of any form. */

export type BodyFields = Readonly<Record<string, unknown>>

/** The object a JSON text spells, else nothing. */
export function jsonObject(body: Uint8Array | string): BodyFields | undefined {
  try {
    const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { fatal: true }).decode(body)
    return objectOf(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The value, if it is an object with fields. */
export function objectOf(value: unknown): BodyFields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

/** The fields of a form, the first of each name. */
export function formFields(body: Uint8Array): URLSearchParams {
  return new URLSearchParams(Buffer.from(body).toString('latin1'))
}

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

export interface WebhookRequest {
  /** As they came, duplicates kept; names in lower case. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array
  /** Wall clock, Unix milliseconds. */
  readonly nowMs: number
  /** The client's address, for providers restricted to address blocks; without it such a provider refuses. */
  readonly peer?: string | undefined
}

export interface Verified {
  readonly tag: 'verified'
  /** Where the secret came from, never the secret: `env:GITHUB_WEBHOOK_SECRET`. */
  readonly secretId: string
  readonly replay: {
    /** The provider and what the signature covers: the same for every delivery of the same event. */
    readonly key: string
    /** Wall clock, Unix milliseconds: until then the key must be remembered. */
    readonly keepUntilMs: number
  }
  /** The provider's own word for what happened; `unknown` where the request has none. */
  readonly event: string
  /** What the provider calls this delivery: for people who compare logs, never for deciding. */
  readonly deliveryId: string
  /** The request only asks whether we are there: this is the answer, and nothing is to be applied. */
  readonly reply?: WebhookReply
}

export interface WebhookReply {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array
}

export interface RefusedVerification {
  readonly tag: 'refused'
  readonly reason: ReasonCode
  readonly detail: string
}

export type Verification = Verified | RefusedVerification

export interface WebhookProvider {
  readonly name: string
  /** Never throws, and takes the same time whatever is wrong with a signature. */
  verify(request: WebhookRequest): Verification
  /** Whether the sender tries again by itself: what it sends may then be shed. */
  readonly retries: boolean
  readonly maxBodyBytes: number
}
