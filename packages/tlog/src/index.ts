export { Frontier } from './frontier.ts'
export { HASH_BYTES, type Hash, leafHash, sha256 } from './hash.ts'
export { decodeMapProof, encodeMapProof, type MapEnd, type MapProof, MerkleMap, verifyMapProof } from './merkle-map.ts'
export { encodeNote, MAX_NOTE_BYTES, type NoteSignature, parseNote, parseSignatureLines } from './note.ts'
export {
  type ConsistencyClaim,
  consistencyProof,
  type InclusionClaim,
  inclusionProof,
  type SubtreeConsistencyClaim,
  type SubtreeInclusionClaim,
  verifyConsistency,
  verifyInclusion,
} from './proof.ts'
export type { HashReader, Node, Range } from './range.ts'
export {
  type Checkpoint,
  encodeCheckpoint,
  noteSigner,
  type OpenedCheckpoint,
  openCheckpoint,
  parseCheckpoint,
  type SignatureVerifier,
  signNote,
  type VerifiedSignature,
  verifyNote,
} from './signing.ts'

export {
  decodeEntryBundle,
  MAX_ENTRY_BYTES,
  parseTilePath,
  TILE_WIDTH,
  type Tile,
  type TileContent,
  TileWriter,
  tileHashReader,
  tilePath,
  tileRoot,
} from './tile.ts'
export {
  formatVerifierKey,
  parseVerifierKey,
  type SignatureAlgorithm,
  type VerifierKey,
  verifierKey,
} from './verifier-key.ts'
