/**
 * An artifact as the journal keeps it: with the proof that its state names the signer set in force, which later nobody
 * could make without folding the whole history up to it again.
 *
 *     │ length 2 │ map proof of (signer_set, root) │ canonical JSON of the artifact │
 */
import { CairnError } from '@cairn/kernel'
import { decodeMapProof, encodeMapProof, type MapProof } from '@cairn/tlog'

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
