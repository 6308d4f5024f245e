/** Addresses: `b3:` and the 64 lowercase hexadecimal digits of the BLAKE3-256 of an object's bytes. */
import { CairnError } from '@cairn/kernel'
import { hexToBytes } from '@noble/hashes/utils.js'
import { CID } from 'multiformats/cid'
import * as Multihash from 'multiformats/hashes/digest'
import { blake3 } from './blake3/hash.ts'
import { toHex } from './bytes.ts'

export type Address = `b3:${string}`

const HEX_DIGITS = 64
const DIGEST_BYTES = 32
const PREFIX = 'b3:'
const ADDRESS = /^b3:[0-9a-f]{64}$/
/** Codes of the multicodec table: the codec `raw` and the multihash `blake3`. */
const RAW = 0x55
const BLAKE3 = 0x1e

/** Checks that `text` is an address; the error says what is wrong with it. */
export function parseAddress(text: string): Address {
  if (isAddress(text)) return text
  throw new CairnError('Malformed', `This is not an address (b3:<64 hex>): ${addressProblem(text)}.`)
}

function isAddress(text: string): text is Address {
  return ADDRESS.test(text)
}

function addressProblem(text: string): string {
  if (!text.startsWith(PREFIX)) {
    if (/^b3:/i.test(text)) return 'the prefix must be lowercase'
    return 'it does not start with b3:'
  }
  const digits = text.slice(PREFIX.length)
  const foreign = /[^0-9a-fA-F]/u.exec(digits)
  if (foreign !== null) {
    return `character ${PREFIX.length + foreign.index + 1} is ${JSON.stringify(foreign[0])}, not a hexadecimal digit`
  }
  if (digits.length !== HEX_DIGITS) return `it has ${digits.length} hexadecimal digits instead of ${HEX_DIGITS}`
  return 'hexadecimal digits must be lowercase'
}

/** The address of the object with these bytes. */
export function addressOf(bytes: Uint8Array): Address {
  return addressFromDigest(blake3(bytes))
}

export function addressFromDigest(digest: Uint8Array): Address {
  if (digest.length !== DIGEST_BYTES) {
    throw new CairnError('Malformed', `A digest has ${DIGEST_BYTES} bytes; this one has ${digest.length}.`)
  }
  return `b3:${toHex(digest)}`
}

/** The 32 digest bytes of an address. */
export function digestOf(address: Address): Uint8Array {
  return hexToBytes(parseAddress(address).slice(PREFIX.length))
}

/** The same address as a CIDv1 (codec raw, multihash blake3) in base32. */
export function cidFromAddress(address: Address): string {
  return CID.createV1(RAW, Multihash.create(BLAKE3, digestOf(address))).toString()
}

/** The address a CID stands for; only the exact spelling that `cidFromAddress` gives is accepted. */
export function addressFromCid(text: string): Address {
  const cid = parseCid(text)
  const isOurs = cid.version === 1 && cid.code === RAW && cid.multihash.code === BLAKE3
  if (!isOurs || cid.multihash.size !== DIGEST_BYTES || cid.toString() !== text) {
    throw new CairnError('Malformed', 'This CID is not a base32 CIDv1 of codec raw with a 32-byte blake3 multihash.')
  }
  return addressFromDigest(cid.multihash.digest)
}

/**
 * The address a CID of anyone's stands for, in whatever base it is spelled; undefined if it names bytes by another hash
 * or codec, which no object of ours has. `Malformed` for what is no CID.
 */
export function knownAddressOfCid(text: string): Address | undefined {
  const { version, code, multihash } = parseCid(text)
  if (version !== 1 || code !== RAW || multihash.code !== BLAKE3 || multihash.size !== DIGEST_BYTES) return undefined
  return addressFromDigest(multihash.digest)
}

function parseCid(text: string): CID {
  try {
    return CID.parse(text)
  } catch (cause) {
    throw new CairnError('Malformed', 'This is not a CID; one of an object here starts with "bafkr4i".', { cause })
  }
}
