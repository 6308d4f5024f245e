/** Bodies of requests: strict JSON, or strict CBOR that spells the same values. */
import { type Address, canonicalJson, decodeCbor, type JsonValue, parseJson } from '@cairn/wire'
import { Fields, malformed } from './fields.ts'
import { type Payload, parsePayload, payloadHash } from './payload.ts'
import { PROPOSAL_ID, parseSupersede, type Supersede } from './proposal.ts'

/** The value of a request's body. CBOR has no types of its own here: hashes, keys and signatures are texts in both. */
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

/** What a proposer sends: `{payload, payload_b3?, supersede?, proposal_id?}`. A hash that is given has to be the right one. */
export function parseProposalRequest(value: JsonValue): ProposalRequest {
  const fields = new Fields(value, 'The proposal', ['payload'], ['payload_b3', 'supersede', 'proposal_id'])
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
