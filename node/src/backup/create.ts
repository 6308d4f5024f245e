/**
 * A copy of a data directory that is consistent although the node runs: whoever calls this has seen to it that nothing
 * is swept, compacted or pruned meanwhile.
 *
 *     each service, referrers first:  list ─▶ small files ─▶ segments, each up to where it ends ─▶ synced
 *     DIR.partial ─▶ manifest ─▶ everything synced ─▶ renamed to DIR
 *
 * A journal only grows, and its last record may be cut off in the copy: the next start cuts it there, as after a power
 * cut. What was acknowledged before its segments were listed is in the copy.
 */
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CairnError, type Random } from '@cairn/kernel'
import { canonicalJson } from '@cairn/wire'
import { VERSION } from '../version.ts'
import {
  type BackupManifest,
  type CopiedFile,
  copyFile,
  filesBelow,
  isAbsent,
  isLeftOut,
  isPrivate,
  MANIFEST,
  type OnPiece,
  SEALED_KEYS,
  SERVICE_ORDER,
  syncDirectory,
  syncTree,
  writeNewFile,
} from './files.ts'
import { sealKeys } from './sealed-keys.ts'

export interface BackupOptions {
  readonly data: string
  /** Must not be there yet. */
  readonly into: string
  /** Directories beside the data directory that storage uses. */
  readonly drives: readonly string[]
  /** With it, private keys are in the backup too, sealed. */
  readonly passphrase: Uint8Array | undefined
  readonly random: Random
  /** Unix milliseconds. */
  readonly now: number
  readonly onPiece: OnPiece
}

export interface BackupReport {
  readonly files: number
  readonly bytes: number
  readonly keys: 'none' | 'sealed'
}

/** The bytes a backup would have now, for whoever shows how far it is; refuses what is no data directory. */
export async function backupBytes(data: string, drives: readonly string[]): Promise<number> {
  try {
    await stat(join(data, 'format'))
  } catch (cause) {
    if (!isAbsent(cause)) throw cause
    throw new CairnError('NotFound', `${data} is no data directory: there is nothing to back up.`, {
      code: 'no_data',
      cause,
    })
  }
  let bytes = 0
  for (const { from } of await sourcesOf(data, drives)) bytes += (await stat(from)).size
  return bytes
}

export async function createBackup(options: BackupOptions): Promise<BackupReport> {
  const { data, drives, passphrase, random, now, onPiece } = options
  const into = resolve(options.into)
  await refuseThere(into)
  const partial = `${into}.partial`
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { recursive: true, mode: 0o700 })
  const files: BackupManifest['files'] = []
  for (const root of rootsOf(data, drives)) {
    // Listed when its turn comes, and not before: what refers to it has been copied by then.
    for (const { from, path } of await sourcesBelow(root)) {
      const copied = await copyOne(from, join(partial, path), onPiece)
      if (copied !== undefined) files.push({ path, ...copied })
    }
  }
  if (passphrase !== undefined)
    await writeNewFile(join(partial, SEALED_KEYS), sealKeys(random, await keysOf(data), passphrase))
  const keys = passphrase === undefined ? 'none' : 'sealed'
  const manifest: BackupManifest = {
    format: 'cairn-backup/1',
    created_at: now,
    cairn: VERSION,
    keys,
    drives: [...drives],
    files,
  }
  await writeNewFile(join(partial, MANIFEST), canonicalJson(manifest))
  await syncTree(partial)
  await rename(partial, into)
  await syncDirectory(dirname(into))
  return { files: files.length, bytes: files.reduce((sum, { size }) => sum + size, 0), keys }
}

async function refuseThere(path: string): Promise<void> {
  try {
    await stat(path)
  } catch (error) {
    if (isAbsent(error)) return
    throw error
  }
  throw new CairnError('Conflict', `${path} is there already; a backup never overwrites.`, { code: 'backup_exists' })
}

interface BackupRoot {
  readonly directory: string
  /** Where its files go in the backup. */
  readonly prefix: string
}

function rootsOf(data: string, drives: readonly string[]): BackupRoot[] {
  return [
    ...SERVICE_ORDER.map((name) => ({ directory: join(data, name), prefix: name })),
    ...drives.map((directory, at) => ({ directory, prefix: `drives/${at}` })),
  ]
}

interface BackupSource {
  readonly from: string
  readonly path: string
}

/** Small files first: what they say about the journal beside them must be in the copy of it. */
async function sourcesBelow({ directory, prefix }: BackupRoot): Promise<BackupSource[]> {
  const found = (await filesBelow(directory))
    .map((name) => ({ from: join(directory, name), path: `${prefix}/${name}` }))
    .filter(({ path }) => !isLeftOut(path) && !isPrivate(path))
  const isSegment = ({ path }: BackupSource): boolean => path.endsWith('.seg')
  return [...found.filter((source) => !isSegment(source)), ...found.filter(isSegment)]
}

async function sourcesOf(data: string, drives: readonly string[]): Promise<BackupSource[]> {
  const all: BackupSource[] = []
  for (const root of rootsOf(data, drives)) all.push(...(await sourcesBelow(root)))
  return all
}

/** Nothing for a small file that has been replaced or dropped since it was listed; a segment may not vanish. */
async function copyOne(from: string, to: string, onPiece: OnPiece): Promise<CopiedFile | undefined> {
  try {
    return await copyFile(from, to, onPiece)
  } catch (error) {
    if (isAbsent(error) && !from.endsWith('.seg')) return undefined
    throw error
  }
}

async function keysOf(data: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const paths = (await filesBelow(data)).filter((path) => isPrivate(path) && !isLeftOut(path))
  const keys = new Map<string, Uint8Array>()
  for (const path of paths) keys.set(path, await readFile(join(data, path)))
  return keys
}
