/**
 * Rules: what becomes of a verified webhook.
 *
 *     provider + event ──▶ rules ──▶ effects ─┬─ mailbox:topic        a message, in the record that accepts the webhook
 *                                             ├─ propose:NAME         a proposal NAME → the stored body, never a commit
 *                                             └─ forward:https://…    the body sent on, at least once
 *
 * An effect is identified by the message it is of and by itself, so applying it again changes nothing.
 */
import { blake3, toHex } from '@cairn/wire'
import type { ProviderName } from '../providers/config.ts'

export type Effect =
  | { readonly tag: 'mailbox'; readonly topic: string }
  | { readonly tag: 'propose'; readonly name: string }
  | { readonly tag: 'forward'; readonly url: string }

export interface Rule {
  readonly provider: ProviderName
  /** The provider's word for what happened; `*` for all of them. */
  readonly event: string
  readonly effect: Effect
}

/** Every effect of this event, in the order of the rules; two rules that ask for the same get it once. */
export function effectsOf(rules: readonly Rule[], provider: string, event: string): Effect[] {
  const effects = new Map<string, Effect>()
  for (const { provider: from, event: of, effect } of rules) {
    if (from === provider && (of === '*' || of === event)) effects.set(effectText(effect), effect)
  }
  return [...effects.values()]
}

/** An effect as the configuration spells it. */
export function effectText(effect: Effect): string {
  switch (effect.tag) {
    case 'mailbox':
      return `mailbox:${effect.topic}`
    case 'propose':
      return `propose:${effect.name}`
    case 'forward':
      return `forward:${effect.url}`
  }
}

/** The id of an effect of a message: 32 hexadecimal digits, the same whenever and wherever it is asked for. */
export function effectId(messageId: string, effect: Effect): string {
  const text = new TextEncoder().encode(`cairn interop effect\n${messageId}\n${effectText(effect)}`)
  return toHex(blake3(text).subarray(0, 16))
}
