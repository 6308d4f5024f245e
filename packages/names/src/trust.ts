/**
 * What a client trusts, and what it has seen: the trust file it is given, and the pin it keeps itself.
 *
 *   trust {schema: "cairn.trust/1", origin, genesis, log_keys: [vkey …], witnesses?: {threshold, keys: [vkey …]}}
 *   pin   {schema: "cairn.pin/1", trust, size, root, checkpoint?}
 *
 * Keys are spelled as C2SP verifier keys. The type of a log key says what it is for: `ed25519` signs the checkpoint,
 * `ed25519-cosignature` tells its time, `ml-dsa-44-cosignature` signs it once more. Of each type that is listed one
 * must have signed.
 */
import { formatVerifierKey, HASH_BYTES, type Hash, parseVerifierKey, type VerifierKey } from '@cairn/tlog'
import {
  type Address,
  canonicalJson,
  fromBase64url,
  type JsonObject,
  type JsonValue,
  parseJson,
  toBase64url,
} from '@cairn/wire'
import { isOriginOf } from './artifact.ts'
import { FieldReader, malformed, type TextRule } from './fields.ts'

/** Cosigners outside the log, and how many of them must have seen a checkpoint. */
export interface WitnessPolicy {
  readonly threshold: number
  readonly keys: readonly VerifierKey[]
}

export interface TrustFile {
  readonly origin: string
  readonly genesis: Address
  /** Held by the log; at least one of type `ed25519`. */
  readonly logKeys: readonly VerifierKey[]
  readonly witnesses?: WitnessPolicy
}

/** The last checkpoint that verified; what comes later has to continue it. */
export interface Pin {
  readonly trust: TrustFile
  readonly size: number
  readonly root: Hash
  /** The signed note itself: with it others, and the log, can be shown what was seen. */
  readonly checkpoint?: string
}

const TRUST_SCHEMA = 'cairn.trust/1'
const PIN_SCHEMA = 'cairn.pin/1'
const MAX_LOG_KEYS = 8
/** A note has at most 32 signatures, the log's own among them. */
const MAX_WITNESSES = 24
/** A note ends where its last signature line does. */
const NOTE: TextRule = { pattern: /^[^\0]{1,65536}\n$/, says: 'a signed note of at most 64 KiB' }
const ORIGIN: TextRule = { pattern: /^[\x21-\x7e]{1,255}$/, says: '1 to 255 printable ASCII characters without spaces' }

/** The trust file of these bytes. People write it by hand, so any layout of the JSON will do. */
export function parseTrust(bytes: Uint8Array): TrustFile {
  return readTrust(parseJson(bytes))
}

export function encodeTrust(trust: TrustFile): Uint8Array {
  return canonicalJson(writeTrust(trust))
}

export function parsePin(bytes: Uint8Array): Pin {
  const fields = new FieldReader(parseJson(bytes), 'The pin', ['schema', 'trust', 'size', 'root'], ['checkpoint'])
  fields.constant('schema', PIN_SCHEMA)
  const root = fromBase64url(fields.base64url('root', [HASH_BYTES]))
  const pin = { trust: readTrust(fields.value('trust')), size: fields.integer('size', 1), root }
  return fields.has('checkpoint') ? { ...pin, checkpoint: fields.text('checkpoint', NOTE) } : pin
}

export function encodePin({ trust, size, root, checkpoint }: Pin): Uint8Array {
  const pin = { schema: PIN_SCHEMA, trust: writeTrust(trust), size, root: toBase64url(root) }
  return canonicalJson(checkpoint === undefined ? pin : { ...pin, checkpoint })
}

function writeTrust({ origin, genesis, logKeys, witnesses }: TrustFile): JsonObject {
  const trust = { schema: TRUST_SCHEMA, origin, genesis, log_keys: logKeys.map(formatVerifierKey) }
  if (witnesses === undefined) return trust
  return { ...trust, witnesses: { threshold: witnesses.threshold, keys: witnesses.keys.map(formatVerifierKey) } }
}

function readTrust(value: JsonValue): TrustFile {
  const fields = new FieldReader(value, 'The trust file', ['schema', 'origin', 'genesis', 'log_keys'], ['witnesses'])
  fields.constant('schema', TRUST_SCHEMA)
  const [origin, genesis] = [fields.text('origin', ORIGIN), fields.address('genesis')]
  if (!isOriginOf(origin, genesis)) {
    throw malformed('The trust file: the origin must end with "/" and the first 16 hex digits of the genesis hash.')
  }
  const logKeys = readKeys(fields, 'log_keys', MAX_LOG_KEYS)
  if (!logKeys.some(({ type }) => type === 'ed25519')) {
    throw fields.refused('log_keys', 'must have the Ed25519 key that signs checkpoints')
  }
  const trust = { origin, genesis, logKeys }
  return fields.has('witnesses') ? { ...trust, witnesses: readPolicy(fields.value('witnesses'), logKeys) } : trust
}

function readPolicy(value: JsonValue, logKeys: readonly VerifierKey[]): WitnessPolicy {
  const fields = new FieldReader(value, 'The witness policy', ['threshold', 'keys'], [])
  const keys = readKeys(fields, 'keys', MAX_WITNESSES)
  if (keys.some(({ type }) => type === 'ed25519')) throw fields.refused('keys', 'must be cosigner keys')
  const own = new Set(logKeys.map(publicText))
  if (keys.some((key) => own.has(publicText(key)))) {
    throw fields.refused('keys', 'has a key of the log itself, which witnesses nothing')
  }
  return { threshold: fields.integer('threshold', 1, keys.length), keys }
}

function readKeys(fields: FieldReader, name: string, most: number): readonly VerifierKey[] {
  const keys = fields.list(name, 1, most).map((text) => {
    if (typeof text !== 'string') throw fields.refused(name, 'must be verifier keys, such as name+1a2b3c4d+base64')
    return parseVerifierKey(text)
  })
  // One key under two names would count as two witnesses.
  if (new Set(keys.map(publicText)).size < keys.length) throw fields.refused(name, 'has one public key twice')
  return keys
}

const publicText = ({ publicKey }: VerifierKey): string => toBase64url(publicKey)
