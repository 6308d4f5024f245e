/**
 * Holds entries, one after the other, against what the log says of them. The first thing that is wrong is named by the
 * entry at which it shows.
 *
 *     entry ─▶ its hash is the one in the tree ─▶ its form ─▶ the HEAD it carries ─┬─▶ commit: artifact, chain, quorum
 *                                                                                  └─▶ the fold of all payloads so far
 *     every 256th ─▶ the tile is full: its root is the hash above it, on every level
 *     the last of a batch ─▶ its checkpoint: signed by this log, for this very tree
 */
import { CairnError } from '@cairn/kernel'
import {
  type CommitLeaf,
  createCommitLeaf,
  decodeLeaf,
  encodeLeaf,
  type GenesisLeaf,
  type Head,
  judgeArtifact,
  parseArtifact,
  RegistryState,
  type SignerSetItem,
  signerSetOf,
} from '@cairn/names'
import { Frontier, leafHash, openCheckpoint, type SignatureVerifier, TILE_WIDTH, tileRoot } from '@cairn/tlog'
import { equalBytes, parseJson } from '@cairn/wire'
import type { CheckpointSigner } from './log-keys.ts'
import type { RegistryLog } from './registry-log.ts'

// Whether the checkpoints that the journal holds are by the keys of this log, and of the tree as it was then.

export type CheckpointKeys = Pick<CheckpointSigner, 'identity' | 'logKey' | 'cosignerKey'>

/** Why a checkpoint of exactly so many entries is not the one that was written; nothing if all are. */
async function judgeCheckpoints(
  log: RegistryLog,
  { identity, logKey, cosignerKey }: CheckpointKeys,
  verifier: SignatureVerifier,
  size: number,
): Promise<string | undefined> {
  const trust = { origin: identity.origin, logKeys: [logKey], cosignerKeys: [cosignerKey] }
  try {
    for (const note of await log.notesOf(size)) {
      const { checkpoint } = openCheckpoint(note, trust, verifier)
      if (checkpoint.size !== size) return `the checkpoint after it is of ${checkpoint.size} entries.`
      if (!equalBytes(checkpoint.root, await log.rootAt(size)))
        return 'the tree up to it is not the one its checkpoint was signed for.'
    }
    return undefined
  } catch (error) {
    if (!(error instanceof CairnError) || !(error.kind === 'Integrity' || error.kind === 'Malformed')) throw error
    return `the checkpoint after it is damaged: ${error.message}`
  }
}

/**
 * The first stretch of entries whose checkpoint was signed for others: each batch has one, so the entry is named
 * exactly wherever it was alone in its batch. Nothing if every checkpoint that can be read holds.
 */
export async function firstUnsigned(
  log: RegistryLog,
  keys: CheckpointKeys,
  verifier: SignatureVerifier,
): Promise<{ readonly from: number; readonly to: number } | undefined> {
  let sound = log.minimumIndex
  for (let size = sound + 1; size <= log.size; size += 1) {
    const isSigned = (await log.notesOf(size).catch(() => [])).length > 0
    if (!isSigned) continue
    if ((await judgeCheckpoints(log, keys, verifier, size)) !== undefined) return { from: sound, to: size - 1 }
    sound = size
  }
  return undefined
}

export interface ChainStart {
  /** The first entry that will be held against the log. */
  readonly index: number
  /** HEAD before it; nothing before genesis. */
  readonly head: Head | undefined
  /** The signer set in force before it. */
  readonly signerSet: SignerSetItem | undefined
}

export interface ChainSources {
  readonly log: RegistryLog
  readonly keys: CheckpointKeys
  readonly verifier: SignatureVerifier
  /** The canonical bytes of a version's artifact. */
  readonly artifact: (version: number) => Promise<Uint8Array>
}

export class ChainVerifier {
  readonly #sources: ChainSources
  readonly #frontier: Frontier
  #head: Head | undefined
  #signerSet: SignerSetItem | undefined
  /** Known only if the walk began with genesis. */
  #state: RegistryState | undefined

  private constructor(sources: ChainSources, frontier: Frontier, { head, signerSet }: ChainStart) {
    this.#sources = sources
    this.#frontier = frontier
    this.#head = head
    this.#signerSet = signerSet
    this.#state = frontier.size === 0 ? RegistryState.EMPTY : undefined
  }

  static async open(sources: ChainSources, start: ChainStart): Promise<ChainVerifier> {
    const frontier = await Frontier.read(start.index, sources.log.hashes(start.index))
    return new ChainVerifier(sources, frontier, start)
  }

  /** The entry that comes next. */
  get index(): number {
    return this.#frontier.size
  }

  /** Why the next entry is wrong; nothing if it is sound, and then it is behind us. */
  async next(): Promise<string | undefined> {
    const { log } = this.#sources
    const { index } = this
    const entry = await log.entry(index)
    const hash = leafHash(entry)
    if (!equalBytes(hash, log.leafHashes(index, index + 1))) return 'it is not the entry the tree has a hash of.'
    const problem = await this.#judge(entry)
    if (problem !== undefined) return problem
    this.#frontier.append(hash)
    const { keys, verifier } = this.#sources
    return this.#fullTiles() ?? (await judgeCheckpoints(log, keys, verifier, index + 1))
  }

  /** Whether the entries behind us have this root. */
  isRoot(root: Uint8Array): boolean {
    return equalBytes(this.#frontier.root(), root)
  }

  async #judge(entry: Uint8Array): Promise<string | undefined> {
    const leaf = decodeLeaf(entry)
    if (leaf.type === 'genesis' || leaf.type === 'commit') return await this.#judgeCommit(leaf)
    const isHead = leaf.head.version === this.#head?.version && leaf.head.hash === this.#head.hash
    return isHead ? undefined : `it carries another HEAD than version ${this.#head?.version ?? 'none'}.`
  }

  async #judgeCommit(leaf: GenesisLeaf | CommitLeaf): Promise<string | undefined> {
    const { keys, verifier } = this.#sources
    const { version, hash } = leaf.head
    if (version !== (this.#head?.version ?? -1) + 1) return `version ${version} does not follow the one before it.`
    const artifact = parseArtifact(parseJson(await this.#sources.artifact(version)))
    const expected = encodeLeaf(createCommitLeaf(artifact))
    if (!equalBytes(expected, encodeLeaf(leaf))) return `it is not the leaf of the artifact of version ${version}.`
    if (this.#head !== undefined && artifact.prev_hash !== this.#head.hash)
      return `version ${version} does not name the version before it.`
    // History is judged by the set in force at its version; nobody approves genesis.
    const judged = this.#signerSet && judgeArtifact(keys.identity, artifact, this.#signerSet, verifier)
    if (judged?.kind === 'refused') return `version ${version} was not rightly committed: ${judged.detail}`
    const applied = this.#state?.apply(artifact.payload)
    if (applied?.kind === 'refused') return applied.detail
    if (applied !== undefined && applied.state.root !== artifact.state_root)
      return `the state after version ${version} is not the one it was signed with.`
    this.#state = applied?.state
    this.#signerSet = signerSetOf(artifact.payload) ?? this.#signerSet
    this.#head = { version, hash }
    return undefined
  }

  /** Tiles that the last entry filled match what stands above them. */
  #fullTiles(): string | undefined {
    const { log } = this.#sources
    for (let level = 0, count = this.index; count > 0 && count % TILE_WIDTH === 0; level += 1) {
      count /= TILE_WIDTH
      const tile = log.tile({ level, index: count - 1, width: TILE_WIDTH })
      const above = log.tile({
        level: level + 1,
        index: Math.floor((count - 1) / TILE_WIDTH),
        width: ((count - 1) % TILE_WIDTH) + 1,
      })
      if (!equalBytes(tileRoot(tile), above.subarray(-32)))
        return `the tile ${level}/${count - 1} does not match its parent.`
    }
    return undefined
  }
}
