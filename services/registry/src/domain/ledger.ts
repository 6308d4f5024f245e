/**
 * What the log adds up to: HEAD and the state, proposals that are open, and what was committed.
 *
 *     ledger ── draft() ──▶ a draft of the next batch: sees its own changes over the ledger's
 *        ▲                        │
 *        └──── absorb(draft) ─────┘   in one step, once the batch is durable and signed; or never
 */
import {
  type Approval,
  type Commit,
  type Head,
  type ItemKind,
  itemKey,
  type Payload,
  type Proposal,
  type RegistryState,
  type Signer,
  signerSetOf,
} from '@cairn/names'
import type { RecordPlace } from '@cairn/store'
import { type Address, addressFromDigest, digestOf } from '@cairn/wire'
import { BytesColumn, NumberColumn, RecordPositions } from './columns.ts'

/** What is told of a version without reading its artifact. */
export interface VersionSummary {
  readonly version: number
  readonly hash: Address
  readonly payload_b3: Address
  readonly log_index: number
  /** Unix milliseconds. */
  readonly committed_at: number
}

const DIGEST_BYTES = 32

/** Every version there ever was, about a hundred bytes each. */
export class Versions {
  /** Where the artifacts lie. */
  readonly artifacts = new RecordPositions()
  readonly #hashes = new BytesColumn(DIGEST_BYTES)
  readonly #payloads = new BytesColumn(DIGEST_BYTES)
  readonly #logIndexes = new NumberColumn()
  readonly #committedAt = new NumberColumn()

  get count(): number {
    return this.#hashes.length
  }

  push(facts: VersionSummary, place: RecordPlace | undefined): void {
    this.#hashes.push(digestOf(facts.hash))
    this.#payloads.push(digestOf(facts.payload_b3))
    this.#logIndexes.push(facts.log_index)
    this.#committedAt.push(facts.committed_at)
    this.artifacts.push(place)
  }

  facts(version: number): VersionSummary {
    return {
      version,
      hash: addressFromDigest(this.#hashes.at(version)),
      payload_b3: addressFromDigest(this.#payloads.at(version)),
      log_index: this.#logIndexes.at(version),
      committed_at: this.#committedAt.at(version),
    }
  }
}

export interface PendingProposal {
  readonly proposal: Proposal
  readonly payload: Payload
  /** Bytes of the payload, for the bound on what is kept in memory. */
  readonly bytes: number
  readonly approvals: readonly Approval[]
  readonly logIndex: number
}

/** What a batch is decided against, and what it makes of it. */
export interface LedgerView {
  readonly head: Head
  readonly state: RegistryState
  /** Signers of earlier sets. */
  readonly formerSigners: readonly Signer[]
  readonly openCount: number
  readonly openBytes: number
  open(id: string): PendingProposal | undefined
  /** The version a proposal became. */
  committed(id: string): VersionSummary | undefined
}

export class Ledger implements LedgerView {
  head: Head
  state: RegistryState
  formerSigners: readonly Signer[]
  openBytes = 0
  readonly versions = new Versions()
  readonly #open = new Map<string, PendingProposal>()
  readonly #committed = new Map<string, number>()
  /** For each (kind, id), the versions that changed it. */
  readonly #history = new Map<string, number[]>()

  constructor(head: Head, state: RegistryState, formerSigners: readonly Signer[] = []) {
    this.head = head
    this.state = state
    this.formerSigners = formerSigners
  }

  get openCount(): number {
    return this.#open.size
  }

  open(id: string): PendingProposal | undefined {
    return this.#open.get(id)
  }

  committed(id: string): VersionSummary | undefined {
    const version = this.#committed.get(id)
    return version === undefined ? undefined : this.versions.facts(version)
  }

  /** Open proposals, the oldest first. */
  *proposals(): Generator<PendingProposal> {
    yield* this.#open.values()
  }

  /** The version that says what (kind, id) is at `version`: the last one up to it that changed it. */
  changedBy(key: string, version: number): number | undefined {
    return this.#history.get(key)?.findLast((changed) => changed <= version)
  }

  /** The versions below `before` that changed (kind, id), its removal among them: so many, the newest first. */
  changes(key: string, before: number, limit: number): number[] {
    const versions = this.#history.get(key) ?? []
    const end = versions.findLastIndex((version) => version < before) + 1
    return versions.slice(Math.max(0, end - limit), end).toReversed()
  }

  /** The versions whose artifacts describe something that stands. */
  liveVersions(): Set<number> {
    const live = new Set<number>()
    for (const item of this.state.items()) {
      const version = this.#history.get(itemKey(item))?.at(-1)
      if (version !== undefined) live.add(version)
    }
    return live
  }

  /** How many versions lie below this entry. */
  versionsBelow(logIndex: number): number {
    return this.#firstFrom(({ log_index: index }) => index >= logIndex)
  }

  /** The last version committed before a time. */
  lastBefore(ms: number): VersionSummary | undefined {
    const count = this.#firstFrom(({ committed_at: at }) => at >= ms)
    return count === 0 ? undefined : this.versions.facts(count - 1)
  }

  /** By version, the proposal it came of. */
  proposalIds(): Map<number, string> {
    return new Map([...this.#committed].map(([id, version]) => [version, id]))
  }

  /** The first version for which `holds`, which holds for all after it; their count if it holds for none. */
  #firstFrom(holds: (facts: VersionSummary) => boolean): number {
    let [low, high] = [0, this.versions.count]
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      if (holds(this.versions.facts(middle))) high = middle
      else low = middle + 1
    }
    return low
  }

  /** The versions that installed a signer set, genesis first. */
  signerSetVersions(): readonly number[] {
    return this.#history.get(SIGNER_SET_KEY) ?? []
  }

  draft(): LedgerDraft {
    return new LedgerDraft(this)
  }

  /** Takes the draft over; `artifacts` says where those of its commits lie, in order. */
  absorb({ head, state, formerSigners, changes }: LedgerDraft, artifacts: readonly RecordPlace[]): void {
    this.head = head
    this.state = state
    this.formerSigners = formerSigners
    const places = artifacts.values()
    for (const change of changes) {
      if (change.tag === 'open') this.setOpen(change.proposal)
      else this.note(change.proposalId, change.facts, change.payload.items, places.next().value)
    }
  }

  /** A proposal, or a later form of it with one more approval. */
  setOpen(proposal: PendingProposal): void {
    const { proposal_id: id } = proposal.proposal
    this.openBytes += proposal.bytes - (this.#open.get(id)?.bytes ?? 0)
    // In the place it had: the order is that of the proposals.
    this.#open.set(id, proposal)
  }

  /** The proposal cannot be committed any more: it was, or its time is over. */
  close(id: string): void {
    const gone = this.#open.get(id)
    if (gone === undefined) return
    this.#open.delete(id)
    this.openBytes -= gone.bytes
  }

  /** Remembers the next version, which proposal it came of, and what it changed. */
  note(
    proposalId: string,
    facts: VersionSummary,
    items: readonly { readonly kind: ItemKind; readonly id: string }[],
    artifact: RecordPlace | undefined,
  ): void {
    const { version } = facts
    this.close(proposalId)
    this.versions.push(facts, artifact)
    this.#committed.set(proposalId, version)
    for (const item of items) {
      const key = itemKey(item)
      const versions = this.#history.get(key)
      if (versions === undefined) this.#history.set(key, [version])
      else versions.push(version)
    }
  }

  /** Lets go of what has expired; returns how many. */
  expire(nowMs: number): number {
    const before = this.#open.size
    for (const { proposal } of this.#open.values()) if (proposal.expires_at <= nowMs) this.close(proposal.proposal_id)
    return before - this.#open.size
  }
}

const SIGNER_SET_KEY = itemKey({ kind: 'signer_set', id: 'root' })

type LedgerChange =
  | { readonly tag: 'open'; readonly proposal: PendingProposal }
  | {
      readonly tag: 'commit'
      readonly proposalId: string
      readonly facts: VersionSummary
      readonly payload: Payload
    }

/** The ledger as it will be after the commands decided so far. Thrown away, it leaves nothing behind. */
export class LedgerDraft implements LedgerView {
  head: Head
  state: RegistryState
  formerSigners: readonly Signer[]
  openCount: number
  openBytes: number
  readonly changes: LedgerChange[] = []
  readonly #base: Ledger
  readonly #open = new Map<string, PendingProposal | undefined>()
  readonly #committed = new Map<string, VersionSummary>()

  constructor(base: Ledger) {
    this.#base = base
    this.head = base.head
    this.state = base.state
    this.formerSigners = base.formerSigners
    this.openCount = base.openCount
    this.openBytes = base.openBytes
  }

  open(id: string): PendingProposal | undefined {
    return this.#open.has(id) ? this.#open.get(id) : this.#base.open(id)
  }

  committed(id: string): VersionSummary | undefined {
    return this.#committed.get(id) ?? this.#base.committed(id)
  }

  propose(proposal: PendingProposal): void {
    this.openCount += 1
    this.openBytes += proposal.bytes
    this.#set(proposal)
  }

  approve(before: PendingProposal, approval: Approval): PendingProposal {
    const after = { ...before, approvals: [...before.approvals, approval] }
    this.#set(after)
    return after
  }

  commit({ artifact, head, state }: Commit, logIndex: number): VersionSummary {
    const { payload, payload_b3, committed_at, proposal } = artifact
    const { proposal_id: proposalId } = proposal
    const facts = { version: head.version, hash: head.hash, payload_b3, log_index: logIndex, committed_at }
    if (signerSetOf(payload) !== undefined)
      this.formerSigners = [...this.formerSigners, ...this.state.signerSet.signers]
    this.#open.set(proposalId, undefined)
    this.#committed.set(proposalId, facts)
    this.head = head
    this.state = state
    this.changes.push({ tag: 'commit', proposalId, facts, payload })
    return facts
  }

  #set(proposal: PendingProposal): void {
    this.#open.set(proposal.proposal.proposal_id, proposal)
    this.changes.push({ tag: 'open', proposal })
  }
}
