/**
 * From the records of the journal to everything that is kept in memory.
 *
 *     leaf        its hash into the tree, its place into the table; the next index, or the log is damaged here
 *     artifact    waits for the commit leaf that makes it count
 *     proposal    remembered while it can be committed, with the approvals that follow
 *     checkpoint  the last one is what was published; where each lies is remembered
 *     damage      of an entry or an artifact ends the start; of a checkpoint it is told, and found by the deep verifier
 *
 * Records carry sums, and the leaves are held against a signed root at the end. So what is in them is taken as it was
 * written: only the newest of each item is folded into a state, and the state must have the root HEAD names.
 */
import {
  type Approval,
  type ApprovalLeaf,
  type Artifact,
  type CommitLeaf,
  type Item,
  isLive,
  itemKey,
  type LiveItem,
  type Payload,
  type ProposalLeaf,
  RegistryState,
  type Signer,
  signerSetOf,
} from '@cairn/names'
import type { Crypto } from '@cairn/platform'
import type { RecordPlace, ReplayEvent } from '@cairn/store'
import { addressFromDigest, blake3 } from '@cairn/wire'
import { damagedLog } from '../errors.ts'
import type { Base } from './base-file.ts'
import type { Checkpoints, NumberColumn, RecordPositions } from './columns.ts'
import { Ledger, type VersionSummary } from './ledger.ts'
import type { LogTree } from './log-tree.ts'
import { isFiledUnder, isLeaf, KIND, numberOf, readArtifactRecord } from './record.ts'

export interface LastCheckpoint {
  readonly note: Uint8Array
  readonly size: number
}

/** What is kept in memory of the records themselves. */
export interface LogViews {
  readonly tree: LogTree
  readonly entries: RecordPositions
  readonly checkpoints: Checkpoints
  /** Entries that anchor the head of an audit chain; those that were pruned are not among them. */
  readonly auditHeads: NumberColumn
}

type Event = Extract<ReplayEvent, { tag: 'record' }>

interface OpenLeaf {
  readonly leaf: ProposalLeaf
  readonly payload: Payload
  readonly bytes: number
  readonly index: number
  readonly approvals: Approval[]
}

interface Version {
  readonly proposalId: string
  readonly facts: VersionSummary
  /** What it changed; of a version below the base, what of it still stands. */
  readonly items: readonly Item[]
  /** Nothing where the journal does not hold the artifact any more. */
  readonly place: RecordPlace | undefined
}

export class JournalReplay {
  checkpoint: LastCheckpoint | undefined
  /** The entry after which the first record lies that cannot be read. */
  damagedAfter: number | undefined
  readonly #crypto: Pick<Crypto, 'sha256'>
  readonly #tree: LogTree
  readonly #entries: RecordPositions
  readonly #checkpoints: Checkpoints
  readonly #auditHeads: NumberColumn
  readonly #notBeforeMs: number
  readonly #items = new Map<string, LiveItem>()
  readonly #open = new Map<string, OpenLeaf>()
  readonly #versions: Version[] = []
  readonly #signerSets: (readonly Signer[])[] = []
  /** Up to this version the items are the base's. */
  #foldedVersion = -1
  #artifact: { readonly content: Artifact; readonly digest: Uint8Array; readonly place: RecordPlace } | undefined
  #payload: { readonly index: number; readonly bytes: Uint8Array } | undefined
  #lastCommit: Uint8Array | undefined
  #stateRoot = ''
  #minimumIndex = 0
  #isDamaged = false

  /** Proposals that expired before `notBeforeMs` are not remembered. */
  constructor(
    crypto: Pick<Crypto, 'sha256'>,
    { tree, entries, checkpoints, auditHeads }: LogViews,
    notBeforeMs: number,
  ) {
    this.#crypto = crypto
    this.#tree = tree
    this.#entries = entries
    this.#checkpoints = checkpoints
    this.#auditHeads = auditHeads
    this.#notBeforeMs = notBeforeMs
  }

  /** What was pruned: its hashes are in the tree already. `signerSets` are those of its versions, in order. */
  takeBase({ header, versions, items }: Base, signerSets: readonly (readonly Signer[])[]): void {
    this.#signerSets.push(...signerSets)
    this.#foldedVersion = header.state_version
    this.#stateRoot = header.state_root
    const itemsOf = Map.groupBy(items, ({ version }) => version)
    for (const { facts, proposalId } of versions) {
      const standing = itemsOf.get(facts.version) ?? []
      this.#versions.push({ proposalId, facts, items: standing.map(({ item }) => item), place: undefined })
    }
    for (const { item } of items) this.#items.set(itemKey(item), item)
    for (let index = 0; index < header.minimum_index; index += 1) this.#entries.push(undefined)
    this.#minimumIndex = header.minimum_index
  }

  take(event: ReplayEvent): void {
    if (event.tag === 'damage') this.#takeDamage(event)
    else if (isLeaf(event.kind)) this.#takeLeaf(event)
    else if (event.kind === KIND.artifact) this.#takeArtifact(event)
    else if (event.kind === KIND.payload) this.#payload = { index: numberOf(event.id), bytes: event.payload.slice() }
    else if (event.kind === KIND.checkpoint) {
      // One of a pruned stretch may still be here; only the newest counts.
      if (numberOf(event.id) >= this.#minimumIndex) this.#missingUpTo(numberOf(event.id))
      this.checkpoint = { note: event.payload.slice(), size: numberOf(event.id) }
      this.#checkpoints.push(this.checkpoint.size, event.place)
    }
  }

  /** An entry or an artifact will be missed by what follows. What nothing misses stood for no entry: a checkpoint. */
  #takeDamage({ segment, gap }: Extract<ReplayEvent, { tag: 'damage' }>): void {
    const { size } = this.#tree
    if (size > 0) {
      this.damagedAfter ??= size - 1
      // Whoever reads it there meets the damage again.
      this.#checkpoints.push(size, { segment, offset: gap.from, length: 0 })
    }
    this.#isDamaged = true
  }

  /** The ledger, or nothing if the log is empty. `unreadable` segments may have held what came last. */
  finish(unreadable: readonly number[]): Ledger | undefined {
    const { size } = this.#tree
    if (unreadable.length > 0) throw damagedLog(size, `the segments ${unreadable.join(', ')} cannot be read.`)
    const last = this.#versions.at(-1)
    if (last === undefined) {
      if (size > 0 || this.#isDamaged) throw damagedLog(size, 'it has no genesis.')
      return undefined
    }
    const { version, hash, log_index: index } = last.facts
    if (this.#lastCommit !== undefined) {
      const { head } = parse(this.#lastCommit) as CommitLeaf
      if (head.hash !== hash) throw damagedLog(index, `it does not name the artifact of version ${version}.`)
    }
    const state = RegistryState.of(this.#items.values())
    if (state.root !== this.#stateRoot) throw damagedLog(index, 'the state up to it is not the one that was signed.')
    const ledger = new Ledger({ version, hash }, state, this.#signerSets.slice(0, -1).flat())
    for (const { proposalId, facts, items, place } of this.#versions) ledger.note(proposalId, facts, items, place)
    for (const { leaf, payload, bytes, index, approvals } of this.#open.values())
      ledger.setOpen({ proposal: leaf.proposal, payload, bytes, approvals, logIndex: index })
    return ledger
  }

  #takeLeaf({ kind, id, payload, place }: Event): void {
    const index = this.#tree.size
    if (numberOf(id) < this.#minimumIndex) {
      // Pruned, and its segment not removed yet.
      this.#artifact = undefined
      return
    }
    this.#missingUpTo(numberOf(id))
    if (numberOf(id) < index) throw damagedLog(numberOf(id), 'it is there twice.')
    const hash = this.#leafHash(payload)
    if (!isFiledUnder(id, hash)) throw damagedLog(index, 'it is not the entry that was written there.')
    this.#tree.append(hash)
    this.#entries.push(place)
    if (kind === KIND.commit) this.#takeCommit(index, payload)
    else if (kind === KIND.proposal) this.#takeProposal(index, payload)
    else if (kind === KIND.approval) this.#takeApproval(payload)
    else if (kind === KIND.audit_head) this.#auditHeads.push(index)
  }

  #takeArtifact({ id, payload, place }: Event): void {
    const { artifact } = readArtifactRecord(payload)
    const digest = blake3(artifact)
    // The commit leaf that needs it will miss it.
    if (!isFiledUnder(id, digest)) return
    this.#artifact = { content: parse(artifact) as Artifact, digest, place }
  }

  #takeCommit(index: number, entry: Uint8Array): void {
    const made = this.#artifact
    this.#artifact = undefined
    if (made?.content.version !== this.#versions.length)
      throw damagedLog(index, `the artifact of version ${this.#versions.length} is missing.`)
    const { version, payload, payload_b3, committed_at, proposal, state_root: stateRoot } = made.content
    this.#lastCommit = entry.slice()
    this.#stateRoot = stateRoot
    const { proposal_id: proposalId } = proposal
    const facts = { version, hash: addressFromDigest(made.digest), payload_b3, log_index: index, committed_at }
    this.#versions.push({ proposalId, facts, items: payload.items, place: made.place })
    for (const item of version <= this.#foldedVersion ? [] : payload.items) {
      if (isLive(item)) this.#items.set(itemKey(item), item)
      else this.#items.delete(itemKey(item))
    }
    const signers = signerSetOf(payload)?.signers
    if (signers !== undefined) this.#signerSets.push(signers)
    this.#open.delete(proposalId)
  }

  #takeProposal(index: number, entry: Uint8Array): void {
    const apart = this.#payload?.index === index ? this.#payload.bytes : undefined
    this.#payload = undefined
    const leaf = parse(entry) as ProposalLeaf
    if (leaf.proposal.expires_at <= this.#notBeforeMs) return
    const payload = leaf.payload ?? (apart === undefined ? undefined : (parse(apart) as Payload))
    if (payload === undefined) throw damagedLog(index, 'the payload of its proposal is missing.')
    const bytes = apart?.length ?? entry.length
    this.#open.set(leaf.proposal.proposal_id, { leaf, payload, bytes, index, approvals: [] })
  }

  #takeApproval(entry: Uint8Array): void {
    if (this.#open.size === 0) return
    const { proposal_id: id, approval } = parse(entry) as ApprovalLeaf
    this.#open.get(id)?.approvals.push(approval)
  }

  #missingUpTo(size: number): void {
    if (size > this.#tree.size) throw damagedLog(this.#tree.size, 'it is missing.')
  }

  #leafHash(entry: Uint8Array): Uint8Array {
    const input = new Uint8Array(1 + entry.length)
    input.set(entry, 1)
    return this.#crypto.sha256(input)
  }
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes))
}
