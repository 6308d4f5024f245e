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
export { spellBytes, spellCount, spellSeconds } from './amounts.ts'
export {
  type AuthenticToken,
  authenticate,
  bearerOf,
  joinTokens,
  judgeToken,
  readBundle,
  type Verdict,
  type Verifier,
} from './bearer.ts'
export { chainingValue, fold } from './blake3/chaining.ts'
export type { Blake3Hasher } from './blake3/engine.ts'
export { blake3, createBlake3, deriveBlake3Key, keyedBlake3 } from './blake3/hash.ts'
export { compareBytes, equalBytes, equalSecrets, freeBytes, fromBase64url, toBase64url, toHex } from './bytes.ts'
export { type CapabilityRequest, type Caveat, type RawCaveat, readCaveat } from './caveats.ts'
export { decodeCbor, encodeCbor } from './cbor.ts'
export { createUlid, isCorrelationId } from './correlation.ts'
export { DENY_REASONS, type DenyReason, type DenyRow } from './deny-reasons.ts'
export { dhtKey, plainDhtKey } from './dht-key.ts'
export {
  type EntityTag,
  entityTagOf,
  matchesStrongly,
  matchesWeakly,
  parseEntityTag,
  parseEntityTags,
} from './entity-tag.ts'
export { formatHttpDate, parseHttpDate } from './http-date.ts'
export { blockContains, type IpBlock, parseIp, parseIpBlock } from './ip.ts'
export { canonicalJson, type JsonObject, type JsonValue, parseJson } from './json.ts'
export {
  createKeyring,
  decodeKeyring,
  deriveKeyring,
  encodeKeyring,
  type Keyring,
  type KeyringKey,
  rotateKeyring,
} from './keyring.ts'
export {
  chunkAddress,
  chunkLength,
  createManifest,
  DEFAULT_CHUNK_BYTES,
  type Manifest,
  verifyChunk,
} from './manifest.ts'
export { type BuiltObject, ManifestBuilder } from './manifest-builder.ts'
export { decodeManifest, encodeManifest, MAX_MANIFEST_BYTES } from './manifest-codec.ts'
export { normalisePath } from './path.ts'
export { keyFromPeerId, peerIdFromKey } from './peer-id.ts'
export {
  type ConditionalRequest,
  type CurrentState,
  evaluatePreconditions,
  type PreconditionOutcome,
} from './preconditions.ts'
export { PROBLEM_MEDIA_TYPE, type Problem, problemOf } from './problem.ts'
export { objectIn, problemError, type Refusal } from './problem-error.ts'
export { formatByteSize, formatDuration, parseByteSize, parseDuration } from './quantities.ts'
export {
  type ByteRange,
  contentRange,
  evaluateRange,
  type RangeOutcome,
  type RangeRequest,
  selectRange,
} from './range.ts'
export { ANY_SCOPE, AUDIENCES, type Audience, isAudience, isScope, SCOPES, type Scope } from './scopes.ts'
export {
  attenuateToken,
  type MintRequest,
  mintAdminToken,
  mintToken,
  type ReadToken,
  readToken,
  type Token,
} from './token.ts'
export { decodeTree, encodeTree, MAX_TREE_BYTES, type TreeEntry } from './tree.ts'
export { entryNamed, treeOffsets } from './tree-lookup.ts'
export * as wasm from './wasm-assembler.ts'
