/**
 * An address as the key of a distributed hash table.
 *
 * The table's implementation stores keys as old-style CIDs, so a key must be a SHA2-256 multihash; ours is the one of
 * the address's BLAKE3 multihash. Every node derives it alike, and a peer that stores it learns no address from it.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { CID } from 'multiformats/cid'
import * as Multihash from 'multiformats/hashes/digest'
import { type Address, digestOf } from './address.ts'

/** Codes of the multicodec table. */
const RAW = 0x55
const BLAKE3 = 0x1e
const SHA2_256 = 0x12

/** The key under which providers of an address are found in cairn's own table. */
export function dhtKey(address: Address): CID {
  const { bytes } = Multihash.create(BLAKE3, digestOf(address))
  return CID.createV1(RAW, Multihash.create(SHA2_256, sha256(bytes)))
}

/** The key of an address in tables that take any multihash, such as the public one of IPFS. */
export function plainDhtKey(address: Address): CID {
  return CID.createV1(RAW, Multihash.create(BLAKE3, digestOf(address)))
}
