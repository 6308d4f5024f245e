/**
 * What the journal of the registry holds. A kind is one byte on the drive and never changes its meaning.
 *
 *     payload?  proposal  approval  approval  artifact  commit  …  checkpoint
 *        └─ only what does not fit into its leaf   └─ before the leaf that counts on it, so that a batch which a power
 *                                                     cut tore in two is still whole as far as it goes
 *
 * The id of a record is its number (index of a leaf, version of an artifact, size of a checkpoint) and the beginning
 * of its hash: what is damaged can be named, and what was put in its place is told from it.
 */
import { CairnError } from '@cairn/kernel'
import type { LogLeaf } from '@cairn/names'
import type { Draft } from '@cairn/store'
import { decodeMapProof, encodeMapProof, type MapProof } from '@cairn/tlog'
import { equalBytes } from '@cairn/wire'

/*
 * An artifact as the journal keeps it: with the proof that its state names the signer set in force, which later nobody
 * could make without folding the whole history up to it again.
 *
 *     │ length 2 │ map proof of (signer_set, root) │ canonical JSON of the artifact │
 */

const LENGTH_BYTES = 2

export function encodeArtifactRecord(signerSet: MapProof, artifact: Uint8Array): Uint8Array {
  const proof = encodeMapProof(signerSet)
  const record = new Uint8Array(LENGTH_BYTES + proof.length + artifact.length)
  new DataView(record.buffer).setUint16(0, proof.length)
  record.set(proof, LENGTH_BYTES)
  record.set(artifact, LENGTH_BYTES + proof.length)
  return record
}

/** The two parts, as views of the record. */
export function readArtifactRecord(record: Uint8Array): { readonly proof: Uint8Array; readonly artifact: Uint8Array } {
  const length = new DataView(record.buffer, record.byteOffset, record.byteLength).getUint16(0)
  const start = LENGTH_BYTES + length
  if (start > record.length) throw new CairnError('Integrity', 'A record of an artifact ends inside its proof.')
  return { proof: record.subarray(LENGTH_BYTES, start), artifact: record.subarray(start) }
}

export function signerSetProofOf(record: Uint8Array): MapProof {
  return decodeMapProof(readArtifactRecord(record).proof)
}

export const KIND = {
  proposal: 1,
  approval: 2,
  commit: 3,
  audit_head: 4,
  snapshot: 5,
  artifact: 16,
  payload: 17,
  checkpoint: 18,
} as const

const LEAF_KINDS: Readonly<Record<LogLeaf['type'], number>> = {
  genesis: KIND.commit,
  proposal: KIND.proposal,
  approval: KIND.approval,
  commit: KIND.commit,
  audit_head: KIND.audit_head,
  snapshot: KIND.snapshot,
}

const NUMBER_BYTES = 8
const ID_BYTES = 32

/** Whether records of this kind are entries of the log. */
export function isLeaf(kind: number): boolean {
  return kind < KIND.artifact
}

export function leafDraft(type: LogLeaf['type'], index: number, hash: Uint8Array, entry: Uint8Array): Draft {
  return { kind: LEAF_KINDS[type], flags: 0, id: recordId(index, hash), payload: entry }
}

export function partDraft(
  kind: 'artifact' | 'payload' | 'checkpoint',
  number: number,
  hash: Uint8Array,
  payload: Uint8Array,
): Draft {
  return { kind: KIND[kind], flags: 0, id: recordId(number, hash), payload }
}

function recordId(number: number, hash: Uint8Array): Uint8Array {
  const id = new Uint8Array(ID_BYTES)
  viewOf(id).setBigUint64(0, BigInt(number))
  id.set(hash.subarray(0, ID_BYTES - NUMBER_BYTES), NUMBER_BYTES)
  return id
}

export function numberOf(id: Uint8Array): number {
  const view = viewOf(id)
  return view.getUint32(0) * 2 ** 32 + view.getUint32(4)
}

/** Whether the record with this id is the one that was written: its hash is the one it was filed under. */
export function isFiledUnder(id: Uint8Array, hash: Uint8Array): boolean {
  return equalBytes(id.subarray(NUMBER_BYTES), hash.subarray(0, ID_BYTES - NUMBER_BYTES))
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
