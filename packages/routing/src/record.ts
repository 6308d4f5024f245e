/**
 * A provider record: a node's signed statement that it holds an object, and where to fetch it.
 *
 *     deterministic CBOR {v, cid, publisher, http[], region?, seq, exp, sig}      at most 16 KiB
 *                         └──────────────── signed ───────────────┘   └ Ed25519 over context ‖ CBOR of the rest
 *
 * `publisher` is a peer id, which for Ed25519 holds the key itself: a record is verified offline. `seq` orders
 * the records of one publisher about one object; `exp` (Unix seconds) ends it, whatever was announced later.
 */
import { CairnError } from '@cairn/kernel'
import type { Crypto, Sign } from '@cairn/platform'
import {
  type Address,
  addressFromDigest,
  decodeCbor,
  digestOf,
  encodeCbor,
  keyFromPeerId,
  peerIdFromKey,
} from '@cairn/wire'

export interface ProviderRecord {
  readonly cid: Address
  readonly publisher: string
  /** Base URLs, the preferred first. */
  readonly http: readonly string[]
  readonly region?: string
  readonly seq: number
  /** Unix seconds. */
  readonly exp: number
}

/** A record as it was signed; one that came from `verifyRecord` or `signRecord` needs no second check. */
export interface SignedProviderRecord extends ProviderRecord {
  readonly bytes: Uint8Array
}

/** What a publisher says; the rest of the record follows from its key. */
export type ProviderClaim = Omit<ProviderRecord, 'publisher'>

export const RECORD_BYTES_MAX = 16 * 1024
export const RECORD_TTL_MS = 24 * 3_600_000
export const REPUBLISH_MS = 12 * 3_600_000

/** A publisher has a handful of ways in, not a directory of them. */
const URLS_MAX = 8
const URL_LENGTH_MAX = 1024
const VERSION = 1
const SIGNATURE_BYTES = 64
/** How far the publisher's clock may be ahead of ours before its expiry looks longer than any record's may be. */
const CLOCK_SKEW_MS = 60_000
const REGION = /^[a-z0-9][a-z0-9-]{0,31}$/
const CONTEXT = new TextEncoder().encode('cairn-provider/v1\0')

/** The signer of records: the peer id and the key behind it, made once. */
export interface RecordKey {
  readonly publisher: string
  readonly sign: Sign
}

/** The key of a node's 32-byte seed. */
export function recordKeyOf(crypto: Crypto, seed: Uint8Array): RecordKey {
  return { publisher: peerIdFromKey(crypto.ed25519PublicKey(seed)), sign: crypto.ed25519Signer(seed) }
}

/** Signs one claim with the node's 32-byte seed. */
export function signRecord(crypto: Crypto, seed: Uint8Array, claim: ProviderClaim): SignedProviderRecord {
  return signRecordWith(recordKeyOf(crypto, seed), claim)
}

export function signRecordWith({ publisher, sign }: RecordKey, claim: ProviderClaim): SignedProviderRecord {
  const record = checkedRecord({ ...claim, publisher })
  const fields = fieldsOf(record)
  const bytes = encodeCbor({ ...fields, sig: sign(messageOf(fields)) })
  if (bytes.length > RECORD_BYTES_MAX) throw oversized(bytes.length)
  return { ...record, bytes }
}

export interface RecordExpectations {
  readonly wallMs: number
  /** The object asked for. */
  readonly cid?: Address | undefined
  /** Who must have signed, where only they may speak. */
  readonly publisher?: string | undefined
}

/** The record in these bytes, if it is one that counts now; otherwise throws, with the reason as the error's code. */
export function verifyRecord(crypto: Crypto, bytes: Uint8Array, expected: RecordExpectations): SignedProviderRecord {
  const { record, fields, signature } = decodeRecord(bytes)
  if (expected.cid !== undefined && record.cid !== expected.cid) {
    throw refused('Malformed', 'record_other_cid', 'This provider record is about another object.')
  }
  if (expected.publisher !== undefined && record.publisher !== expected.publisher) {
    throw refused('Forbidden', 'record_other_publisher', 'This provider record is from another publisher.')
  }
  checkTime(record, expected.wallMs)
  if (!crypto.ed25519Verify(keyFromPeerId(record.publisher), messageOf(fields), signature)) {
    throw refused('Integrity', 'record_forged', 'The signature of this provider record is not its publisher’s.')
  }
  return { ...record, bytes }
}

/** When the publisher last said so, as far as the record tells: never later than now. */
export function issuedAtMs({ exp }: ProviderRecord, wallMs: number): number {
  return Math.min(wallMs, exp * 1000 - RECORD_TTL_MS)
}

function checkTime({ exp }: ProviderRecord, wallMs: number): void {
  if (exp * 1000 <= wallMs) throw refused('Malformed', 'record_expired', 'This provider record has expired.')
  if (exp * 1000 > wallMs + RECORD_TTL_MS + CLOCK_SKEW_MS) {
    throw refused('Malformed', 'record_too_long', 'This provider record claims to last longer than 24 hours.')
  }
}

type RecordFields = Readonly<Record<string, unknown>>

interface Decoded {
  readonly record: ProviderRecord
  readonly fields: RecordFields
  readonly signature: Uint8Array
}

/** Form alone; says nothing about who signed. */
function decodeRecord(bytes: Uint8Array): Decoded {
  if (bytes.length > RECORD_BYTES_MAX) throw oversized(bytes.length)
  const { sig, ...fields } = objectOf(bytes)
  if (sig === undefined) throw refused('Integrity', 'record_unsigned', 'This provider record is not signed.')
  if (!(sig instanceof Uint8Array) || sig.length !== SIGNATURE_BYTES) throw malformed('its signature has not 64 bytes')
  return { record: readFields(fields), fields, signature: sig }
}

function objectOf(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown
  try {
    value = decodeCbor(bytes)
  } catch (cause) {
    throw malformed(cause instanceof Error ? cause.message : String(cause))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Uint8Array) {
    throw malformed('it is not a map')
  }
  return { ...value }
}

function readFields(fields: RecordFields): ProviderRecord {
  const { v, cid, publisher, http, region, seq, exp, ...unknown } = fields
  if (v !== VERSION) throw malformed(`it is not of version ${VERSION}`)
  const [foreign] = Object.keys(unknown)
  if (foreign !== undefined) throw malformed(`it has the unknown field ${JSON.stringify(foreign.slice(0, 32))}`)
  if (!(cid instanceof Uint8Array) || cid.length !== 32) throw malformed('its cid has not 32 bytes')
  if (typeof publisher !== 'string') throw malformed('its publisher is not text')
  if (!Array.isArray(http)) throw malformed('its URLs are not a list')
  const urls = http.map((url) => (typeof url === 'string' ? url : ''))
  if (typeof seq !== 'number' || typeof exp !== 'number') throw malformed('seq or exp is not a number')
  const record = { cid: addressFromDigest(cid), publisher, http: urls, seq, exp }
  if (region === undefined) return checkedRecord(record)
  if (typeof region !== 'string') throw malformed('its region is not text')
  return checkedRecord({ ...record, region })
}

function fieldsOf({ cid, publisher, http, region, seq, exp }: ProviderRecord): RecordFields {
  const fields = { v: VERSION, cid: digestOf(cid), publisher, http: [...http], seq, exp }
  return region === undefined ? fields : { ...fields, region }
}

/** The same rules for what we sign and for what we read. */
function checkedRecord(record: ProviderRecord): ProviderRecord {
  const { publisher, http, region, seq, exp } = record
  keyOf(publisher)
  if (http.length === 0 || http.length > URLS_MAX) throw malformed(`it has not between 1 and ${URLS_MAX} URLs`)
  if (!http.every(isBaseUrl)) throw malformed('one of its URLs is not the plain http(s) base of a service')
  if (region !== undefined && !REGION.test(region)) throw malformed('its region is not a short lower-case name')
  if (!Number.isSafeInteger(seq) || seq < 0) throw malformed('its seq is not a whole number')
  if (!Number.isSafeInteger(exp) || exp < 0) throw malformed('its exp is not in whole seconds')
  return record
}

function keyOf(publisher: string): Uint8Array {
  try {
    return keyFromPeerId(publisher)
  } catch {
    throw malformed('its publisher is not the peer id of an Ed25519 key')
  }
}

/** One spelling, nothing but scheme, host and path: what is compared, signed and joined is then what is fetched. */
function isBaseUrl(text: string): boolean {
  if (text.length > URL_LENGTH_MAX) return false
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false
  const isPlain = url.username === '' && url.password === '' && !/[?#]/.test(text)
  return isPlain && (url.href === text || url.href === `${text}/`)
}

function messageOf(fields: RecordFields): Uint8Array {
  const body = encodeCbor(fields)
  const message = new Uint8Array(CONTEXT.length + body.length)
  message.set(CONTEXT)
  message.set(body, CONTEXT.length)
  return message
}

function oversized(bytes: number): CairnError {
  const detail = `A provider record has at most ${RECORD_BYTES_MAX} bytes; this one has ${bytes}.`
  return refused('TooLarge', 'record_oversized', detail)
}

function malformed(why: string): CairnError {
  return refused('Malformed', 'record_malformed', `This is not a provider record: ${why}.`)
}

function refused(kind: 'Malformed' | 'Integrity' | 'Forbidden' | 'TooLarge', code: string, detail: string): CairnError {
  return new CairnError(kind, detail, { code })
}
