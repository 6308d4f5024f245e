/**
 * Keys in libp2p's forms: peer ids, and addresses as keys of a distributed hash table. The text of a peer id, for
 * Ed25519 keys, is base58btc of an identity multihash around the key.
 *
 *     00 24 │ 08 01 12 20 │ 32 bytes of public key
 *      │  └─ length 36         └ protobuf: type Ed25519, 32 bytes of data
 *      └ multihash "identity"
 *
 * An identity multihash is its own preimage, so the id names the key and gives it back.
 */
import { CairnError } from '@cairn/kernel'
import { sha256 } from '@noble/hashes/sha2.js'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import * as Multihash from 'multiformats/hashes/digest'
import { type Address, digestOf } from './address.ts'
import { equalBytes } from './bytes.ts'

/*
 * Addresses as keys of a distributed hash table.
 *
 * The table's implementation stores keys as old-style CIDs, so a key must be a SHA2-256 multihash; ours is the one of
 * the address's BLAKE3 multihash. Every node derives it alike, and a peer that stores it learns no address from it.
 */

/** Codes of the multicodec table. */
const RAW = 0x55
const BLAKE3 = 0x1e
const SHA2_256 = 0x12

/** Returns the key under which providers of an address are found in cairn's own table. */
export function dhtKey(address: Address): CID {
  const { bytes } = Multihash.create(BLAKE3, digestOf(address))
  return CID.createV1(RAW, Multihash.create(SHA2_256, sha256(bytes)))
}

/** Returns the key of an address in tables that take any multihash, such as the public one of IPFS. */
export function plainDhtKey(address: Address): CID {
  return CID.createV1(RAW, Multihash.create(BLAKE3, digestOf(address)))
}

const PREFIX = Uint8Array.of(0x00, 0x24, 0x08, 0x01, 0x12, 0x20)
const KEY_BYTES = 32
/** Base58 takes quadratic time, and no peer id is longer than a few dozen digits. */
const TEXT_LENGTH_MAX = 64

/** Returns the peer id of a 32-byte Ed25519 public key. */
export function peerIdFromKey(publicKey: Uint8Array): string {
  if (publicKey.length !== KEY_BYTES) {
    throw new CairnError('Malformed', `An Ed25519 public key has ${KEY_BYTES} bytes; this one has ${publicKey.length}.`)
  }
  const bytes = new Uint8Array(PREFIX.length + KEY_BYTES)
  bytes.set(PREFIX)
  bytes.set(publicKey, PREFIX.length)
  return base58btc.baseEncode(bytes)
}

/** Returns the Ed25519 public key of a peer id; accepts only the spelling that `peerIdFromKey` gives. */
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
