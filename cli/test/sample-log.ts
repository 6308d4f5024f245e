/** A log in memory that can be as dishonest as a test wants: what a registry would publish, without the registry. */
import assert from 'node:assert/strict'
import type { RegistryClient, RegistryHead } from '@cairn/clients'
import { CairnError, Deadline, SystemClock } from '@cairn/kernel'
import {
  type Approval,
  type Artifact,
  artifactHash,
  createApprovalLeaf,
  createCommitLeaf,
  createGenesis,
  createProposalLeaf,
  decodeLeaf,
  encodeLeaf,
  encodeProof,
  type Head,
  headOf,
  type Item,
  itemHash,
  judgeCommit,
  type LogIdentity,
  type LogLeaf,
  logIdentity,
  type NameItem,
  type Payload,
  type Proof,
  type Proposal,
  type ProvenCommit,
  payloadHash,
  proposalId,
  RegistryState,
  type SignerKey,
  type SignerSetItem,
  signerSetHash,
  signerSetOf,
  signingInput,
  type TrustFile,
} from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import {
  consistencyProof,
  encodeCheckpoint,
  encodeNote,
  type Hash,
  type HashReader,
  inclusionProof,
  leafHash,
  noteSigner,
  signNote,
  TILE_WIDTH,
  TileWriter,
  tileHashReader,
  tilePath,
  verifierKey,
} from '@cairn/tlog'
import { encodeEntryBundle } from '@cairn/tlog/testing'
import { addressOf, equalBytes, toBase64url } from '@cairn/wire'
import { publicKeyOf, signWith } from '../src/key.ts'
import type { RegistryConnection } from '../src/registry-service.ts'

const START_MS = 1_800_000_000_000
const LOG_SEED = new Uint8Array(32).fill(201)

/** The signer of this number; two numbers have two keys. */
export function sampleSigner(number: number, id: string): SignerKey {
  const seed = new Uint8Array(32).fill(number)
  return { signer: { id, algo: 'ed25519', key: publicKeyOf('ed25519', seed) }, seed }
}

export const manifest = (text: string) => addressOf(new TextEncoder().encode(text))

export interface Opened {
  readonly proposal: Proposal
  readonly payload: Payload
  readonly approvals: Approval[]
}

export class SampleLog {
  readonly log: LogIdentity
  readonly entries: Uint8Array[] = []
  readonly artifacts: Artifact[] = []
  /** What is served in place of what there is, by path. */
  readonly served = new Map<string, Uint8Array | CairnError>()
  head: Head
  state: RegistryState
  #proposals = 0

  constructor(signers: readonly SignerKey[], m: number) {
    const terms = { proposal_id: proposalId(new Uint8Array(16)), committed_at: START_MS }
    const genesis = createGenesis({ m, signers: signers.map(({ signer }) => signer) }, terms)
    this.log = logIdentity('registry.example.org/cairn', artifactHash(genesis))
    this.head = headOf(genesis)
    this.state = RegistryState.of(genesis.payload.items as readonly SignerSetItem[])
    this.artifacts.push(genesis)
    this.append(createCommitLeaf(genesis))
  }

  append(leaf: LogLeaf): number {
    return this.entries.push(encodeLeaf(leaf)) - 1
  }

  nameItem(id: string, meaning: string): NameItem {
    const current = this.state.get('name', id)
    const prev = current === undefined ? null : itemHash(current)
    return { kind: 'name', id, prev, manifest: manifest(meaning) }
  }

  propose(items: readonly Item[], lie: Partial<Proposal> = {}): Opened {
    const payload: Payload = { items }
    this.#proposals += 1
    const id = new Uint8Array(16)
    new DataView(id.buffer).setUint32(0, this.#proposals)
    const proposal: Proposal = {
      proposal_id: proposalId(id),
      expires_at: START_MS + 1000,
      signer_set_hash: signerSetHash(this.state.signerSet),
      payload_b3: payloadHash(payload),
      ...lie,
    }
    this.append(createProposalLeaf(this.head, proposal, payload))
    return { proposal, payload, approvals: [] }
  }

  approve({ proposal, approvals }: Opened, key: SignerKey, lie: Partial<Approval> = {}, log = this.log): void {
    const sig = toBase64url(signWith(key, signingInput(log, proposal)))
    const approval: Approval = { signer_id: key.signer.id, sig, role: 'current', ...lie }
    approvals.push(approval)
    this.append(createApprovalLeaf(this.head, proposal.proposal_id, approval))
  }

  commit(open: Opened): void {
    const judged = judgeCommit({ head: this.head, state: this.state, ...open, now: START_MS })
    assert.ok(judged.kind === 'ok', JSON.stringify(judged))
    const { artifact, head, state } = judged.commit
    this.artifacts.push(artifact)
    this.head = head
    this.state = state
    this.append(createCommitLeaf(artifact))
  }

  /** Makes the artifact HEAD, whatever the rules say of it. */
  force(artifact: Artifact): void {
    this.artifacts.push(artifact)
    this.head = headOf(artifact)
    this.append(createCommitLeaf(artifact))
  }

  /** What an honest commit of this would be, for those who want to change it. */
  artifactOf(open: Opened): Artifact {
    const judged = judgeCommit({ head: this.head, state: this.state, ...open, now: START_MS })
    assert.ok(judged.kind === 'ok')
    return judged.commit.artifact
  }

  setName(id: string, meaning: string, keys: readonly SignerKey[]): void {
    const open = this.propose([this.nameItem(id, meaning)])
    for (const key of keys) this.approve(open, key)
    this.commit(open)
  }

  rotate(next: readonly SignerKey[], m: number, keys: readonly SignerKey[]): void {
    const prev = signerSetHash(this.state.signerSet)
    const signers = next.map(({ signer }) => signer)
    const open = this.propose([{ kind: 'signer_set', id: 'root', prev, m, signers }])
    const known = new Set(this.state.signerSet.signers.map(({ key }) => key))
    for (const key of keys) this.approve(open, key)
    for (const key of next) if (!known.has(key.signer.key)) this.approve(open, key, { role: 'incoming' })
    this.commit(open)
    assert.ok(signerSetOf(open.payload) !== undefined)
  }

  /** HEAD as the registry tells it: of the version that `head` names, true or not. */
  told(minimumIndex = 0): RegistryHead {
    const { payload_b3, committed_at } = this.artifacts.at(-1)!
    const leaf = encodeLeaf(createCommitLeaf(this.artifacts.at(-1)!))
    const index = this.entries.findIndex((entry) => equalBytes(entry, leaf))
    const { origin } = this.log
    return { ...this.head, payload_b3, committed_at, log_index: index, origin, minimum_index: minimumIndex }
  }

  get trust(): TrustFile {
    const { origin, genesis } = this.log
    return { origin, genesis, logKeys: [verifierKey(origin, 'ed25519', systemCrypto.ed25519PublicKey(LOG_SEED))] }
  }

  tree(size = this.entries.length): TileWriter {
    const tree = TileWriter.empty()
    for (const entry of this.entries.slice(0, size)) tree.append(leafHash(entry))
    return tree
  }

  root(size = this.entries.length): Hash {
    return this.tree(size).root()
  }

  checkpoint(): Uint8Array {
    const { origin } = this.log
    const text = encodeCheckpoint({ origin, size: this.entries.length, root: this.root(), extensions: [] })
    const [key] = this.trust.logKeys
    return encodeNote(signNote(text, [noteSigner(key!, (message) => systemCrypto.ed25519Signer(LOG_SEED)(message))]))
  }

  /** The file that proves what a name means now; `from` as a reader with a pin asks for it. */
  async nameProof(name: string, from?: number): Promise<Uint8Array> {
    const size = this.entries.length
    const item = this.state.get('name', name)
    const setBy = this.artifacts.findLast(({ payload }) => payload.items.some(({ id }) => id === name))
    const isWanted = ({ version, payload }: Artifact): boolean =>
      signerSetOf(payload) !== undefined || version === setBy?.version || version === this.head.version
    const proof: Proof = {
      type: 'name',
      name,
      item: item?.kind === 'name' ? item : null,
      itemProof: this.state.prove('name', name),
      lastLeaf: { leaf: decodeLeaf(this.entries[size - 1]!), inclusion: await this.#inclusion(size - 1) },
      checkpoint: this.checkpoint(),
      commits: await Promise.all(this.artifacts.filter(isWanted).map(async (artifact) => await this.#proven(artifact))),
      signerSet: this.state.prove('signer_set', 'root'),
      ...(from === undefined
        ? {}
        : { consistency: { from, hashes: await consistencyProof(from, size, this.#hashes()) } }),
    }
    return encodeProof(proof)
  }

  /** The file that proves HEAD. */
  async headProof(): Promise<Uint8Array> {
    const isWanted = ({ version, payload }: Artifact): boolean =>
      signerSetOf(payload) !== undefined || version === this.head.version
    return encodeProof({
      type: 'version',
      version: this.head.version,
      checkpoint: this.checkpoint(),
      commits: await Promise.all(this.artifacts.filter(isWanted).map(async (artifact) => await this.#proven(artifact))),
      signerSet: this.state.prove('signer_set', 'root'),
    })
  }

  async #proven(artifact: Artifact): Promise<ProvenCommit> {
    const leaf = encodeLeaf(createCommitLeaf(artifact))
    const index = this.entries.findIndex((entry) => equalBytes(entry, leaf))
    return { artifact, index, inclusion: await this.#inclusion(index) }
  }

  async #inclusion(index: number): Promise<Hash[]> {
    return await inclusionProof(index, this.entries.length, this.#hashes())
  }

  #hashes(): HashReader {
    const tiles = this.#tiles()
    return tileHashReader(this.entries.length, (tile) => tiles.get(tilePath(tile))!)
  }

  /** The tiles as published: those of the tree, but for what `served` says. */
  #tiles(): Map<string, Uint8Array> {
    const tree = TileWriter.empty()
    const full = this.entries.flatMap((entry) => tree.append(leafHash(entry)))
    return new Map([...full, ...tree.partialTiles()].map(({ tile, bytes }) => [tilePath(tile), bytes]))
  }

  registry(): RegistryConnection {
    const tiles = this.#tiles()
    const clock = new SystemClock()
    const given = (path: string, honest: () => Uint8Array): Uint8Array => {
      const lie = this.served.get(path)
      if (lie instanceof CairnError) throw lie
      return lie ?? honest()
    }
    const client: Pick<RegistryClient, 'checkpoint' | 'tile' | 'entries' | 'version'> = {
      checkpoint: async () => this.checkpoint(),
      tile: async (tile) => given(tilePath(tile), () => tiles.get(tilePath(tile))!),
      entries: async (index, width) => {
        const bundle = this.entries.slice(index * TILE_WIDTH, index * TILE_WIDTH + width)
        given(tilePath({ level: 'entries', index, width }), () => encodeEntryBundle(bundle))
        return bundle
      },
      version: async (version) => this.artifacts[version]!,
    }
    return {
      client: client as RegistryClient,
      url: 'http://registry.example.org/',
      call: () => ({ deadline: Deadline.after(clock, 1000) }),
    }
  }
}
