/** Files and directories of a backup, durable one by one. */
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CairnError } from '@cairn/kernel'
import { createBlake3, parseJson, toHex } from '@cairn/wire'
import { z } from 'zod'

/*
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

const PIECE_BYTES = 1024 * 1024

export interface CopiedFile {
  readonly size: number
  readonly b3: string
}

/** Called after each piece, with its bytes; the copy waits for it. */
export type OnPiece = (bytes: number) => Promise<void> | void

/**
 * Copies what the file holds when it is opened, and no more: one that grows is copied up to there. Durable once
 * resolved, but for its name.
 */
export async function copyFile(from: string, to: string, onPiece: OnPiece): Promise<CopiedFile> {
  await using source = await open(from, 'r')
  const { size } = await source.stat()
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  await using target = await open(to, 'wx', 0o600)
  const hasher = createBlake3()
  const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, Math.max(1, size)))
  let at = 0
  while (at < size) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - at), at)
    // Cut since it was opened, as a segment is whose last write failed: what was cut never counted.
    if (bytesRead === 0) break
    const piece = buffer.subarray(0, bytesRead)
    hasher.update(piece)
    await writeAll(target, piece)
    at += bytesRead
    await onPiece(bytesRead)
  }
  await target.datasync()
  return { size: at, b3: toHex(hasher.digest()) }
}

async function writeAll(target: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await target.write(bytes, at)).bytesWritten
}

/** Writes a new file, durably but for its name. */
export async function writeNewFile(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await using file = await open(path, 'wx', 0o600)
  await writeAll(file, bytes)
  await file.sync()
}

/** Makes every name below durable. */
export async function syncTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await syncTree(join(path, entry.name))
  await syncDirectory(path)
}

export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r')
  await directory.sync()
}

/** Paths of the files below, relative to it, in order; nothing for one that is not there. */
export async function filesBelow(root: string, below = ''): Promise<string[]> {
  try {
    const entries = await readdir(join(root, below), { withFileTypes: true })
    const found: string[] = []
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory()) found.push(...(await filesBelow(root, path)))
      else if (entry.isFile()) found.push(path)
    }
    return found
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
