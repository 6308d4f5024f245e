/** A secret on disk: one line, with a checksum, so that a flipped bit is an error and not another identity. */
import { CairnError } from '@cairn/kernel'
import type { Crypto } from '../crypto.ts'

const LABEL = 'cairn-secret/1'
const CHECKSUM_BYTES = 8

export function encodeSecret(crypto: Crypto, secret: Uint8Array): Uint8Array {
  return Buffer.from(`${LABEL} ${checksum(crypto, secret)} ${Buffer.from(secret).toString('base64url')}\n`)
}

export function decodeSecret(crypto: Crypto, name: string, line: Uint8Array): Uint8Array {
  const [label, sum, text, ...rest] = Buffer.from(line).toString('latin1').trimEnd().split(' ')
  const secret = Buffer.from(text ?? '', 'base64url')
  if (label === LABEL && rest.length === 0 && sum === checksum(crypto, secret)) return secret
  throw new CairnError('Integrity', `The key file ${name} is damaged; restore it from a backup of the data directory.`)
}

function checksum(crypto: Crypto, secret: Uint8Array): string {
  return Buffer.from(crypto.sha256(secret).subarray(0, CHECKSUM_BYTES)).toString('hex')
}
