/**
 * What a signer signs: `cairn:registry:v1\n` and the canonical JSON of the terms.
 *
 * The terms bind one log (origin, genesis), one signer set, one proposal, one payload and an end. They do not bind a
 * position in history, so many approved proposals can be committed in one batch. An approval made for another log or
 * another proposal is simply not a signature of these bytes.
 */
import { type Address, canonicalJson, type JsonValue, toHex } from '@cairn/wire'
import { Fields, malformed, SHORT_TEXT, type TextRule } from './fields.ts'

/** Which log: the origin of its checkpoints, and the hash of its first artifact. */
export type LogIdentity = {
  readonly origin: string
  readonly genesis: Address
}

/** Commit only while HEAD is `of`: how a decision overrules the one before it, and no other. */
export type Supersede = {
  readonly of: Address
  readonly reason: string
}

/** What of a proposal an artifact repeats; the hashes stand beside it there. */
export type ProposalTerms = {
  readonly proposal_id: string
  /** Unix milliseconds; from then on it takes no approvals and is not committed. */
  readonly expires_at: number
  readonly supersede?: Supersede
}

export type Proposal = ProposalTerms & {
  readonly signer_set_hash: Address
  readonly payload_b3: Address
}

const PREFIX = 'cairn:registry:v1\n'
const ID_BYTES = 16

export const PROPOSAL_ID: TextRule = {
  pattern: /^p_[0-9a-f]{32}$/,
  says: 'a proposal id: p_ and 32 lowercase hexadecimal digits',
}

/** The id of a proposal: 16 random bytes, never used before. */
export function proposalId(random: Uint8Array): string {
  if (random.length !== ID_BYTES) throw malformed(`A proposal id is made of ${ID_BYTES} random bytes.`)
  return `p_${toHex(random)}`
}

/** The bytes every signer of this proposal signs. */
export function signingInput({ origin, genesis }: LogIdentity, proposal: Proposal): Uint8Array {
  const { signer_set_hash, payload_b3 } = proposal
  const terms = canonicalJson({ origin, genesis, signer_set_hash, payload_b3, ...termsOf(proposal) })
  const prefix = new TextEncoder().encode(PREFIX)
  const input = new Uint8Array(prefix.length + terms.length)
  input.set(prefix)
  input.set(terms, prefix.length)
  return input
}

/** The terms alone, of anything that has them. */
export function termsOf({ proposal_id, expires_at, supersede }: ProposalTerms): ProposalTerms {
  return { proposal_id, expires_at, ...(supersede === undefined ? {} : { supersede }) }
}

/** The terms a JSON value spells. */
export function parseTerms(value: JsonValue): ProposalTerms {
  return readTerms(new Fields(value, 'The proposal', ['proposal_id', 'expires_at'], ['supersede']))
}

/** The whole proposal a JSON value spells, as a log leaf carries it. */
export function parseProposal(value: JsonValue): Proposal {
  const required = ['proposal_id', 'expires_at', 'signer_set_hash', 'payload_b3']
  const fields = new Fields(value, 'The proposal', required, ['supersede'])
  const hashes = { signer_set_hash: fields.address('signer_set_hash'), payload_b3: fields.address('payload_b3') }
  return { ...readTerms(fields), ...hashes }
}

function readTerms(fields: Fields): ProposalTerms {
  const terms = { proposal_id: fields.text('proposal_id', PROPOSAL_ID), expires_at: fields.integer('expires_at', 0) }
  return fields.has('supersede') ? { ...terms, supersede: parseSupersede(fields.value('supersede')) } : terms
}

export function parseSupersede(value: JsonValue): Supersede {
  const fields = new Fields(value, 'The field "supersede"', ['of', 'reason'], [])
  return { of: fields.address('of'), reason: fields.text('reason', SHORT_TEXT) }
}
