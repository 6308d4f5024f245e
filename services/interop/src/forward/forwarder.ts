/**
 * Sends bodies on, at least once each.
 *
 *     message ─▶ policy ─▶ breaker of the target ─▶ POST, signed anew for each try ─▶ 2xx, or an error that says when again
 *
 * A receiver knows a repeated one by its `webhook-id`, which is the message's and never changes.
 */
import {
  type Breakers,
  CairnError,
  type Deadline,
  RETRY,
  type Runtime,
  retry,
  throwIfCanceled,
  toCairnError,
} from '@cairn/kernel'
import { type Crypto, UrlPolicy } from '@cairn/platform'
import type { IncomingResponse, Transport } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import type { ForwardConfig } from '../config.ts'
import { activeKeys, type Secret, type SecretKey } from '../providers/secret.ts'
import { withPrefix } from '../providers/signature.ts'
import { symmetricKey } from '../providers/standard.ts'
import type { Rule } from '../rules/rule.ts'

// Signs what goes out as Standard Webhooks do: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,… v1,…`.

export class WebhookSigner {
  readonly #crypto: Crypto
  readonly #keys: readonly SecretKey[]

  /** Throws `Malformed` where there is no secret, or one that is not `whsec_` and base64. */
  constructor(crypto: Crypto, secrets: readonly Secret[]) {
    if (secrets.length === 0) throw unsigned()
    this.#crypto = crypto
    this.#keys = secrets.map(symmetricKey)
  }

  /** The three headers for this body, signed with every secret that counts now. */
  sign(id: string, body: Uint8Array, nowMs: number): Readonly<Record<string, string>> {
    const keys = activeKeys(this.#keys, nowMs)
    if (keys.length === 0) throw unsigned()
    const time = String(Math.floor(nowMs / 1000))
    const signed = withPrefix(`${id}.${time}.`, body)
    const signatures = keys.map(({ bytes }) => {
      return `v1,${Buffer.from(this.#crypto.hmacSha256(bytes, signed)).toString('base64')}`
    })
    return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures.join(' ') }
  }
}

function unsigned(): CairnError {
  return new CairnError('Malformed', 'There is no secret to sign forwards with; set interop.forward.secrets.')
}

// CloudEvents 1.0, structured: the whole event is in the body, so the signature covers its attributes too.

const CLOUD_EVENT_TYPE = 'application/cloudevents+json'

/** The event around a body: JSON is carried as it is, byte for byte, anything else in base64. */
function cloudEvent(message: Forwarded): Uint8Array {
  const { id, provider, event, address, receivedAtMs, contentType, body } = message
  const attributes = JSON.stringify({
    specversion: '1.0',
    id,
    source: `/webhooks/${provider}`,
    type: `${provider}.${event}`,
    subject: address,
    time: new Date(receivedAtMs).toISOString(),
    datacontenttype: contentType,
  }).slice(0, -1)
  const isEmbedded = isJson(contentType) && holdsJson(body)
  const data = isEmbedded ? body : Buffer.from(JSON.stringify(Buffer.from(body).toString('base64')))
  const name = isEmbedded ? 'data' : 'data_base64'
  return Buffer.concat([Buffer.from(`${attributes},"${name}":`), data, Buffer.from('}')])
}

const isJson = (contentType: string): boolean => /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)

function holdsJson(body: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
    return true
  } catch {
    return false
  }
}

/** A verified webhook, as it is sent on. */
export interface Forwarded {
  /** The message's id; no full stop, which would end it in what is signed. */
  readonly id: string
  readonly provider: string
  readonly event: string
  readonly address: Address
  readonly contentType: string
  readonly receivedAtMs: number
  readonly body: Uint8Array
}

export interface ForwardContext {
  readonly deadline: Deadline
  readonly corrId: string
  readonly signal?: AbortSignal | undefined
}

export interface ForwarderOptions {
  readonly runtime: Runtime
  readonly crypto: Crypto
  /** A `GuardedTransport` with `forwardPolicy`: it checks the addresses behind the names. */
  readonly transport: Transport
  readonly policy: UrlPolicy
  /** Of forwards alone. */
  readonly breakers: Breakers
  readonly secrets: readonly Secret[]
  readonly format: ForwardConfig['format']
}

/** Where rules forward to, and nowhere else. */
export function forwardPolicy(rules: readonly Rule[], config: ForwardConfig): UrlPolicy {
  const allow = rules.flatMap(({ effect }) => (effect.tag === 'forward' ? [hostOf(new URL(effect.url))] : []))
  return new UrlPolicy({ allow, devAllowLoopbackHttp: config.dev_allow_loopback_http })
}

/** What the policy compares: a host, and its port where that is not 443. */
function hostOf({ host, port, protocol }: URL): string {
  return port === '' && protocol === 'http:' ? `${host}:80` : host
}

export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #signer: WebhookSigner

  constructor(options: ForwarderOptions) {
    this.#options = options
    this.#signer = new WebhookSigner(options.crypto, options.secrets)
  }

  /** Resolves once the target has answered 2xx; throws why not, and when to come back where it said so. */
  async deliver(target: string, message: Forwarded, context: ForwardContext): Promise<void> {
    const { runtime, policy, format } = this.#options
    const url = new URL(target)
    policy.check(url)
    const isEvent = format === 'cloudevents'
    const body = isEvent ? cloudEvent(message) : message.body
    const contentType = isEvent ? CLOUD_EVENT_TYPE : message.contentType
    const headers = { 'content-type': contentType, 'x-corr-id': context.corrId, ...describe(message) }
    const { deadline, signal } = context
    await retry(runtime, async () => await this.#throughBreaker({ url, id: message.id, body, headers }, context), {
      policy: RETRY.rpc,
      operation: 'forward',
      deadline,
      ...(signal === undefined ? {} : { signal }),
    })
  }

  async #throughBreaker(delivery: OutgoingDelivery, { deadline, signal }: ForwardContext): Promise<void> {
    const { runtime, breakers, transport } = this.#options
    // These breakers are nobody else's, so whoever uses them may tidy them up: there is no task for it.
    breakers.sweep()
    using passage = breakers.admit(delivery.url.origin)
    try {
      throwIfCanceled(signal)
      const signature = this.#signer.sign(delivery.id, delivery.body, runtime.clock.wall())
      const response = await transport.request({
        method: 'POST',
        url: delivery.url,
        headers: { ...delivery.headers, ...signature },
        body: delivery.body,
        deadline,
        signal,
      })
      response.body.cancel()
      if (response.status < 200 || response.status > 299) throw failure(delivery.url, response)
      passage.report('ok')
    } catch (error) {
      // What the receiver refuses is no failure of the receiver, and neither is our own end.
      const isAlive = toCairnError(error).status < 500
      passage.report(signal?.aborted === true ? 'abandoned' : isAlive ? 'ok' : 'failed')
      throw error
    }
  }
}

interface OutgoingDelivery {
  readonly url: URL
  readonly id: string
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

function describe({ provider, event }: Forwarded): Readonly<Record<string, string>> {
  return { 'x-cairn-provider': provider, 'x-cairn-event': event, 'user-agent': 'cairn-interop' }
}

/** What an answer other than 2xx means: come back later, or never. */
function failure({ host }: URL, { status, headers }: IncomingResponse): CairnError {
  const detail = `${host} answered ${status} to a forward.`
  if (status === 410) return new CairnError('RejectPolicy', `${detail} It wants no more of them; remove the rule.`)
  const retryAfter = headers['retry-after'] ?? ''
  const wait = /^\d{1,6}$/.test(retryAfter) ? { retryAfterMs: 1000 * Number(retryAfter) } : {}
  if (status === 429) return new CairnError('Busy', detail, { code: 'forward_refused', ...wait })
  if (status >= 500) return new CairnError('Timeout', detail, { code: 'forward_failed', ...wait })
  return new CairnError('Conflict', `${detail} Look at the receiver's log.`, { code: 'forward_refused' })
}
