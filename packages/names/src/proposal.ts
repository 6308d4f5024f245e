/**
 * Proposals: the request for one, its payload, and the bytes a signer signs: `cairn:registry:v1\n` and the canonical
 * JSON of the terms.
 *
 * The terms bind one log (origin, genesis), one signer set, one proposal, one payload and an end. They do not bind a
 * position in history, so many approved proposals can be committed in one batch. An approval made for another log or
 * another proposal is simply not a signature of these bytes.
 */
import { type Address, addressOf, canonicalJson, decodeCbor, type JsonValue, parseJson, toHex } from '@cairn/wire'
import { FieldReader, malformed, SHORT_TEXT, type TextRule } from './fields.ts'
import { type Item, itemKey, parseItem } from './item.ts'
import type { SignerSetItem } from './signer-set.ts'

/**
 * Decodes a request's body: strict JSON, or strict CBOR that spells the same values. CBOR has no types of its own here:
 * hashes, keys and signatures are texts in both.
 */
export function decodeBody(bytes: Uint8Array, format: 'json' | 'cbor'): JsonValue {
  if (format === 'json') return parseJson(bytes)
  // The canonical form is JSON's own judge of what it can say: fractions and the like do not pass it.
  return parseJson(canonicalJson(toJson(decodeCbor(bytes))))
}

function toJson(value: unknown): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value === 'object' && !ArrayBuffer.isView(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toJson(member)]))
  }
  throw malformed('This CBOR holds a value that JSON has not, such as a byte string; write the same texts as in JSON.')
}

export interface ProposalRequest {
  readonly payload: Payload
  readonly payload_b3: Address
  readonly supersede?: Supersede
  /** The proposer's own, so that asking twice opens one proposal. */
  readonly proposal_id?: string
}

/** Parses what a proposer sends: `{payload, payload_b3?, supersede?, proposal_id?}`. A given hash must be the right one. */
export function parseProposalRequest(value: JsonValue): ProposalRequest {
  const fields = new FieldReader(value, 'The proposal', ['payload'], ['payload_b3', 'supersede', 'proposal_id'])
  const payload = parsePayload(fields.value('payload'))
  const hash = payloadHash(payload)
  if (fields.has('payload_b3') && fields.address('payload_b3') !== hash) {
    throw malformed(`The payload is ${hash}, not ${fields.address('payload_b3')}; compare its canonical JSON.`)
  }
  return {
    payload,
    payload_b3: hash,
    ...(fields.has('supersede') ? { supersede: parseSupersede(fields.value('supersede')) } : {}),
    ...(fields.has('proposal_id') ? { proposal_id: fields.text('proposal_id', PROPOSAL_ID) } : {}),
  }
}

/** The items that one commit changes together, and a note for the people who sign. */
export type Payload = {
  /** Each (kind, id) at most once; a signer set stands alone. */
  readonly items: readonly Item[]
  readonly note?: string
}

/** Bounds the work of one commit: a commit is applied in one synchronous step. */
const MAX_ITEMS = 1024

/** Parses a payload from a JSON value. */
export function parsePayload(value: JsonValue): Payload {
  const fields = new FieldReader(value, 'The payload', ['items'], ['note'])
  const items = fields.list('items', 1, MAX_ITEMS).map(parseItem)
  const seen = new Set<string>()
  for (const item of items) {
    const key = itemKey(item)
    if (seen.has(key)) throw malformed(`The payload changes ${key} twice; say once what it becomes.`)
    seen.add(key)
  }
  if (items.length > 1 && items.some(({ kind }) => kind === 'signer_set')) {
    throw malformed('A signer set is the only item of its proposal; propose the other items apart.')
  }
  return fields.has('note') ? { items, note: fields.text('note', SHORT_TEXT) } : { items }
}

/** Returns `payload_b3`: the BLAKE3 of the canonical JSON. */
export function payloadHash(payload: Payload): Address {
  return addressOf(canonicalJson(payload))
}

/** Returns the signer set this payload installs; undefined if it installs none. */
export function signerSetOf({ items }: Payload): SignerSetItem | undefined {
  const [item] = items
  return item?.kind === 'signer_set' && 'm' in item ? item : undefined
}

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

/** Returns the id of a proposal, from 16 random bytes never used before. */
export function proposalId(random: Uint8Array): string {
  if (random.length !== ID_BYTES) throw malformed(`A proposal id is made of ${ID_BYTES} random bytes.`)
  return `p_${toHex(random)}`
}

/** Returns the bytes every signer of this proposal signs. */
export function signingInput({ origin, genesis }: LogIdentity, proposal: Proposal): Uint8Array {
  const { signer_set_hash, payload_b3 } = proposal
  const terms = canonicalJson({ origin, genesis, signer_set_hash, payload_b3, ...termsOf(proposal) })
  const prefix = new TextEncoder().encode(PREFIX)
  const input = new Uint8Array(prefix.length + terms.length)
  input.set(prefix)
  input.set(terms, prefix.length)
  return input
}

/** Returns the terms alone, of anything that has them. */
export function termsOf({ proposal_id, expires_at, supersede }: ProposalTerms): ProposalTerms {
  return { proposal_id, expires_at, ...(supersede === undefined ? {} : { supersede }) }
}

/** Parses the terms from a JSON value. */
export function parseTerms(value: JsonValue): ProposalTerms {
  return readTerms(new FieldReader(value, 'The proposal', ['proposal_id', 'expires_at'], ['supersede']))
}

/** Parses a whole proposal from a JSON value, as a log leaf carries it. */
export function parseProposal(value: JsonValue): Proposal {
  const required = ['proposal_id', 'expires_at', 'signer_set_hash', 'payload_b3']
  const fields = new FieldReader(value, 'The proposal', required, ['supersede'])
  const hashes = { signer_set_hash: fields.address('signer_set_hash'), payload_b3: fields.address('payload_b3') }
  return { ...readTerms(fields), ...hashes }
}

function readTerms(fields: FieldReader): ProposalTerms {
  const terms = { proposal_id: fields.text('proposal_id', PROPOSAL_ID), expires_at: fields.integer('expires_at', 0) }
  return fields.has('supersede') ? { ...terms, supersede: parseSupersede(fields.value('supersede')) } : terms
}

function parseSupersede(value: JsonValue): Supersede {
  const fields = new FieldReader(value, 'The field "supersede"', ['of', 'reason'], [])
  return { of: fields.address('of'), reason: fields.text('reason', SHORT_TEXT) }
}
