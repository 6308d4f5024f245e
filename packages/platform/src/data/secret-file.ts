/** A secret on disk: one line, with a checksum, so that a flipped bit is an error and not another identity. */
import { CairnError } from '@cairn/kernel'
import type { Crypto } from '../crypto.ts'
import { readSmallFile, replaceSmallFile } from '../disk/durable-file.ts'
import type { Platform } from '../platform.ts'

export interface RootKey {
  /** Follows from the key, so that a root given from outside has the same one on every start. */
  readonly kid: string
  readonly key: Uint8Array
}

const ROOT_KEY_BYTES = 32
const KID_LENGTH = 16

/** A new root for tokens; or, where `given` is set (`CAIRN_ROOT_KEY`, 64 hex digits), that one. */
export function makeRootKey({ random, crypto }: Pick<Platform, 'random' | 'crypto'>, given?: string): RootKey {
  if (given !== undefined && !/^[0-9a-f]{64}$/i.test(given))
    throw new CairnError('Malformed', 'CAIRN_ROOT_KEY must be 64 hex digits, as `openssl rand -hex 32` prints them.')
  const key = given === undefined ? random.bytes(ROOT_KEY_BYTES) : Buffer.from(given, 'hex')
  const digest = crypto.sha256(Buffer.concat([Buffer.from('cairn root key id\n'), key]))
  return { kid: Buffer.from(digest).toString('hex').slice(0, KID_LENGTH), key }
}

type SecretFileDependencies = Pick<Platform, 'disk' | 'crypto'>

const LABEL = 'cairn-secret/1'
const CHECKSUM_BYTES = 8

/** The secret `keys/<name>` below `path`; nothing if there is none. */
export async function readSecret(
  { disk, crypto }: SecretFileDependencies,
  path: string,
  name: string,
): Promise<Uint8Array | undefined> {
  const line = await readSmallFile(disk, `${path}/keys/${name}`)
  return line === undefined ? undefined : decodeSecret(crypto, name, line)
}

/** Writes the secret, for the owner alone and durably before it resolves. The directory `keys` must be there. */
export async function writeSecret(
  { disk, crypto }: SecretFileDependencies,
  path: string,
  name: string,
  secret: Uint8Array,
): Promise<Uint8Array> {
  await replaceSmallFile(disk, `${path}/keys/${name}`, encodeSecret(crypto, secret))
  return secret
}

function encodeSecret(crypto: Crypto, secret: Uint8Array): Uint8Array {
  return Buffer.from(`${LABEL} ${checksum(crypto, secret)} ${Buffer.from(secret).toString('base64url')}\n`)
}

function decodeSecret(crypto: Crypto, name: string, line: Uint8Array): Uint8Array {
  const [label, sum, text, ...rest] = Buffer.from(line).toString('latin1').trimEnd().split(' ')
  const secret = Buffer.from(text ?? '', 'base64url')
  if (label === LABEL && rest.length === 0 && sum === checksum(crypto, secret)) return secret
  throw new CairnError('Integrity', `The key file ${name} is damaged; restore it from a backup of the data directory.`)
}

function checksum(crypto: Crypto, secret: Uint8Array): string {
  return Buffer.from(crypto.sha256(secret).subarray(0, CHECKSUM_BYTES)).toString('hex')
}
