/** A proposal as a signer must see it: read from the registry, but recomputed here. */
import type { OpenProposal, Proposed } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { type LogIdentity, type Payload, payloadHash, type Supersede, signingInput } from '@cairn/names'
import type { CommandContext, CommandOutcome } from './command.ts'
import { connectionFlags, describeQuorum, formatInstant, formatItems } from './registry-format.ts'
import { identityOf, type RegistryConnection } from './registry-service.ts'

export interface ProposalToSign extends OpenProposal {
  readonly log: LogIdentity
  /** What a signature is made over: computed from the payload that is shown, not taken from the registry. */
  readonly input: Uint8Array
}

/** The proposal with what its signers sign; `Integrity` if its payload is not the one it names. */
export async function readProposal(registry: RegistryConnection, id: string): Promise<ProposalToSign> {
  const open = await registry.client.proposal(id, registry.call())
  if (open.status === 'committed') {
    const detail = `The proposal ${id} is version ${open.facts.version} already; it takes no more approvals.`
    throw new CairnError('Conflict', detail, { code: 'AlreadyCommitted' })
  }
  const hash = payloadHash(open.payload)
  if (hash !== open.proposal.payload_b3) {
    const detail = `The registry shows a payload ${hash}, but the proposal is for ${open.proposal.payload_b3}. Do not sign.`
    throw new CairnError('Integrity', detail, { code: 'other_payload' })
  }
  const log = await identityOf(registry)
  return { ...open, log, input: signingInput(log, open.proposal) }
}

/** What is about to be signed: in words, and byte for byte. */
export function formatProposal({ log, proposal, payload, input }: ProposalToSign): string[] {
  const { supersede } = proposal
  return [
    ...formatItems(payload),
    ...(payload.note === undefined ? [] : [`note: ${payload.note}`]),
    ...(supersede === undefined ? [] : [`only while HEAD is ${supersede.of}, because: ${supersede.reason}`]),
    `in the log ${log.origin}, until ${formatInstant(proposal.expires_at)}`,
    'What is signed:',
    ...new TextDecoder()
      .decode(input)
      .split('\n')
      .map((line) => `  ${line}`),
  ]
}

/** Proposes, and says what there is to sign and who has to. */
export async function propose(
  context: CommandContext,
  registry: RegistryConnection,
  payload: Payload,
  supersede?: Supersede,
): Promise<CommandOutcome> {
  const proposed: Proposed = await registry.client.propose(payload, supersede, registry.call())
  const { proposal_id: id, quorum } = proposed
  const shown = await readProposal(registry, id)
  if (shown.proposal.payload_b3 !== payloadHash(payload))
    throw new CairnError('Integrity', `The registry made another proposal of it: ${id}. Do not approve it.`)
  const flags = connectionFlags(context.given)
  return {
    result: {
      proposal_id: id,
      payload,
      payload_b3: proposed.payload_b3,
      expires_at: formatInstant(proposed.expires_at),
      signing_input: new TextDecoder().decode(shown.input),
      quorum: quorumResult(quorum),
    },
    data: `${id}\n`,
    message: ['proposed', ...formatProposal(shown), describeQuorum(quorum)].join('\n  '),
    // Who is missing signs first: a commit before that is refused.
    next: quorum.isMet ? [`npx cairn name commit ${id}${flags}`] : [`npx cairn name approve ${id}${flags} --key FILE`],
  }
}

/** The quorum as programs read it. */
export function quorumResult({ m, n, approved, missing, incoming, isMet }: OpenProposal['quorum']) {
  return { m, n, approved, missing, incoming, is_met: isMet }
}
