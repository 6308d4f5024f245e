/**
 * Applies the effects this service has itself: proposals and forwards.
 *
 *     @propose, @forward ─▶ lease ─▶ apply ─┬─▶ ack
 *                                           └─ failed: it comes again when its lease ends, and is a dead letter after ten
 *
 * A proposal is named by its message, so a second attempt finds the first. A forward may be sent twice; its id is the same.
 */
import type { CallContext, RegistryClient } from '@cairn/clients'
import { Deadline, isKind, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import type { Delivery } from '@cairn/mailbox'
import { itemHash } from '@cairn/names'
import type { Platform } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import { FORWARD_TOPIC, PROPOSE_TOPIC, type WebhookFacts } from '../domain/webhook.ts'
import type { InteropParts } from '../parts.ts'
import { effectId } from '../rules/rule.ts'

// The effect `propose`: a proposal that a name shall mean the stored body. Signers decide; nothing here commits.

export interface ProposalEffect {
  readonly messageId: string
  readonly name: string
  /** The stored body. */
  readonly address: Address
  /** One line for the people who sign: where this came from. */
  readonly note: string
}

/** The id of the proposal a message opens for a name. */
export function proposalIdOf({ messageId, name }: Pick<ProposalEffect, 'messageId' | 'name'>): string {
  return `p_${effectId(messageId, { tag: 'propose', name })}`
}

/**
 * Opens the proposal, or finds that it was opened before; returns its id. However often it is called for one message,
 * and wherever it broke off before, one proposal exists.
 */
export async function applyProposal(
  registry: Pick<RegistryClient, 'name' | 'proposeOnce'>,
  effect: ProposalEffect,
  context: CallContext,
): Promise<string> {
  const { name, address, note } = effect
  const id = proposalIdOf(effect)
  const current = await registry.name(name, undefined, context)
  const prev = current === undefined ? null : itemHash(current.item)
  // Every event gives the name of its rule another meaning.
  const payload = { items: [{ kind: 'name', id: name, prev, manifest: address, mutable: true }], note } as const
  await registry.proposeOnce(id, payload, context)
  return id
}

const WAIT_MS = 5000
const PROPOSE_MS = 5000
const DRIVE_PAUSE_MS = 1000
const BODY_BYTES_MAX = 25 * 1024 * 1024

export function proposer(platform: Platform, parts: InteropParts): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      const leased = await nextOf(platform, parts, PROPOSE_TOPIC, draining)
      // A drain does not wait for a registry that may be away: nothing is lost, the next life finds what this one did.
      if (leased !== undefined)
        await attempt(platform, parts, leased, async (facts) => await propose(platform, parts, facts, draining))
    }
  }
}

export function forwarder(platform: Platform, parts: InteropParts): TaskBody {
  const { timeout } = parts.config().forward
  return async ({ draining, aborting }) => {
    for (;;) {
      // A brownout sheds forwards first: they wait where they are.
      await parts.pressure.state.until(({ tag }) => tag === 'clear', { signal: draining })
      const leased = await nextOf(platform, parts, FORWARD_TOPIC, draining)
      if (leased === undefined) continue
      await attempt(platform, parts, leased, async (facts) => {
        const deadline = Deadline.after(platform.clock, timeout)
        await forward(parts, facts, { deadline, corrId: facts.corr_id, signal: aborting })
      })
    }
  }
}

/** The next message, if one comes soon. A drive that fails is no failure of the task: the effect waits for it. */
async function nextOf(
  { clock, log }: Platform,
  { mailbox, ledger }: InteropParts,
  topic: string,
  signal: AbortSignal,
): Promise<Delivery | undefined> {
  // What is missing may have said that a message was applied already.
  await ledger.lost.until((lost) => lost === undefined, { signal })
  try {
    return await mailbox.lease(topic, { waitMs: WAIT_MS, signal })
  } catch (error) {
    if (!isKind(error, 'StorageBusy')) throw error
    log.warn({ topic, code: error.code, error: error.message }, 'no effect can be taken now')
    await sleep(clock, DRIVE_PAUSE_MS, { signal })
    return undefined
  }
}

async function attempt(
  { log }: Platform,
  { mailbox }: InteropParts,
  { message, receipt }: Delivery,
  apply: (facts: WebhookFacts) => Promise<void>,
): Promise<void> {
  const facts = JSON.parse(message.body) as WebhookFacts
  try {
    await apply(facts)
    await mailbox.ack(message.topic, receipt)
  } catch (error) {
    const { message: why, code } = toCairnError(error)
    log.warn({ message: message.id, attempt: receipt.attempt, code, error: why }, 'an effect was not applied yet')
  }
}

async function propose(
  { clock }: Platform,
  { registry, pressure }: InteropParts,
  facts: WebhookFacts,
  signal: AbortSignal,
): Promise<void> {
  if (registry === undefined) throw new TypeError('A rule proposes, and this node runs no registry.')
  const { webhook, target = '', address, provider, event, delivery, corr_id: corrId } = facts
  const note = `${provider} ${event} ${delivery}`.trim()
  const context: CallContext = { deadline: Deadline.after(clock, PROPOSE_MS), corrId, signal }
  await pressure.call('registry', 'propose', context, async (call) => {
    await applyProposal(registry, { messageId: webhook, name: target, address, note }, call)
  })
}

async function forward(
  { storage, forwards }: InteropParts,
  facts: WebhookFacts,
  context: CallContext & { readonly corrId: string },
): Promise<void> {
  if (storage === undefined || forwards === undefined) throw new TypeError('There is nothing to forward with.')
  const { webhook, provider, event, address, content_type: contentType, received_at: receivedAtMs, target = '' } = facts
  const body = await storage.get(address, BODY_BYTES_MAX, context)
  const message = { id: webhook, provider, event, address, contentType, receivedAtMs, body }
  await forwards.deliver(target, message, context)
}
