/**
 * What every provider promises: to judge a request by its exact bytes, and by nothing else.
 *
 *     headers, body, now ─▶ verify ─┬─▶ verified: which secret, what it is, under which key a second one is a replay
 *                                   └─▶ refused: a reason of the closed table
 *
 * `verify` keeps no state: whether a verified request came before is for whoever keeps the replay keys.
 */
import type { ReasonCode } from '../reasons.ts'

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

export interface Refused {
  readonly tag: 'refused'
  readonly reason: ReasonCode
  readonly detail: string
}

export type Verification = Verified | Refused

export interface Provider {
  readonly name: string
  /** Never throws, and takes the same time whatever is wrong with a signature. */
  verify(request: WebhookRequest): Verification
  /** Whether the sender tries again by itself: what it sends may then be shed. */
  readonly retries: boolean
  readonly maxBodyBytes: number
}
