export {
  type Address,
  addressFromCid,
  addressFromDigest,
  addressOf,
  cidFromAddress,
  digestOf,
  knownAddressOfCid,
  parseAddress,
} from './address.ts'
export {
  type AuthenticToken,
  authenticate,
  type BearerDecision,
  bearerOf,
  joinTokens,
  judgeToken,
  readBundle,
  type Verifier,
} from './bearer.ts'
export { chainingValue } from './blake3/chaining.ts'
export type { Blake3Hasher } from './blake3/engine.ts'
export { blake3, createBlake3 } from './blake3/hash.ts'
export { compareBytes, equalBytes, freeBytes, fromBase64url, toBase64url, toHex } from './bytes.ts'
export {
  type CapabilityRequest,
  type Caveat,
  DENY_REASONS,
  type DenyReason,
  type DenyRow,
  normalisePath,
  type RawCaveat,
  readCaveat,
} from './caveats.ts'
export { decodeCbor, encodeCbor } from './cbor.ts'
export { createUlid, isCorrelationId } from './correlation.ts'
export { blockContains, type IpBlock, parseIp, parseIpBlock } from './ip.ts'
export { canonicalJson, type JsonObject, type JsonValue, parseJson } from './json.ts'
export { createKeyring, decodeKeyring, deriveKeyring, encodeKeyring, type Keyring, rotateKeyring } from './keyring.ts'
export { dhtKey, keyFromPeerId, peerIdFromKey, plainDhtKey } from './libp2p-keys.ts'
export {
  chunkAddress,
  chunkLength,
  createManifest,
  DEFAULT_CHUNK_BYTES,
  decodeManifest,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  verifyChunk,
} from './manifest.ts'
export { type BuiltObject, ManifestBuilder } from './manifest-builder.ts'
export {
  type ConditionalRequest,
  type CurrentState,
  type EntityTag,
  entityTagOf,
  evaluatePreconditions,
  formatHttpDate,
  matchesWeakly,
  type PreconditionOutcome,
  parseEntityTag,
  parseHttpDate,
} from './preconditions.ts'
export { objectIn, PROBLEM_MEDIA_TYPE, type Problem, type ProblemResponse, problemError, problemOf } from './problem.ts'
export {
  formatByteSize,
  formatDuration,
  parseByteSize,
  parseDuration,
  spellBytes,
  spellCount,
  spellSeconds,
} from './quantities.ts'
export { type ByteRange, contentRange, type RangeOutcome, type RangeRequest, selectRange } from './range.ts'
export { ANY_SCOPE, AUDIENCES, type Audience, isAudience, isScope, SCOPES, type Scope } from './scopes.ts'
export {
  compareVersions,
  decodeStatement,
  type SignedStatement,
  STATEMENT_BYTES_MAX,
  STATEMENT_VERBS,
  type Statement,
  type StatementSigner,
  type StatementVerb,
  type StatementVersion,
  signStatement,
  statementFromText,
  statementText,
  type VerifySignature,
  verifyStatement,
} from './statement.ts'
export { attenuateToken, type MintRequest, mintAdminToken, mintToken, type ReadToken, type Token } from './token.ts'
export {
  decodeTree,
  encodeTree,
  entryNamed,
  MAX_TREE_BYTES,
  mayBeTree,
  parseLinkTarget,
  type TreeEntry,
  type TreeObject,
  treeOffsets,
} from './tree.ts'
export * as wasm from './wasm-assembler.ts'
