/** A secret on disk: one line, with a checksum, so that a flipped bit is an error and not another identity. */
import { CairnError } from '@cairn/kernel'
import type { Crypto } from '../crypto.ts'
import { readSmallFile, replaceSmallFile } from '../disk/durable-file.ts'
import type { Platform } from '../platform.ts'

type Machine = Pick<Platform, 'disk' | 'crypto'>

const LABEL = 'cairn-secret/1'
const CHECKSUM_BYTES = 8

/** The secret `keys/<name>` below `path`; nothing if there is none. */
export async function readSecret(
  { disk, crypto }: Machine,
  path: string,
  name: string,
): Promise<Uint8Array | undefined> {
  const line = await readSmallFile(disk, `${path}/keys/${name}`)
  return line === undefined ? undefined : decodeSecret(crypto, name, line)
}

/** Writes the secret, for the owner alone and durably before it resolves. The directory `keys` must be there. */
export async function writeSecret(
  { disk, crypto }: Machine,
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
