/** A registry in memory, kept by the rules of this package alone: leaves, commits, checkpoints and proofs. */
import assert from 'node:assert/strict'
import {
  consistencyProof,
  encodeCheckpoint,
  encodeNote,
  Frontier,
  type Hash,
  inclusionProof,
  leafHash,
  noteSigner,
  signNote,
  verifierKey,
} from '@cairn/tlog'
import { type CommitFacts, createArtifact } from '../src/artifact.ts'
import {
  type Approval,
  type Artifact,
  artifactHash,
  createApprovalLeaf,
  createCommitLeaf,
  createGenesis,
  createProposalLeaf,
  encodeLeaf,
  type Head,
  headOf,
  type Item,
  itemHash,
  judgeApproval,
  judgeCommit,
  type LogIdentity,
  type LogLeaf,
  logIdentity,
  type NameItem,
  newSigners,
  type Payload,
  type Proposal,
  type ProvenCommit,
  payloadHash,
  proposalId,
  RegistryState,
  type Signer,
  type SignerSetItem,
  type Supersede,
  signerSetHash,
  signerSetOf,
  type TrustFile,
} from '../src/index.ts'
import { type NameProof, type VersionProof } from '../src/testing.ts'
import { approvalBy, publicPart, quantumSigner, signer, type TestSigner, VERIFIER } from './signers.ts'

export const START_MS = 1_800_000_000_000
export const manifest = (digit: string) => `b3:${digit.repeat(64)}` as const

export interface OpenProposal {
  readonly proposal: Proposal
  readonly payload: Payload
  readonly approvals: Approval[]
}

const LOG_KEY = signer(101)
const TIME_KEY = signer(102)
const QUANTUM_KEY = quantumSigner('log')
const WITNESSES = [signer(111), signer(112), signer(113)]

export class TestRegistry {
  readonly log: LogIdentity
  readonly signers: readonly TestSigner[]
  readonly leaves: LogLeaf[] = []
  readonly commits: { readonly artifact: Artifact; readonly index: number; readonly state: RegistryState }[] = []
  formerSigners: Signer[] = []
  nowMs = START_MS
  readonly #frontier = new Frontier()
  readonly #roots: Hash[] = [this.#frontier.root()]
  readonly #nodes = new Map<string, Hash>()
  #proposals = 0

  constructor(signers: readonly TestSigner[], m: number, nonce = 0, lie: Partial<Artifact> = {}) {
    this.signers = signers
    const terms = { proposal_id: proposalId(new Uint8Array(16).fill(nonce)), committed_at: START_MS }
    const genesis = { ...createGenesis({ m, signers: signers.map(publicPart) }, terms), ...lie }
    this.log = logIdentity('registry.example.org/cairn', artifactHash(genesis))
    this.#commit(genesis, RegistryState.EMPTY)
  }

  get state(): RegistryState {
    return this.commits.at(-1)!.state
  }

  get head(): Head {
    return headOf(this.commits.at(-1)!.artifact)
  }

  append(leaf: LogLeaf): number {
    this.leaves.push(leaf)
    this.#frontier.append(leafHash(encodeLeaf(leaf)), ({ level, index }, hash) => {
      this.#nodes.set(`${level}/${index}`, hash)
    })
    this.#roots.push(this.#frontier.root())
    return this.leaves.length - 1
  }

  #commit(artifact: Artifact, before: RegistryState): void {
    const applied = before.apply(artifact.payload)
    assert.ok(applied.kind === 'ok')
    const index = this.append(createCommitLeaf(artifact))
    this.commits.push({ artifact, index, state: applied.state })
  }

  propose(items: readonly Item[], supersede?: Supersede, signerSet = this.state.signerSet): OpenProposal {
    const payload: Payload = { items }
    this.#proposals++
    const id = new Uint8Array(16)
    new DataView(id.buffer).setUint32(0, this.#proposals)
    const proposal: Proposal = {
      proposal_id: proposalId(id),
      expires_at: this.nowMs + 86_400_000,
      signer_set_hash: signerSetHash(signerSet),
      payload_b3: payloadHash(payload),
      ...(supersede === undefined ? {} : { supersede }),
    }
    this.append(createProposalLeaf(this.head, proposal, payload))
    return { proposal, payload, approvals: [] }
  }

  /** Judges the signer's approval and keeps it if it counts; the code otherwise. */
  approve(open: OpenProposal, who: TestSigner, request = approvalBy(who, this.log, open.proposal)): string {
    const { log, formerSigners, nowMs: now } = this
    const judgement = judgeApproval(
      { log, formerSigners, now, signerSet: this.state.signerSet, ...open },
      request,
      VERIFIER,
    )
    if (judgement.kind === 'refused') return judgement.code
    open.approvals.push(judgement.approval)
    this.append(createApprovalLeaf(this.head, open.proposal.proposal_id, judgement.approval))
    return 'ok'
  }

  commit(open: OpenProposal): string {
    const before = this.state
    const judgement = judgeCommit({ head: this.head, state: before, now: this.nowMs, ...open })
    if (judgement.kind === 'refused') return judgement.code
    this.#commit(judgement.commit.artifact, before)
    const { signerSet } = this.state
    if (signerSet !== before.signerSet) this.formerSigners = [...this.formerSigners, ...before.signerSet.signers]
    return 'ok'
  }

  /** What a dishonest log could do: commits without approvals, with any facts it likes. */
  force(open: OpenProposal, lies: Partial<CommitFacts> & { readonly state?: RegistryState } = {}): Artifact {
    const { version, hash } = this.head
    const applied = this.state.apply(open.payload)
    const { state = applied.kind === 'ok' ? applied.state : this.state, ...facts } = lies
    const honest = { version: version + 1, prev_hash: hash, state_root: state.root, committed_at: this.nowMs }
    const artifact = createArtifact({ ...honest, ...facts }, open.proposal, open.payload, open.approvals)
    this.commits.push({ artifact, index: this.append(createCommitLeaf(artifact)), state })
    return artifact
  }

  /** Proposes, has the first m signers approve, and commits. */
  publish(items: readonly Item[], approvers = this.signers): void {
    const open = this.propose(items)
    for (const who of approvers.slice(0, this.state.signerSet.m)) assert.equal(this.approve(open, who), 'ok')
    assert.equal(this.commit(open), 'ok')
  }

  setName(id: string, digit: string, approvers = this.signers): NameItem {
    const current = this.state.get('name', id)
    const prev = current === undefined ? null : itemHash(current)
    const item: NameItem = { kind: 'name', id, prev, manifest: manifest(digit) }
    this.publish([item], approvers)
    return item
  }

  /** Replaces the signers; `approvers` are of the set in force, and every new key signs. */
  rotate(signers: readonly TestSigner[], m: number, approvers = this.signers): void {
    const { signerSet } = this.state
    const next: SignerSetItem = {
      kind: 'signer_set',
      id: 'root',
      prev: signerSetHash(signerSet),
      m,
      signers: signers.map(publicPart),
    }
    const open = this.propose([next])
    for (const who of approvers.slice(0, signerSet.m)) assert.equal(this.approve(open, who), 'ok')
    const incoming = newSigners(signerSet, next)
    for (const who of signers.filter(({ key }) => incoming.some((signer) => signer.key === key))) {
      assert.equal(this.approve(open, who), 'ok')
    }
    assert.equal(this.commit(open), 'ok')
  }

  // Keys and trust.

  logKeys({ time = true, quantum = false } = {}) {
    const { origin } = this.log
    return [
      { key: verifierKey(origin, 'ed25519', LOG_KEY.publicKey), by: LOG_KEY },
      ...(time
        ? [{ key: verifierKey(`${origin}/time`, 'ed25519-cosignature', TIME_KEY.publicKey), by: TIME_KEY }]
        : []),
      ...(quantum
        ? [{ key: verifierKey(`${origin}/pq`, 'ml-dsa-44-cosignature', QUANTUM_KEY.publicKey), by: QUANTUM_KEY }]
        : []),
    ]
  }

  witnessKeys() {
    return WITNESSES.map((by, at) => ({
      key: verifierKey(`witness.example.org/${at}`, 'ed25519-cosignature', by.publicKey),
      by,
    }))
  }

  trust({ quantum = false, threshold = 0 } = {}): TrustFile {
    const logKeys = this.logKeys({ quantum }).map(({ key }) => key)
    const trust = { ...this.log, logKeys }
    return threshold === 0
      ? trust
      : { ...trust, witnesses: { threshold, keys: this.witnessKeys().map(({ key }) => key) } }
  }

  root(size = this.leaves.length): Hash {
    return this.#roots[size]!
  }

  checkpoint({
    size = this.leaves.length,
    time = true,
    quantum = false,
    witnesses = 0,
    origin = this.log.origin,
  } = {}) {
    const text = encodeCheckpoint({ origin, size, root: this.root(size), extensions: [] })
    const seconds = Math.floor(this.nowMs / 1000)
    const keys = [...this.logKeys({ time, quantum }), ...this.witnessKeys().slice(0, witnesses)]
    const signers = keys.map(({ key, by }) => noteSigner(key, (message) => by.sign(message), seconds))
    return encodeNote(signNote(text, signers))
  }

  // Proofs.

  readonly #read = (level: number, index: number): Hash => this.#nodes.get(`${level}/${index}`)!

  async inclusion(index: number, size = this.leaves.length): Promise<Hash[]> {
    return await inclusionProof(index, size, this.#read)
  }

  async consistency(from: number): Promise<{ from: number; hashes: Hash[] }> {
    return { from, hashes: await consistencyProof(from, this.leaves.length, this.#read) }
  }

  /** The chain of signer sets up to `version`, and the versions asked for. */
  async provenCommits(version: number, also: readonly number[]): Promise<ProvenCommit[]> {
    const wanted = this.commits.filter(({ artifact }) => {
      const isLink = artifact.version <= version && signerSetOf(artifact.payload) !== undefined
      return isLink || artifact.version === version || also.includes(artifact.version)
    })
    return await Promise.all(
      wanted.map(async ({ artifact, index }) => ({ artifact, index, inclusion: await this.inclusion(index) })),
    )
  }

  async versionProof(version: number, checkpoint = this.checkpoint()): Promise<VersionProof> {
    const commits = await this.provenCommits(version, [])
    const signerSet = this.commits[version]!.state.prove('signer_set', 'root')
    return { type: 'version', version, checkpoint, commits, signerSet }
  }

  /** Of the name at `version`; honest only where that is HEAD. */
  async nameProof(name: string, checkpoint = this.checkpoint(), version = this.head.version): Promise<NameProof> {
    const { state } = this.commits[version]!
    const found = state.get('name', name)
    const item = found?.kind === 'name' ? found : null
    const setAt = this.commits.findLast(({ artifact }) => item !== null && artifact.payload.items.includes(item))
    const commits = await this.provenCommits(version, setAt === undefined ? [] : [setAt.artifact.version])
    const lastIndex = this.leaves.length - 1
    const lastLeaf = { leaf: this.leaves[lastIndex]!, inclusion: await this.inclusion(lastIndex) }
    const [signerSet, itemProof] = [state.prove('signer_set', 'root'), state.prove('name', name)]
    return { type: 'name', name, item, checkpoint, commits, signerSet, itemProof, lastLeaf }
  }
}

/** Two of three sign; some names, one re-pointed, one removed; the signers change once; the last leaf is a proposal. */
export function sampleRegistry(): TestRegistry {
  const signers = [signer(1), signer(2), signer(3)]
  const registry = new TestRegistry(signers, 2)
  registry.setName('site@1.0', 'a')
  const gone = registry.setName('gone@1.0', 'b')
  registry.setName('site@1.0', 'c')
  registry.publish([{ kind: 'name', id: 'gone@1.0', prev: itemHash(gone), deleted: true }])
  const next = [signers[0]!, signer(4), signer(5)]
  registry.rotate(next, 2)
  registry.setName('other@2.0', 'd', next)
  registry.propose([{ kind: 'region', id: 'eu-west', prev: null }])
  return registry
}
