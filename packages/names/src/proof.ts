/**
 * Proof files: what one version was, or what one name means, in one file that is verified offline.
 *
 *   checkpoint      the log's signed tree head, as it was signed
 *   commits         genesis ─► every change of signers ─► the commit that set the item ─► the version / HEAD
 *                   each a whole artifact with its place in the checkpoint's tree
 *   signer_set      the last commit's state names the signers the chain ends with
 *   item, last_leaf (names) the last commit's state has this item, or none; the checkpoint's last leaf says that this
 *                   commit is HEAD, so the item is the current one
 *   consistency     optional: the checkpoint continues an earlier one
 *   b3              BLAKE3 of the rest: tells a damaged file from a forged one; it proves nothing else
 *
 * The file is canonical JSON and nothing else.
 */
import { CairnError } from '@cairn/kernel'
import { decodeMapProof, encodeMapProof, HASH_BYTES, type Hash, type MapProof } from '@cairn/tlog'
import {
  addressOf,
  canonicalJson,
  equalBytes,
  fromBase64url,
  type JsonObject,
  type JsonValue,
  parseJson,
  toBase64url,
} from '@cairn/wire'
import { type Artifact, parseArtifact } from './artifact.ts'
import { FieldReader, isJsonObject, malformed } from './fields.ts'
import { type NameItem, parseItem, parseName } from './item.ts'
import { type LogLeaf, parseLeaf } from './leaf.ts'

/** An artifact and where its leaf stands in the log. The leaf itself follows from the artifact. */
export interface ProvenCommit {
  readonly artifact: Artifact
  readonly index: number
  readonly inclusion: readonly Hash[]
}

interface ProofBase {
  /** The signed note, byte for byte. */
  readonly checkpoint: Uint8Array
  /** Ascending; the first is genesis, the last is the version in question. */
  readonly commits: readonly ProvenCommit[]
  /** Of (signer_set, root), under the last commit's state root. */
  readonly signerSet: MapProof
  readonly consistency?: Consistency
}

export interface Consistency {
  /** The size of the earlier tree. */
  readonly from: number
  readonly hashes: readonly Hash[]
}

export interface VersionProof extends ProofBase {
  readonly type: 'version'
  readonly version: number
}

export interface NameProof extends ProofBase {
  readonly type: 'name'
  readonly name: string
  /** What the name means, or null where it has no meaning. */
  readonly item: NameItem | null
  /** Of (name, the name), under the last commit's state root. */
  readonly itemProof: MapProof
  /** The leaf at the end of the checkpoint's tree. */
  readonly lastLeaf: { readonly leaf: LogLeaf; readonly inclusion: readonly Hash[] }
}

export type Proof = VersionProof | NameProof

const SCHEMA = 'cairn.proof/1'
/** A registry that has changed its signers more often than this needs another kind of proof. */
const MAX_COMMITS = 4096
/** A tree of 2^53 leaves is 53 levels high; a consistency proof has at most one hash more. */
const MAX_HASHES = 54
/** Above this a reader is being kept busy, not informed. */
const MAX_PROOF_BYTES = 64 * 1_048_576

export function encodeProof(proof: Proof): Uint8Array {
  const content = writeProof(proof)
  return canonicalJson({ ...content, b3: addressOf(canonicalJson(content)) })
}

/** The proof in a file, by its form only: nothing is verified yet. A file that has been damaged is refused. */
export function parseProof(bytes: Uint8Array): Proof {
  if (bytes.length > MAX_PROOF_BYTES) throw new CairnError('TooLarge', `A proof has at most ${MAX_PROOF_BYTES} bytes.`)
  const value = parseJson(bytes)
  if (!isJsonObject(value)) throw malformed('A proof is a JSON object.')
  const { b3, ...content } = value
  if (b3 !== addressOf(canonicalJson(content)) || !equalBytes(canonicalJson(value), bytes)) {
    throw new CairnError('Integrity', 'The proof file is damaged: its own checksum or form is wrong. Get it again.')
  }
  return readProof(content)
}

function writeProof(proof: Proof): JsonObject {
  const { checkpoint, commits, signerSet, consistency } = proof
  const base = {
    schema: SCHEMA,
    checkpoint: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(checkpoint),
    commits: commits.map(({ artifact, index, inclusion }) => ({ artifact, index, inclusion: writeHashes(inclusion) })),
    signer_set: toBase64url(encodeMapProof(signerSet)),
    ...(consistency === undefined
      ? {}
      : { consistency: { from: consistency.from, hashes: writeHashes(consistency.hashes) } }),
  }
  if (proof.type === 'version') return { ...base, version: proof.version }
  const { name, item, itemProof, lastLeaf } = proof
  return {
    ...base,
    name,
    item,
    item_proof: toBase64url(encodeMapProof(itemProof)),
    last_leaf: { leaf: lastLeaf.leaf, inclusion: writeHashes(lastLeaf.inclusion) },
  }
}

const BASE_FIELDS: readonly string[] = ['schema', 'checkpoint', 'commits', 'signer_set']

function readProof(value: JsonObject): Proof {
  const isName = Object.hasOwn(value, 'name')
  const own = isName ? ['name', 'item', 'item_proof', 'last_leaf'] : ['version']
  const fields = new FieldReader(value, 'The proof', [...BASE_FIELDS, ...own], ['consistency'])
  fields.constant('schema', SCHEMA)
  const checkpoint = fields.value('checkpoint')
  if (typeof checkpoint !== 'string') throw fields.refused('checkpoint', 'must be the text of a signed note')
  const base: ProofBase = {
    checkpoint: new TextEncoder().encode(checkpoint),
    commits: fields.list('commits', 1, MAX_COMMITS).map(readCommit),
    signerSet: readMapProof(fields, 'signer_set'),
    ...(fields.has('consistency') ? { consistency: readConsistency(fields.value('consistency')) } : {}),
  }
  if (!isName) return { ...base, type: 'version', version: fields.integer('version', 0) }
  const name = fields.value('name')
  return {
    ...base,
    type: 'name',
    name: parseName(typeof name === 'string' ? name : ''),
    item: readNameItem(fields.value('item')),
    itemProof: readMapProof(fields, 'item_proof'),
    lastLeaf: readLastLeaf(fields.value('last_leaf')),
  }
}

function readCommit(value: JsonValue): ProvenCommit {
  const fields = new FieldReader(value, 'A commit of the proof', ['artifact', 'index', 'inclusion'], [])
  const artifact = parseArtifact(fields.value('artifact'))
  return { artifact, index: fields.integer('index', 0), inclusion: readHashes(fields, 'inclusion') }
}

function readNameItem(value: JsonValue): NameItem | null {
  if (value === null) return null
  const item = parseItem(value)
  if (item.kind !== 'name' || 'deleted' in item) throw malformed('The proof: the item must be a name that stands.')
  return item
}

function readLastLeaf(value: JsonValue): NameProof['lastLeaf'] {
  const fields = new FieldReader(value, 'The last leaf of the proof', ['leaf', 'inclusion'], [])
  return { leaf: parseLeaf(fields.value('leaf')), inclusion: readHashes(fields, 'inclusion') }
}

function readConsistency(value: JsonValue): Consistency {
  const fields = new FieldReader(value, 'The consistency proof', ['from', 'hashes'], [])
  return { from: fields.integer('from', 0), hashes: readHashes(fields, 'hashes') }
}

const writeHashes = (hashes: readonly Hash[]): string[] => hashes.map(toBase64url)

function readHashes(fields: FieldReader, name: string): readonly Hash[] {
  return fields.list(name, 0, MAX_HASHES).map((text) => {
    const hash = fromBase64url(typeof text === 'string' ? text : '')
    if (hash.length !== HASH_BYTES) throw fields.refused(name, 'must hold hashes of 32 bytes in base64url')
    return hash
  })
}

function readMapProof(fields: FieldReader, name: string): MapProof {
  const text = fields.value(name)
  return decodeMapProof(fromBase64url(typeof text === 'string' ? text : ''))
}
