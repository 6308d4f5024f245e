/** The signer set, N keys of which M must agree and itself an item of the registry, and the key file of one signer. */
import type { SignatureAlgorithm } from '@cairn/tlog'
import {
  type Address,
  addressOf,
  canonicalJson,
  fromBase64url,
  type JsonValue,
  parseJson,
  toBase64url,
} from '@cairn/wire'
import { FieldReader, isJsonObject, malformed, type TextRule } from './fields.ts'

/*
 * The key file of a signer: the public half as the signer set lists it, and the seed it follows from.
 *
 *   {"algo":"ed25519","id":"alice","key":"…","schema":"cairn.signer-key/1","seed":"…"}
 *
 * A reader that is to sign checks that `key` follows from `seed`: a damaged file is then an error, not another signer.
 */

/** A signer with its secret. */
export interface SignerKey {
  readonly signer: Signer
  /** 32 bytes, for both algorithms. */
  readonly seed: Uint8Array
}

const SCHEMA = 'cairn.signer-key/1'
const SEED_BYTES = 32

/** One line, so that the file can be printed and typed in again. */
export function encodeSignerKey({ signer: { id, algo, key }, seed }: SignerKey): Uint8Array {
  const line = canonicalJson({ schema: SCHEMA, id, algo, key, seed: toBase64url(seed) })
  return new Uint8Array([...line, 0x0a])
}

/** Parses a key file; no refusal repeats what the file holds. */
export function parseSignerKey(bytes: Uint8Array): SignerKey {
  const value = parseJson(bytes)
  const fields = new FieldReader(value, 'The key file', ['schema', 'id', 'algo', 'key', 'seed'], [])
  fields.constant('schema', SCHEMA)
  const { schema: _schema, seed: _seed, ...signer } = isJsonObject(value) ? value : {}
  return { signer: parseSigner(signer), seed: fromBase64url(fields.base64url('seed', [SEED_BYTES])) }
}

export type Signer = {
  readonly id: string
  readonly algo: SignatureAlgorithm
  /** The public key, base64url. */
  readonly key: string
}

export type SignerSet = {
  /** How many of the signers must approve. */
  readonly m: number
  readonly signers: readonly Signer[]
}

/** The item (signer_set, root): the set, and the hash of the one it replaces. Its hash is the signer set's hash. */
export type SignerSetItem = SignerSet & {
  readonly kind: 'signer_set'
  readonly id: 'root'
  readonly prev: Address | null
}

/** There is one signer set, so its id is fixed. */
export const SIGNER_SET_ID = 'root'
/** A commit's signatures are checked by every reader, and a set of 32 ML-DSA-44 keys still fits into one log leaf. */
const MAX_SIGNERS = 32
const KEY_BYTES: Readonly<Record<SignatureAlgorithm, number>> = { ed25519: 32, 'ml-dsa-44': 1312 }

export const SIGNER_ID: TextRule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._:#@/-]{0,63}$/,
  says: '1 to 64 of letters, digits and . _ : # @ / -, beginning with a letter or digit',
}

/** The two fields of a signer set, read from an object that may have others. */
export function readSignerSet(fields: FieldReader): SignerSet {
  const signers = fields.list('signers', 1, MAX_SIGNERS).map(parseSigner)
  const repeated = repeatedOf(signers.map(({ id }) => id))
  if (repeated !== undefined) throw malformed(`The signer set names the signer ${repeated} twice; ids are unique.`)
  const shared = repeatedOf(signers.map(({ key }) => key))
  if (shared !== undefined) {
    const holders = signers.filter(({ key }) => key === shared).map(({ id }) => id)
    throw malformed(`The signers ${holders.join(' and ')} have one key; each signer has a key of its own.`)
  }
  const m = fields.value('m')
  if (Number.isSafeInteger(m) && Number(m) > signers.length)
    throw malformed(`${Number(m)} of ${signers.length} cannot be: "m" approvals come from as many signers at least.`)
  return { m: fields.integer('m', 1, signers.length), signers }
}

/** One signer of a set, its public half. */
export function parseSigner(value: JsonValue): Signer {
  const fields = new FieldReader(value, 'A signer', ['id', 'algo', 'key'], [])
  const algo = fields.value('algo')
  if (algo !== 'ed25519' && algo !== 'ml-dsa-44') throw fields.refused('algo', 'must be "ed25519" or "ml-dsa-44"')
  return { id: fields.text('id', SIGNER_ID), algo, key: fields.base64url('key', [KEY_BYTES[algo]]) }
}

function repeatedOf(texts: readonly string[]): string | undefined {
  return texts.find((text, index) => texts.indexOf(text) !== index)
}

/** The genesis signer set of a trust-roots file: `{m, signers}`. */
export function parseTrustRoots(bytes: Uint8Array): SignerSet {
  return readSignerSet(new FieldReader(parseJson(bytes), 'The trust-roots file', ['m', 'signers'], []))
}

/** What a signing input names the set by: the hash of its whole item, so that a restored set is still another one. */
export function signerSetHash(item: SignerSetItem): Address {
  return addressOf(canonicalJson(item))
}

/** Keys of `next` that `current` does not have; each must show that a signer holds it. */
export function newSigners(current: SignerSet, next: SignerSet): readonly Signer[] {
  const known = new Set(current.signers.map(({ key }) => key))
  return next.signers.filter(({ key }) => !known.has(key))
}
