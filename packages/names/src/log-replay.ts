/**
 * Reads a log the way its Committer wrote it, and believes nothing: every leaf must be the one these rules make.
 *
 *     genesis ─▶ proposal, approval, approval ─▶ commit ─▶ …
 *                signer set in force?   whose    quorum? items? state root? then exactly this leaf follows
 *
 * Where retention has removed the beginning, what follows cannot be judged: then only the chain of versions is held.
 */
import { CairnError } from '@cairn/kernel'
import type { SignatureVerifier } from '@cairn/tlog'
import { type Address, equalBytes } from '@cairn/wire'
import { type Approval, judgeApproval } from './approval.ts'
import { type Head, isOriginOf } from './artifact.ts'
import { judgeCommit } from './commit.ts'
import {
  type ApprovalLeaf,
  type CommitLeaf,
  createCommitLeaf,
  decodeLeaf,
  encodeLeaf,
  type GenesisLeaf,
  type LogLeaf,
  type ProposalLeaf,
} from './leaf.ts'
import { type LogIdentity, type Payload, type Proposal, payloadHash, signerSetOf } from './proposal.ts'
import { signerSetHash } from './signer-set.ts'
import { RegistryState } from './state.ts'

/** A proposal without a commit so far. */
export interface ReplayedProposal {
  readonly proposal: Proposal
  /** Absent where it did not fit into the leaf and was not needed yet. */
  readonly payload: Payload | undefined
  readonly approvals: readonly Approval[]
}

interface Open extends ReplayedProposal {
  readonly approvals: Approval[]
}

/** What a replay has come to, for another to go on from there. */
export interface ReplayPlace {
  readonly log: LogIdentity
  readonly head: Head
  readonly state: RegistryState
  readonly open: readonly ReplayedProposal[]
  /** Ids of the proposals that became versions: none may a second time. */
  readonly committed: readonly string[]
}

/** Gives the payload of a version that is too large for its leaf. */
export type PayloadReader = (version: number) => Promise<Payload>

interface ReplayTally {
  versions: number
  proposals: number
  approvals: number
  signerSets: number
  auditHeads: number
  snapshots: number
  /** Payloads that lie outside the log, of proposals without a commit. */
  unreadPayloads: number
}

/** A version as the log makes it; without its payload's hash where its proposal was removed. */
export interface MadeVersion extends Head {
  readonly payload_b3: Address | undefined
  readonly committed_at: number
  readonly log_index: number
}

interface ReplayedHead {
  readonly log: LogIdentity
  readonly head: Head
  readonly state: RegistryState
}

export class LogReplay {
  readonly tally: ReplayTally = {
    versions: 0,
    proposals: 0,
    approvals: 0,
    signerSets: 0,
    auditHeads: 0,
    snapshots: 0,
    unreadPayloads: 0,
  }
  readonly #origin: string
  readonly #verifier: SignatureVerifier
  readonly #payloadOf: PayloadReader
  readonly #open = new Map<string, Open>()
  readonly #committed = new Set<string>()
  /** What the leaves so far add up to; nothing before genesis, and where the beginning was removed. */
  #standing: ReplayedHead | undefined
  /** Of a log whose beginning was removed. */
  #lastHead: Head | undefined
  #made: MadeVersion | undefined
  #isWhole = true

  constructor(origin: string, verifier: SignatureVerifier, payloadOf: PayloadReader) {
    this.#origin = origin
    this.#verifier = verifier
    this.#payloadOf = payloadOf
  }

  /** Continues a replay from the place of an earlier one. The caller vouches for it; the tally counts from there. */
  static resume(place: ReplayPlace, verifier: SignatureVerifier, payloadOf: PayloadReader): LogReplay {
    const { log, head, state, open, committed } = place
    const replay = new LogReplay(log.origin, verifier, payloadOf)
    replay.#standing = { log, head, state }
    for (const proposal of open)
      replay.#open.set(proposal.proposal.proposal_id, { ...proposal, approvals: [...proposal.approvals] })
    for (const id of committed) replay.#committed.add(id)
    return replay
  }

  /** Where it is; undefined before genesis, and where the beginning was removed. */
  place(): ReplayPlace | undefined {
    if (this.#standing === undefined) return undefined
    const { log, head, state } = this.#standing
    return { log, head, state, open: [...this.#open.values()], committed: [...this.#committed] }
  }

  /** What all leaves so far add up to; undefined before genesis, and where the beginning was removed. */
  get state(): RegistryState | undefined {
    return this.#standing?.state
  }

  /** The newest version so far. */
  get head(): Head | undefined {
    return this.#standing?.head ?? this.#lastHead
  }

  /** The newest version made by a leaf this replay took, with all that is known of it. */
  get made(): MadeVersion | undefined {
    return this.#made
  }

  get genesis(): LogIdentity['genesis'] | undefined {
    return this.#standing?.log.genesis
  }

  /** Whether every leaf was judged, from genesis on. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Entries before the next one were removed. */
  skip(): void {
    this.#isWhole = false
    this.#standing = undefined
  }

  /** Takes the next entry; throws what is wrong with it. */
  async take(index: number, entry: Uint8Array): Promise<void> {
    const leaf = decodeLeaf(entry)
    if (!this.#isWhole) {
      this.#takeUnjudged(leaf, index)
      return
    }
    if ((index === 0) !== (leaf.type === 'genesis')) throw wrong('A log begins with genesis, and has only one.')
    if (leaf.type === 'genesis') this.#takeGenesis(leaf)
    else await this.#takeLater(leaf, index, entry)
  }

  /** Its form was seen to when it was read: it installs the first signer set, nothing else, and HEAD is its hash. */
  #takeGenesis({ artifact, head }: GenesisLeaf): void {
    const signerSet = signerSetOf(artifact.payload)
    if (signerSet === undefined) throw wrong('Genesis installs no signer set.')
    if (!isOriginOf(this.#origin, head.hash)) throw wrong(`The genesis ${head.hash} is not that of ${this.#origin}.`)
    this.#standing = { log: { origin: this.#origin, genesis: head.hash }, head, state: RegistryState.of([signerSet]) }
    const { payload_b3, committed_at } = artifact
    this.#made = { ...head, payload_b3, committed_at, log_index: 0 }
    this.tally.versions = 1
    this.tally.signerSets = 1
  }

  async #takeLater(leaf: Exclude<LogLeaf, GenesisLeaf>, index: number, entry: Uint8Array): Promise<void> {
    const standing = this.#standing
    if (standing === undefined) throw wrong('Nothing can come before genesis.')
    if (leaf.type === 'commit') {
      await this.#takeCommit(standing, leaf, index, entry)
      return
    }
    const { version, hash } = leaf.head
    if (version !== standing.head.version || hash !== standing.head.hash)
      throw wrong(`It says that HEAD is version ${version}, but it is version ${standing.head.version}.`)
    switch (leaf.type) {
      case 'proposal':
        this.#takeProposal(standing, leaf)
        break
      case 'approval':
        this.#takeApproval(standing, leaf)
        break
      case 'audit_head':
        this.tally.auditHeads += 1
        break
      case 'snapshot':
        this.tally.snapshots += 1
        break
    }
  }

  #takeProposal({ state }: ReplayedHead, { proposal, payload }: ProposalLeaf): void {
    const { proposal_id: id } = proposal
    // A proposer may choose an id again once what had it can be committed no more: this one ends later.
    const before = this.#open.get(id)?.proposal
    const isAgain = before !== undefined && proposal.expires_at <= before.expires_at
    if (isAgain || this.#committed.has(id)) throw wrong(`The proposal ${id} was there before.`)
    if (proposal.signer_set_hash !== signerSetHash(state.signerSet))
      throw wrong(`The proposal ${id} names another signer set than the one in force.`)
    this.#open.set(id, { proposal, payload, approvals: [] })
    this.tally.proposals += 1
    if (payload === undefined) this.tally.unreadPayloads += 1
  }

  #takeApproval({ log, state }: ReplayedHead, { proposal_id: id, approval }: ApprovalLeaf): void {
    const open = this.#open.get(id)
    if (open === undefined) throw wrong(`It approves ${id}, which is not an open proposal.`)
    const { proposal, approvals, payload = NO_ITEMS } = open
    // When it came is not in the log; that a commit was in time is judged with the commit.
    const approvalCase = { log, proposal, payload, signerSet: state.signerSet, formerSigners: [], approvals, now: 0 }
    const judged = judgeApproval(approvalCase, approval, this.#verifier)
    if (judged.kind === 'refused') throw wrong(`An approval that does not count: ${judged.detail}`)
    if (judged.approval.role !== approval.role)
      throw wrong(`The approval of ${approval.signer_id} claims another role.`)
    approvals.push(approval)
    this.tally.approvals += 1
  }

  async #takeCommit(
    { log, head, state }: ReplayedHead,
    leaf: CommitLeaf,
    index: number,
    entry: Uint8Array,
  ): Promise<void> {
    const { proposal_id: id, committed_at: now } = leaf
    const open = this.#open.get(id)
    if (open === undefined) throw wrong(`It commits ${id}, which is not an open proposal.`)
    const { proposal, approvals } = open
    const payload = open.payload ?? (await this.#payloadOf(leaf.head.version))
    if (payloadHash(payload) !== proposal.payload_b3) throw wrong(`The payload of ${id} is not the one it names.`)
    const judged = judgeCommit({ head, state, proposal, payload, approvals, now })
    if (judged.kind === 'refused') throw wrong(`A commit that could not be made: ${judged.detail}`)
    const { artifact } = judged.commit
    if (!equalBytes(encodeLeaf(createCommitLeaf(artifact)), entry))
      throw wrong(`It is not the commit that ${id} makes: version, chain, state root or hash differ.`)
    this.#standing = { log, head: judged.commit.head, state: judged.commit.state }
    this.#made = { ...judged.commit.head, payload_b3: proposal.payload_b3, committed_at: now, log_index: index }
    this.#open.delete(id)
    this.#committed.add(id)
    this.tally.versions += 1
    if (open.payload === undefined) this.tally.unreadPayloads -= 1
    if (signerSetOf(payload) !== undefined) this.tally.signerSets += 1
  }

  /** Without its beginning only the chain can be held: heads go up by one, each on the one before. */
  #takeUnjudged(leaf: LogLeaf, index: number): void {
    const last = this.#lastHead
    const { head } = leaf
    const isNext = leaf.type === 'commit' || leaf.type === 'genesis'
    if (last !== undefined) {
      const follows = isNext
        ? head.version === last.version + 1 && leaf.type === 'commit' && leaf.prev_hash === last.hash
        : head.version === last.version && head.hash === last.hash
      if (!follows) throw wrong(`Its HEAD, version ${head.version}, does not follow version ${last.version}.`)
    }
    this.#lastHead = head
    if (leaf.type !== 'commit') return
    this.#made = { ...head, payload_b3: undefined, committed_at: leaf.committed_at, log_index: index }
  }
}

const NO_ITEMS: Payload = { items: [] }

function wrong(detail: string): CairnError {
  return new CairnError('Integrity', detail)
}
