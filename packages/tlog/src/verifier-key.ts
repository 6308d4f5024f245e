/**
 * Public keys by name, and their one-line spelling: `name+id+base64(type ‖ public key)`.
 *
 *   example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k
 *
 * The id is the first four bytes of SHA-256(name ‖ newline ‖ type ‖ public key). It tells keys apart and
 * proves nothing: a verifier holds the whole key.
 */
import { CairnError } from '@cairn/kernel'
import { concatBytes } from '@noble/hashes/utils.js'
import { fromBase64, toBase64, toUtf8 } from './encoding.ts'
import { sha256 } from './hash.ts'
import { MAX_NAME_BYTES, requireKeyName } from './note.ts'

/** Algorithms a signature can be made with. */
export type SignatureAlgorithm = 'ed25519' | 'ml-dsa-44'

/** What a key signs: a note's text, or a statement at a time about the checkpoint the text is. */
export type KeyType = 'ed25519' | 'ed25519-cosignature' | 'ml-dsa-44-cosignature'

export interface KeyTypeRow {
  /** The byte C2SP signed-note assigns. */
  readonly byte: number
  readonly algorithm: SignatureAlgorithm
  readonly publicKeyBytes: number
  readonly signatureBytes: number
  /** Whether eight bytes of POSIX seconds come before the signature. */
  readonly timestamped: boolean
}

const ED25519 = { algorithm: 'ed25519', publicKeyBytes: 32, signatureBytes: 64 } as const
const ML_DSA_44 = { algorithm: 'ml-dsa-44', publicKeyBytes: 1312, signatureBytes: 2420 } as const

export const KEY_TYPES = {
  ed25519: { byte: 0x01, ...ED25519, timestamped: false },
  'ed25519-cosignature': { byte: 0x04, ...ED25519, timestamped: true },
  'ml-dsa-44-cosignature': { byte: 0x06, ...ML_DSA_44, timestamped: true },
} as const satisfies Record<KeyType, KeyTypeRow>

export interface VerifierKey {
  readonly name: string
  readonly type: KeyType
  readonly publicKey: Uint8Array
  readonly keyId: number
}

/** The longest spelling: a name, the id, and an ML-DSA-44 key in base64. */
const MAX_TEXT_LENGTH = MAX_NAME_BYTES + 2048

export function verifierKey(name: string, type: KeyType, publicKey: Uint8Array): VerifierKey {
  requireKeyName(name)
  const { byte, publicKeyBytes } = KEY_TYPES[type]
  if (publicKey.length !== publicKeyBytes) {
    throw malformed(`of type ${type} has ${publicKeyBytes} bytes, not ${publicKey.length}`)
  }
  const digest = sha256(concatBytes(toUtf8(`${name}\n`), Uint8Array.of(byte), publicKey))
  return { name, type, publicKey, keyId: new DataView(digest.buffer, digest.byteOffset).getUint32(0) }
}

export function formatVerifierKey({ name, type, publicKey, keyId }: VerifierKey): string {
  return `${name}+${hexId(keyId)}+${toBase64(concatBytes(Uint8Array.of(KEY_TYPES[type].byte), publicKey))}`
}

/** Reads a key's spelling; refuses an id that is not the key's own, since its signatures would never be found. */
export function parseVerifierKey(text: string): VerifierKey {
  if (text.length > MAX_TEXT_LENGTH) throw malformed('is longer than any key this reads')
  const [name, id, ...encoded] = text.split('+')
  if (name === undefined || id === undefined || encoded.length === 0) throw malformed('is not spelled name+id+key')
  const bytes = fromBase64(encoded.join('+'))
  const key = verifierKey(name, keyTypeOf(bytes[0]), bytes.slice(1))
  if (hexId(key.keyId) !== id) throw malformed(`has the id ${hexId(key.keyId)}, not the one written`)
  return key
}

function keyTypeOf(byte: number | undefined): KeyType {
  for (const type of Object.keys(KEY_TYPES) as KeyType[]) {
    if (KEY_TYPES[type].byte === byte) return type
  }
  throw malformed('is of no type this reads (Ed25519, and Ed25519 or ML-DSA-44 cosignatures)')
}

function hexId(keyId: number): string {
  return keyId.toString(16).padStart(8, '0')
}

function malformed(why: string): CairnError {
  return new CairnError('Malformed', `A verifier key ${why}.`)
}
