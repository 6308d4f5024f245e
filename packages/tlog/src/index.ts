export { type Checkpoint, encodeCheckpoint, parseCheckpoint } from './checkpoint.ts'
export { decodeEntryBundle, encodeEntryBundle, MAX_ENTRY_BYTES } from './entry-bundle.ts'
export { Frontier } from './frontier.ts'
export { EMPTY_ROOT, HASH_BYTES, type Hash, leafHash, nodeHash, sha256 } from './hash.ts'
export { EMPTY_MAP_ROOT } from './map-hash.ts'
export { decodeMapProof, encodeMapProof, type MapEnd, type MapProof, verifyMapProof } from './map-proof.ts'
export { MerkleMap } from './merkle-map.ts'
export {
  encodeNote,
  MAX_NOTE_BYTES,
  MAX_NOTE_SIGNATURES,
  type Note,
  type NoteSignature,
  parseNote,
  parseSignatureLines,
} from './note.ts'
export { type LogTrust, type OpenedCheckpoint, openCheckpoint } from './open-checkpoint.ts'
export {
  type ConsistencyClaim,
  consistencyProof,
  type InclusionClaim,
  inclusionProof,
  type SubtreeConsistencyClaim,
  type SubtreeInclusionClaim,
  subtreeConsistencyProof,
  verifyConsistency,
  verifyInclusion,
  verifySubtreeConsistency,
  verifySubtreeInclusion,
} from './proof.ts'
export { encodeLogProof, type LogProof, parseLogProof, verifyLogProof } from './proof-file.ts'
export type { HashReader, Node, Range } from './range.ts'
export {
  type NoteSigner,
  noteSigner,
  type SignatureVerifier,
  signNote,
  type VerifiedSignature,
  verifyNote,
} from './signing.ts'
export { parseTilePath, TILE_WIDTH, type Tile, tileHashReader, tileIn, tilePath, tileRoot } from './tile.ts'
export { type TileContent, TileWriter } from './tile-writer.ts'
export {
  formatVerifierKey,
  type KeyType,
  parseVerifierKey,
  type SignatureAlgorithm,
  type VerifierKey,
  verifierKey,
} from './verifier-key.ts'
