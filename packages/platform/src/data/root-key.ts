import { CairnError } from '@cairn/kernel'
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
