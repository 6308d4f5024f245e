/**
 * What a backup is: a directory that looks like the data directory it was made of.
 *
 *     manifest.json     every other file with its size and its BLAKE3; written last
 *     keys.sealed       private keys, only with a passphrase
 *     registry/ …       as in the data directory, without what can be made again and without private keys
 *     drives/0/ …       directories the configuration lets storage use beside it
 *
 * Whoever refers is copied before what it refers to: a name that is in the backup means bytes that are in it too. The
 * edge and the index come first (the index has seen a checkpoint of the registry), storage comes last.
 */
import { CairnError } from '@cairn/kernel'
import { parseJson } from '@cairn/wire'
import { z } from 'zod'

export const SERVICE_ORDER = ['edge', 'index', 'interop', 'registry', 'storage'] as const

export const MANIFEST = 'manifest.json'
export const SEALED_KEYS = 'keys.sealed'

export const DRIVE_LIST = 'storage/drives.json'

const manifestSchema = z.strictObject({
  format: z.literal('cairn-backup/1'),
  /** Unix milliseconds. */
  created_at: z.int(),
  cairn: z.string(),
  keys: z.enum(['none', 'sealed']),
  /** Where the drives of storage were, `drives/0` the first. */
  drives: z.array(z.string()),
  files: z.array(
    z.strictObject({
      path: z.string().regex(/^(?!.*(?:^|\/)\.\.?(?:\/|$))[^/\0][^\0]*$/, 'must be a path below the backup'),
      size: z.int().min(0),
      b3: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
})

export type BackupManifest = z.output<typeof manifestSchema>

export function parseManifest(bytes: Uint8Array): BackupManifest {
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (cause) {
    throw new CairnError('Integrity', `${MANIFEST} of the backup is damaged.`, { code: 'backup_damaged', cause })
  }
  const parsed = manifestSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const detail = `${MANIFEST} is not that of a backup this cairn can read: ${z.prettifyError(parsed.error)}`
  throw new CairnError('Integrity', detail, { code: 'backup_damaged' })
}

/** Files nobody may read but the node: they go into a backup sealed, or not at all. */
export function isPrivate(path: string): boolean {
  return /(?:^|\/)keys\//.test(path) || path.endsWith('.key')
}

/** What is made again by a start (indexes, caches), means something to a running process only, or is half written. */
export function isLeftOut(path: string): boolean {
  // Which drive was where: after a restore they are elsewhere, and each says itself whose it is.
  if (path.startsWith('edge/cas/') || path === DRIVE_LIST) return true
  // A note of what was durable would speak of the original, and the copy of a journal that grows may end before it.
  return /(?:\.mdb|\.idx|(?:^|\/)journal\/(?:synced\.[01]|reserve)|\.new|\.tmp|\.compact|\.sock|(?:^|\/)lock[^/]*\.db|(?:^|\/)doctor\.tmp)$/.test(
    path,
  )
}
