/** The effect `propose`: a proposal that a name shall mean the stored body. Signers decide; nothing here commits. */
import type { CallContext, RegistryClient } from '@cairn/clients'
import { itemHash } from '@cairn/names'
import type { Address } from '@cairn/wire'
import { effectId } from './rule.ts'

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
  const payload = { items: [{ kind: 'name', id: name, prev, manifest: address }], note } as const
  await registry.proposeOnce(id, payload, context)
  return id
}
