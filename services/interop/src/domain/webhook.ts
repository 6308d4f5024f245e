/** A verified webhook, and what it becomes: the messages of its effects, and its line in the audit. */
import type { AuditFacts } from '@cairn/clients'
import type { MailboxChange } from '@cairn/mailbox'
import type { Address } from '@cairn/wire'
import type { Verified } from '../providers/provider.ts'
import { type Effect, effectId, effectsOf, type Rule } from '../rules/rule.ts'

export interface Webhook {
  readonly provider: string
  readonly verified: Verified
  readonly body: Uint8Array
  readonly contentType: string
  readonly corrId: string
  /** Wall clock, Unix milliseconds. */
  readonly receivedAt: number
}

/** Topics of effects that this service applies itself; nobody else can lease from them. */
export const PROPOSE_TOPIC = '@propose'
export const FORWARD_TOPIC = '@forward'

/** What a message says about the webhook it is of. */
export interface WebhookFacts {
  readonly webhook: string
  readonly provider: string
  readonly event: string
  readonly delivery: string
  readonly address: Address
  readonly bytes: number
  readonly content_type: string
  readonly received_at: number
  readonly corr_id: string
  /** The name to propose, or the URL to forward to. */
  readonly target?: string
}

/** One message for each effect. An event that no rule is about goes to the topic of its provider: nothing is lost. */
export function messagesOf(webhook: Webhook, id: string, address: Address, rules: readonly Rule[]): MailboxChange[] {
  const { provider, verified, receivedAt } = webhook
  const wanted = effectsOf(rules, provider, verified.event)
  const effects: readonly Effect[] = wanted.length > 0 ? wanted : [{ tag: 'mailbox', topic: provider }]
  return effects.map((effect) => ({
    tag: 'message',
    message: {
      id: effectId(id, effect),
      ...destinationOf(effect),
      body: JSON.stringify(factsOf(webhook, id, address, effect)),
      sentAt: receivedAt,
    },
  }))
}

/** Proposals for one name are opened one after the other; everything else in whatever order it is taken. */
function destinationOf(effect: Effect): { readonly topic: string; readonly key: string | undefined } {
  switch (effect.tag) {
    case 'mailbox':
      return { topic: effect.topic, key: undefined }
    case 'propose':
      return { topic: PROPOSE_TOPIC, key: effect.name }
    case 'forward':
      return { topic: FORWARD_TOPIC, key: undefined }
  }
}

function factsOf(webhook: Webhook, id: string, address: Address, effect: Effect): WebhookFacts {
  const { provider, verified, body, contentType, corrId, receivedAt } = webhook
  const target = effect.tag === 'propose' ? effect.name : effect.tag === 'forward' ? effect.url : undefined
  return {
    webhook: id,
    provider,
    event: verified.event,
    delivery: verified.deliveryId,
    address,
    bytes: body.length,
    content_type: contentType,
    received_at: receivedAt,
    corr_id: corrId,
    ...(target === undefined ? {} : { target }),
  }
}

/** The line of a webhook that was let in. */
export function allowed(webhook: Webhook, b3: Address | null, reason: '' | 'duplicate' | 'handshake'): AuditFacts {
  const { provider, verified, corrId, receivedAt } = webhook
  const { event, deliveryId: delivery, secretId: secret } = verified
  return {
    at: receivedAt,
    decision: 'allow',
    action: 'webhook',
    reason,
    provider,
    event,
    delivery,
    b3,
    secret,
    corr_id: corrId,
  }
}
