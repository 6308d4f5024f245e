/** Where the first signer set comes from, and that a later start still means the same one. */
import { CairnError } from '@cairn/kernel'
import {
  encodeSignerKey,
  parseSignerKey,
  parseTrustRoots,
  type Signer,
  type SignerSet,
  type SignerSetItem,
} from '@cairn/names'
import { type Platform, readSmallFile, replaceSmallFile } from '@cairn/platform'
import { addressOf, canonicalJson, equalBytes, toBase64url } from '@cairn/wire'
import type { RegistryConfig } from '../config.ts'
import { otherGenesis } from '../errors.ts'

/** For the command line: the one file with a signer's secret, and nobody here reads it after genesis. */
const SIGNER_KEY_FILE = 'signer.key'
const OWN_SIGNER = 'local'
const SEED_BYTES = 32

/** The file of the trust roots; nothing if it is not there. An operator's file: of this machine, also in amnesia. */
export type ReadRoots = (path: string) => Promise<Uint8Array | undefined>

export interface FirstSigners {
  readonly signers: SignerSet
  /** Where the key is, if the set was made here: one of one. */
  readonly ownFile: string | undefined
}

/** The set an empty registry begins with. One of its own only on loopback, and only if nobody configured another. */
export async function firstSigners(
  platform: Platform,
  directory: string,
  config: RegistryConfig,
  readRoots: ReadRoots,
): Promise<FirstSigners> {
  const roots = await trustRoots(config, readRoots)
  if (roots !== undefined) return { signers: roots, ownFile: undefined }
  refuseUnsigned(config)
  const ownFile = `${directory}/${SIGNER_KEY_FILE}`
  return { signers: { m: 1, signers: [await ownSigner(platform, ownFile)] }, ownFile }
}

/** Refuses what a start would: trust roots that cannot be read, and none for an empty registry that others can reach. */
export async function checkRoots(config: RegistryConfig, readRoots: ReadRoots, isBegun: boolean): Promise<void> {
  const roots = await trustRoots(config, readRoots)
  if (!isBegun && roots === undefined) refuseUnsigned(config)
}

/** Throws if trust roots are configured and the log began with others. */
export async function requireSameRoots(
  config: RegistryConfig,
  readRoots: ReadRoots,
  { m, signers }: SignerSetItem,
): Promise<void> {
  const roots = await trustRoots(config, readRoots)
  if (roots === undefined) return
  const begun: SignerSet = { m, signers }
  if (!equalBytes(canonicalJson(begun), canonicalJson(roots)))
    throw otherGenesis('The log began with another signer set than the trust roots name.')
}

async function trustRoots({ bootstrap }: RegistryConfig, readRoots: ReadRoots): Promise<SignerSet | undefined> {
  const { trust_roots_path: path, trust_roots_hash: expected } = bootstrap
  if (path === undefined) {
    if (expected !== undefined) throw otherGenesis('bootstrap.trust_roots_hash is set without a path.')
    return undefined
  }
  const bytes = await readRoots(path)
  if (bytes === undefined) throw otherGenesis(`There is no file ${path}.`)
  const actual = addressOf(bytes)
  if (expected !== undefined && actual !== expected)
    throw otherGenesis(`The file ${path} is ${actual}, not ${expected}.`)
  return parseTrustRoots(bytes)
}

/** A signer whose secret is left for the command line: written once, and found again if the start was cut off. */
async function ownSigner({ disk, crypto, random }: Platform, path: string): Promise<Signer> {
  const there = await readSmallFile(disk, path)
  if (there !== undefined) return parseSignerKey(there).signer
  const seed = random.bytes(SEED_BYTES)
  const signer: Signer = { id: OWN_SIGNER, algo: 'ed25519', key: toBase64url(crypto.ed25519PublicKey(seed)) }
  await replaceSmallFile(disk, path, encodeSignerKey({ signer, seed }))
  return signer
}

/** The first to reach an empty registry must not be the one who signs for it. */
function refuseUnsigned({ bind_addr: bindAddress }: RegistryConfig): void {
  if (isLoopback(bindAddress)) return
  const detail = `This registry is empty and would be reachable from other machines at ${bindAddress}. Say who signs, with bootstrap.trust_roots_path.`
  throw new CairnError('RejectPolicy', detail, { code: 'NoTrustRoots' })
}

function isLoopback(bindAddress: string): boolean {
  return /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+$/i.test(bindAddress)
}
