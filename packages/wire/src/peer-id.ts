/**
 * The text of a libp2p peer id, for Ed25519 keys: base58btc of an identity multihash around the key.
 *
 *     00 24 │ 08 01 12 20 │ 32 bytes of public key
 *      │  └─ length 36         └ protobuf: type Ed25519, 32 bytes of data
 *      └ multihash "identity"
 *
 * An identity multihash is its own preimage, so the id names the key and gives it back.
 */
import { CairnError } from '@cairn/kernel'
import { base58btc } from 'multiformats/bases/base58'
import { equalBytes } from './bytes.ts'

const PREFIX = Uint8Array.of(0x00, 0x24, 0x08, 0x01, 0x12, 0x20)
const KEY_BYTES = 32
/** Base58 takes quadratic time; nobody's id is longer than a few dozen digits. */
const TEXT_LENGTH_MAX = 64

/** The peer id of a 32-byte Ed25519 public key. */
export function peerIdFromKey(publicKey: Uint8Array): string {
  if (publicKey.length !== KEY_BYTES) {
    throw new CairnError('Malformed', `An Ed25519 public key has ${KEY_BYTES} bytes; this one has ${publicKey.length}.`)
  }
  const bytes = new Uint8Array(PREFIX.length + KEY_BYTES)
  bytes.set(PREFIX)
  bytes.set(publicKey, PREFIX.length)
  return base58btc.baseEncode(bytes)
}

/** The Ed25519 public key a peer id stands for; only the spelling that `peerIdFromKey` gives is accepted. */
export function keyFromPeerId(text: string): Uint8Array {
  const bytes = decoded(text)
  const isEd25519 = bytes.length === PREFIX.length + KEY_BYTES && equalBytes(bytes.subarray(0, PREFIX.length), PREFIX)
  if (!isEd25519 || base58btc.baseEncode(bytes) !== text) throw notPeerId()
  return bytes.slice(PREFIX.length)
}

function decoded(text: string): Uint8Array {
  if (text.length > TEXT_LENGTH_MAX) throw notPeerId()
  try {
    return base58btc.baseDecode(text)
  } catch (cause) {
    throw notPeerId(cause)
  }
}

function notPeerId(cause?: unknown): CairnError {
  const detail = 'This is not the peer id of an Ed25519 key; one starts with "12D3KooW".'
  return new CairnError('Malformed', detail, { cause })
}
