/** What tests and tools use and the product does not. */
export { EMPTY_ROOT, nodeHash } from './hash.ts'
export { EMPTY_MAP_ROOT } from './merkle-map.ts'
export { MAX_NOTE_SIGNATURES, type Note } from './note.ts'
export { subtreeConsistencyProof, verifySubtreeConsistency, verifySubtreeInclusion } from './proof.ts'
export { encodeLogProof, type LogProof, parseLogProof, verifyLogProof } from './proof-file.ts'
export { type LogTrust, type NoteSigner } from './signing.ts'
export { encodeEntryBundle, tileIn } from './tile.ts'
export { type KeyType } from './verifier-key.ts'
