/**
 * Log leaves: everything that happens, in the order it happens.
 *
 *   0 genesis   1 proposal   2 approval   3 approval   4 commit   5 audit_head …
 *   makes v0    head v0      head v0      head v0      makes v1   head v1
 *
 * Each leaf carries the HEAD after all leaves before it, a commit the HEAD it makes: the last leaf of a checkpoint
 * tells what HEAD was then. A commit's artifact is the sum of its leaf, the proposal's and the approvals', so no leaf
 * repeats another; what does not fit into a leaf is named by its BLAKE3 address.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, canonicalJson, equalBytes, type JsonValue, parseJson } from '@cairn/wire'
import { type Approval, parseApproval } from './approval.ts'
import { type Artifact, type Head, headOf, parseArtifact, parseHead, requireGenesis, STATE_ROOT } from './artifact.ts'
import { FieldReader, isJsonObject, malformed } from './fields.ts'
import { type Payload, PROPOSAL_ID, type Proposal, parsePayload, parseProposal, payloadHash } from './proposal.ts'

type LeafOf<Type extends string, Content> = Content & {
  readonly schema: typeof SCHEMA
  readonly type: Type
  readonly head: Head
}

/** Index 0, with the whole first artifact: nothing before it could hold a part of it. */
export type GenesisLeaf = LeafOf<'genesis', { readonly artifact: Artifact }>
/** Without `payload` where it does not fit: its canonical bytes are then the object `proposal.payload_b3`. */
export type ProposalLeaf = LeafOf<'proposal', { readonly proposal: Proposal; readonly payload?: Payload }>
export type ApprovalLeaf = LeafOf<'approval', { readonly proposal_id: string; readonly approval: Approval }>
export type CommitLeaf = LeafOf<
  'commit',
  {
    readonly proposal_id: string
    readonly prev_hash: Address
    readonly state_root: string
    readonly committed_at: number
  }
>
/** Anchors the head of an audit chain that is kept elsewhere: its hash and how many entries it has. */
export type AuditHeadLeaf = LeafOf<'audit_head', { readonly audit: AuditHead }>
/** A snapshot of the state at `head` exists under this address; pruning may follow. */
export type SnapshotLeaf = LeafOf<'snapshot', { readonly snapshot: Address }>
export type LogLeaf = GenesisLeaf | ProposalLeaf | ApprovalLeaf | CommitLeaf | AuditHeadLeaf | SnapshotLeaf

export type AuditHead = {
  readonly head: Address
  readonly count: number
  /** Which chain it is of, where its owner says so. */
  readonly chain?: string
}

const SCHEMA = 'cairn.log/1'
/** The length of an entry has two bytes in an entry bundle (C2SP tlog-tiles). */
export const MAX_LEAF_BYTES = 65_535

/** The canonical JSON of a leaf: the entry that is hashed into the log. */
export function encodeLeaf(leaf: LogLeaf): Uint8Array {
  const bytes = canonicalJson(leaf)
  if (bytes.length <= MAX_LEAF_BYTES) return bytes
  throw new CairnError(
    'TooLarge',
    `A log leaf has at most ${MAX_LEAF_BYTES} bytes; this ${leaf.type} has ${bytes.length}.`,
  )
}

/** The leaf of an entry; anything but the canonical bytes of a well-formed leaf is refused. */
export function decodeLeaf(bytes: Uint8Array): LogLeaf {
  if (bytes.length > MAX_LEAF_BYTES) throw malformed(`A log leaf has at most ${MAX_LEAF_BYTES} bytes.`)
  const leaf = parseLeaf(parseJson(bytes))
  if (!equalBytes(canonicalJson(leaf), bytes)) throw malformed('This log leaf is not in its canonical form.')
  return leaf
}

export function parseLeaf(value: JsonValue): LogLeaf {
  const type = isJsonObject(value) && typeof value['type'] === 'string' ? value['type'] : ''
  switch (type) {
    case 'genesis':
      return readGenesis(value)
    case 'proposal':
      return readProposal(value)
    case 'approval': {
      const [base, fields] = readBase(value, type, ['proposal_id', 'approval'])
      const approval = parseApproval(fields.value('approval'))
      return { ...base, proposal_id: fields.text('proposal_id', PROPOSAL_ID), approval }
    }
    case 'commit':
      return readCommit(value)
    case 'audit_head': {
      const [base, fields] = readBase(value, type, ['audit'])
      return { ...base, audit: parseAuditHead(fields.value('audit')) }
    }
    case 'snapshot': {
      const [base, fields] = readBase(value, type, ['snapshot'])
      return { ...base, snapshot: fields.address('snapshot') }
    }
    default:
      throw malformed(`A log leaf of the type ${JSON.stringify(type)} is not known.`)
  }
}

function readBase<Type extends LogLeaf['type']>(
  value: JsonValue,
  type: Type,
  required: readonly string[],
  optional: readonly string[] = [],
): [{ readonly schema: typeof SCHEMA; readonly type: Type; readonly head: Head }, FieldReader] {
  const fields = new FieldReader(value, `The ${type} leaf`, ['schema', 'type', 'head', ...required], optional)
  fields.constant('schema', SCHEMA)
  return [{ schema: SCHEMA, type, head: parseHead(fields.value('head')) }, fields]
}

function readGenesis(value: JsonValue): GenesisLeaf {
  const [base, fields] = readBase(value, 'genesis', ['artifact'])
  const artifact = parseArtifact(fields.value('artifact'))
  requireGenesis(artifact)
  const { version, hash } = headOf(artifact)
  if (base.head.version !== version || base.head.hash !== hash)
    throw malformed('The genesis leaf: HEAD is not its hash.')
  return { ...base, artifact }
}

function readProposal(value: JsonValue): ProposalLeaf {
  const [base, fields] = readBase(value, 'proposal', ['proposal'], ['payload'])
  const leaf = { ...base, proposal: parseProposal(fields.value('proposal')) }
  if (!fields.has('payload')) return leaf
  const payload = parsePayload(fields.value('payload'))
  if (payloadHash(payload) !== leaf.proposal.payload_b3) {
    throw malformed('The proposal leaf: payload_b3 is not the hash of its payload.')
  }
  return { ...leaf, payload }
}

function readCommit(value: JsonValue): CommitLeaf {
  const [base, fields] = readBase(value, 'commit', ['proposal_id', 'prev_hash', 'state_root', 'committed_at'])
  return {
    ...base,
    proposal_id: fields.text('proposal_id', PROPOSAL_ID),
    prev_hash: fields.address('prev_hash'),
    state_root: fields.text('state_root', STATE_ROOT),
    committed_at: fields.integer('committed_at', 0),
  }
}

const AUDIT_CHAIN = /^[0-9a-f]{32}$/

export function parseAuditHead(value: JsonValue): AuditHead {
  const fields = new FieldReader(value, 'The audit head', ['head', 'count'], ['chain'])
  const audit = { head: fields.address('head'), count: fields.integer('count', 0) }
  return fields.has('chain') ? { ...audit, chain: parseAuditChain(fields.value('chain')) } : audit
}

/** Which audit chain a head is of: several may be anchored in one log. */
export function parseAuditChain(value: JsonValue | undefined): string {
  if (typeof value === 'string' && AUDIT_CHAIN.test(value)) return value
  throw malformed('The audit head: chain must be 32 hexadecimal digits.')
}

/** The leaf of an accepted proposal: with its payload if that fits, else the payload is for storage to hold. */
export function createProposalLeaf(head: Head, proposal: Proposal, payload: Payload): ProposalLeaf {
  const leaf: ProposalLeaf = { schema: SCHEMA, type: 'proposal', head, proposal }
  const whole: ProposalLeaf = { ...leaf, payload }
  return canonicalJson(whole).length <= MAX_LEAF_BYTES ? whole : leaf
}

export function createApprovalLeaf(head: Head, proposalId: string, approval: Approval): ApprovalLeaf {
  return { schema: SCHEMA, type: 'approval', head, proposal_id: proposalId, approval }
}

/** The leaf that makes this artifact HEAD. It follows from the artifact, so a proof need not carry it. */
export function createCommitLeaf(artifact: Artifact, head: Head = headOf(artifact)): GenesisLeaf | CommitLeaf {
  if (artifact.version === 0) return { schema: SCHEMA, type: 'genesis', head, artifact }
  const { prev_hash, state_root, committed_at } = artifact
  const { proposal_id } = artifact.proposal
  return { schema: SCHEMA, type: 'commit', head, proposal_id, prev_hash, state_root, committed_at }
}

export function createAuditHeadLeaf(head: Head, audit: AuditHead): AuditHeadLeaf {
  return { schema: SCHEMA, type: 'audit_head', head, audit }
}

export function createSnapshotLeaf(head: Head, snapshot: Address): SnapshotLeaf {
  return { schema: SCHEMA, type: 'snapshot', head, snapshot }
}
