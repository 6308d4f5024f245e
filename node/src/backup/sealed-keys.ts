/**
 * Private keys in a backup: AES-256-GCM under a key that scrypt makes of a passphrase. What it takes to open them
 * (but for the passphrase) stands in front, and counts: a changed header opens nothing.
 */
import { createCipheriv, createDecipheriv, scryptSync } from 'node:crypto'
import { CairnError, type Random } from '@cairn/kernel'
import { parseJson } from '@cairn/wire'
import { z } from 'zod'

/** By path in the data directory. */
export type KeyFiles = ReadonlyMap<string, Uint8Array>

/** 128 MiB and about half a second for each guess. */
const COST = { N: 2 ** 17, r: 8, p: 1 } as const
const MEMORY_BYTES_MAX = 256 * 1024 * 1024
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

const headerSchema = z.strictObject({
  format: z.literal('cairn-sealed-keys/1'),
  kdf: z.literal('scrypt'),
  n: z.literal(COST.N),
  r: z.literal(COST.r),
  p: z.literal(COST.p),
  cipher: z.literal('aes-256-gcm'),
  salt: z.base64(),
  nonce: z.base64(),
})

export function sealKeys(random: Random, files: KeyFiles, passphrase: Uint8Array): Uint8Array {
  const [salt, nonce] = [random.bytes(KEY_BYTES), random.bytes(NONCE_BYTES)]
  const header = Buffer.from(
    `${JSON.stringify({
      format: 'cairn-sealed-keys/1',
      kdf: 'scrypt',
      n: COST.N,
      r: COST.r,
      p: COST.p,
      cipher: 'aes-256-gcm',
      salt: Buffer.from(salt).toString('base64'),
      nonce: Buffer.from(nonce).toString('base64'),
    })}\n`,
  )
  const cipher = createCipheriv('aes-256-gcm', keyOf(passphrase, salt), nonce).setAAD(header)
  const plain = JSON.stringify(
    Object.fromEntries([...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString('base64')])),
  )
  return Buffer.concat([header, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** The keys; an `Unauthorized` error for another passphrase and for bytes that were changed, which look the same. */
export function openKeys(sealed: Uint8Array, passphrase: Uint8Array): KeyFiles {
  const end = sealed.indexOf(0x0a) + 1
  const header = headerSchema.safeParse(headerOf(sealed.subarray(0, Math.max(0, end - 1))))
  if (!header.success || sealed.length < end + TAG_BYTES)
    throw new CairnError('Integrity', 'The sealed keys of the backup are damaged.', { code: 'backup_damaged' })
  const { salt, nonce } = header.data
  const key = keyOf(passphrase, Buffer.from(salt, 'base64'))
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'))
    .setAAD(sealed.subarray(0, end))
    .setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    const plain = Buffer.concat([decipher.update(sealed.subarray(end, -TAG_BYTES)), decipher.final()])
    const files = z.record(z.string(), z.base64()).parse(JSON.parse(plain.toString('utf8')))
    return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text, 'base64')]))
  } catch (cause) {
    const detail = 'This passphrase does not open the keys of the backup, or they are damaged.'
    throw new CairnError('Unauthorized', detail, { code: 'wrong_passphrase', cause })
  }
}

function headerOf(line: Uint8Array): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}

function keyOf(passphrase: Uint8Array, salt: Uint8Array): Buffer {
  return scryptSync(passphrase, salt, KEY_BYTES, { ...COST, maxmem: MEMORY_BYTES_MAX })
}
