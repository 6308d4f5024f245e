/**
 * A data directory out of a backup, proved before it gets its name.
 *
 *     DIR.restoring: new keys ─▶ files, each against its hash ─▶ sealed keys, if they can be opened
 *       ─▶ the registry marked as restored ─▶ every journal and every name looked at ─▶ synced ─▶ renamed to DIR
 *
 * What fails leaves DIR.restoring behind for somebody to look at; the next attempt begins it anew.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CairnError } from '@cairn/kernel'
import { openDataDirectory } from '@cairn/platform'
import type { Machine } from '../machine.ts'
import { firstSecrets } from '../token-keys.ts'
import {
  type BackupManifest,
  copyFile,
  DRIVE_LIST,
  isAbsent,
  MANIFEST,
  type OnPiece,
  parseManifest,
  SEALED_KEYS,
  syncDirectory,
  syncTree,
} from './files.ts'
import { type KeyFiles, openKeys } from './sealed-keys.ts'
import { type RestoredDataReport, verifyRestored } from './verify.ts'

export interface RestoreOptions {
  readonly from: string
  /** Must be empty or absent. */
  readonly data: string
  readonly passphrase: Uint8Array | undefined
  readonly onPiece: OnPiece
}

export interface RestoreReport extends RestoredDataReport {
  readonly files: number
  readonly bytes: number
  readonly keys: 'new' | 'restored'
  /** Unix milliseconds. */
  readonly created_at: number
  /** Where the drives of storage are now; the configuration has to say so. */
  readonly drives: readonly string[]
}

export async function backupSize(from: string): Promise<number> {
  return (await readManifest(from)).files.reduce((sum, { size }) => sum + size, 0)
}

export async function restoreBackup(machine: Machine, options: RestoreOptions): Promise<RestoreReport> {
  const { from, passphrase, onPiece } = options
  const data = resolve(options.data)
  await refuseFull(data)
  const manifest = await readManifest(from)
  // Before anything is written: a wrong passphrase is better heard at once.
  const keys = passphrase === undefined ? undefined : await readKeys(from, manifest, passphrase)
  const partial = `${data}.restoring`
  await rm(partial, { recursive: true, force: true })
  const { platform } = machine.node
  await (await openDataDirectory(platform, { path: partial, secrets: firstSecrets(platform, undefined) })).close()
  for (const file of manifest.files) await copyChecked(from, partial, file, onPiece)
  for (const [path, bytes] of keys ?? []) await replaceFile(join(partial, path), bytes)
  await fenceRegistry(partial, manifest)
  const drives = manifest.drives.map((_drive, at) => `drives/${at}`)
  const verified = await verifyRestored(
    machine,
    partial,
    drives.map((drive) => join(partial, drive)),
  )
  // Written by those who looked, about places that are about to be renamed.
  await rm(join(partial, DRIVE_LIST), { force: true })
  await syncTree(partial)
  await rename(partial, data)
  await syncDirectory(dirname(data))
  return {
    ...verified,
    files: manifest.files.length,
    bytes: manifest.files.reduce((sum, { size }) => sum + size, 0),
    keys: keys === undefined ? 'new' : 'restored',
    created_at: manifest.created_at,
    drives: drives.map((drive) => join(data, drive)),
  }
}

async function refuseFull(data: string): Promise<void> {
  try {
    const [first] = await readdir(data)
    if (first === undefined) return
    const detail = `${data} is not empty: it holds ${first}. A backup is restored into a new directory, named with --data.`
    throw new CairnError('Conflict', detail, { code: 'data_foreign' })
  } catch (error) {
    if (!isAbsent(error)) throw error
    await mkdir(dirname(data), { recursive: true })
  }
}

async function readManifest(from: string): Promise<BackupManifest> {
  try {
    return parseManifest(await readFile(join(from, MANIFEST)))
  } catch (cause) {
    if (!isAbsent(cause)) throw cause
    throw new CairnError('NotFound', `${from} is no backup: there is no ${MANIFEST} in it.`, {
      code: 'no_backup',
      cause,
    })
  }
}

async function readKeys(from: string, { keys }: BackupManifest, passphrase: Uint8Array): Promise<KeyFiles> {
  if (keys === 'sealed') return openKeys(await readFile(join(from, SEALED_KEYS)), passphrase)
  const detail = 'This backup has no keys for a passphrase to open. Leave --passphrase-file away: new keys are made.'
  throw new CairnError('Malformed', detail, { code: 'usage' })
}

async function copyChecked(
  from: string,
  into: string,
  { path, size, b3 }: BackupManifest['files'][number],
  onPiece: OnPiece,
): Promise<void> {
  try {
    const copied = await copyFile(join(from, path), join(into, path), onPiece)
    if (copied.b3 === b3 && copied.size === size) return
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  const detail = `${path} of the backup is missing or not what was written; the backup cannot be relied on.`
  throw new CairnError('Integrity', detail, { code: 'backup_damaged' })
}

async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(path, bytes, { mode: 0o600, flush: true })
}

/** The registry may have signed more since: it only reads until somebody adopts it, with its keys or without. */
async function fenceRegistry(into: string, { files }: BackupManifest): Promise<void> {
  if (!files.some(({ path }) => path.startsWith('registry/journal/'))) return
  await replaceFile(join(into, 'registry', 'restored'), Buffer.from('see: cairn registry adopt\n'))
}
