/**
 * Artifacts: what a commit leaves behind for ever.
 *
 *   version 0 (genesis)          version 1                    version 2
 *   prev_hash  b3:000…      ◄─── prev_hash = b3 of it    ◄─── prev_hash = b3 of it
 *   payload    {signer set}      payload {items}              payload {items}
 *   state_root                   state_root                   state_root        of everything folded so far
 *                                                             HEAD = {version: 2, hash: b3 of it}
 *
 * The hash of an artifact is BLAKE3 of its canonical JSON; those bytes are what is stored, sent and verified.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, addressOf, canonicalJson, type JsonValue, parseAddress } from '@cairn/wire'
import { type Approval, parseApproval } from './approval.ts'
import { FieldReader, malformed, type TextRule } from './fields.ts'
import {
  type LogIdentity,
  type Payload,
  type Proposal,
  type ProposalTerms,
  parsePayload,
  parseTerms,
  payloadHash,
  termsOf,
} from './proposal.ts'
import { SIGNER_SET_ID, type SignerSet, type SignerSetItem, signerSetHash } from './signer-set.ts'
import { RegistryState } from './state.ts'

export type Head = {
  readonly version: number
  readonly hash: Address
}

export type Artifact = {
  readonly schema: typeof SCHEMA
  readonly version: number
  readonly prev_hash: Address
  readonly payload: Payload
  readonly payload_b3: Address
  /** `sha256:<64 hex>`: the root of the state after this version. */
  readonly state_root: string
  /** The set that judged the approvals: the one in force before this version; for genesis the one it installs. */
  readonly signer_set_hash: Address
  readonly proposal: ProposalTerms
  /** Every approval that was accepted, in the order of the log. */
  readonly approvals: readonly Approval[]
  /** Unix milliseconds. */
  readonly committed_at: number
}

const SCHEMA = 'cairn.registry/1'
/** What the first version follows. */
const NO_HASH: Address = parseAddress(`b3:${'0'.repeat(64)}`)
/** Each signer of the set in force and each new key, once. */
const MAX_APPROVALS = 64

export const STATE_ROOT: TextRule = { pattern: /^sha256:[0-9a-f]{64}$/, says: 'sha256: and 64 lowercase hex digits' }

/** BLAKE3 of the canonical JSON of the whole artifact: the hash HEAD names it by. */
export function artifactHash(artifact: Artifact): Address {
  return addressOf(canonicalJson(artifact))
}

export function headOf(artifact: Artifact): Head {
  return { version: artifact.version, hash: artifactHash(artifact) }
}

export function parseHead(value: JsonValue): Head {
  const fields = new FieldReader(value, 'HEAD', ['version', 'hash'], [])
  return { version: fields.integer('version', 0), hash: fields.address('hash') }
}

/** The whole of the proposal that an artifact commits. */
export function proposalOf({ proposal, payload_b3, signer_set_hash }: Artifact): Proposal {
  return { ...termsOf(proposal), payload_b3, signer_set_hash }
}

/** What distinguishes one commit from another, beside what was proposed and approved. */
export interface CommitFacts {
  readonly version: number
  readonly prev_hash: Address
  readonly state_root: string
  readonly committed_at: number
}

/** The artifact of these facts; every part is spelled out, so that nothing else can slip into its hash. */
export function createArtifact(
  { version, prev_hash, state_root, committed_at }: CommitFacts,
  proposal: Proposal,
  payload: Payload,
  approvals: readonly Approval[],
): Artifact {
  const { payload_b3, signer_set_hash } = proposal
  const hashes = { prev_hash, payload_b3, state_root, signer_set_hash }
  return { schema: SCHEMA, version, ...hashes, payload, proposal: termsOf(proposal), approvals, committed_at }
}

/** Version 0: installs the first signer set, which needs no approval. `proposal_id` makes each registry another log. */
export function createGenesis(signers: SignerSet, terms: { proposal_id: string; committed_at: number }): Artifact {
  const { m, signers: keys } = signers
  const item: SignerSetItem = { kind: 'signer_set', id: SIGNER_SET_ID, prev: null, m, signers: keys }
  const payload: Payload = { items: [item] }
  const { proposal_id, committed_at } = terms
  const hashes = { payload_b3: payloadHash(payload), signer_set_hash: signerSetHash(item) }
  const proposal: Proposal = { proposal_id, expires_at: committed_at, ...hashes }
  const facts = { version: 0, prev_hash: NO_HASH, state_root: RegistryState.of([item]).root, committed_at }
  return createArtifact(facts, proposal, payload, [])
}

/** The artifact a JSON value spells; its parts agree with each other, but nothing is said yet about who approved it. */
export function parseArtifact(value: JsonValue): Artifact {
  const fields = new FieldReader(value, 'The artifact', ARTIFACT_FIELDS, [])
  fields.constant('schema', SCHEMA)
  const facts: CommitFacts = {
    version: fields.integer('version', 0),
    prev_hash: fields.address('prev_hash'),
    state_root: fields.text('state_root', STATE_ROOT),
    committed_at: fields.integer('committed_at', 0),
  }
  const payload = parsePayload(fields.value('payload'))
  const payload_b3 = fields.address('payload_b3')
  if (payloadHash(payload) !== payload_b3) throw malformed('The artifact: payload_b3 is not the hash of its payload.')
  const terms = parseTerms(fields.value('proposal'))
  const proposal: Proposal = { ...terms, payload_b3, signer_set_hash: fields.address('signer_set_hash') }
  const approvals = fields.list('approvals', 0, MAX_APPROVALS).map(parseApproval)
  return createArtifact(facts, proposal, payload, approvals)
}

const ARTIFACT_FIELDS: readonly string[] = [
  'schema',
  'version',
  'prev_hash',
  'payload',
  'payload_b3',
  'state_root',
  'signer_set_hash',
  'proposal',
  'approvals',
  'committed_at',
]

/** Whether `artifact` is what `createGenesis` makes of its own signer set: the only form version 0 may have. */
export function requireGenesis(artifact: Artifact): SignerSetItem {
  const [item] = artifact.payload.items
  if (item?.kind === 'signer_set' && 'm' in item && item.prev === null) {
    const { proposal_id } = artifact.proposal
    const expected = createGenesis(item, { proposal_id, committed_at: artifact.committed_at })
    if (artifactHash(expected) === artifactHash(artifact)) return item
  }
  throw new CairnError('Integrity', 'This is not a genesis: version 0 installs the first signer set and nothing else.')
}

const ORIGIN_DIGITS = 16
const ORIGIN_PREFIX: TextRule = {
  pattern: /^(?=.{1,200}$)[a-z0-9][a-z0-9.-]*(?::[0-9]{1,5})?(?:\/[a-z0-9._-]+)*$/,
  says: 'a host and path without scheme, such as registry.example.org/cairn',
}

/** Which log a genesis begins: its origin is a prefix of the operator's choice and 16 hex digits of the genesis hash. */
export function logIdentity(prefix: string, genesis: Address): LogIdentity {
  if (!ORIGIN_PREFIX.pattern.test(prefix)) throw malformed(`The origin of a log must begin with ${ORIGIN_PREFIX.says}.`)
  return { origin: `${prefix}/${originDigits(genesis)}`, genesis }
}

/** Whether `origin` carries the digits of this genesis: a log cannot keep its origin and begin anew. */
export function isOriginOf(origin: string, genesis: Address): boolean {
  return origin.endsWith(`/${originDigits(genesis)}`)
}

const originDigits = (genesis: Address): string => genesis.slice('b3:'.length, 'b3:'.length + ORIGIN_DIGITS)
