/** Whole small files, for keys and markers: either all of the file is there after a crash, or what was there before. */

import { dirname } from 'node:path'
import { isKind, toCairnError } from '@cairn/kernel'
import type { Disk } from './disk.ts'

/** Keys, markers, tokens: nothing of this kind is larger. */
const WHOLE_FILE_BYTES_MAX = 1024 * 1024

/** All bytes of a small file; `undefined` if there is none of that name. */
export async function readSmallFile(disk: Disk, path: string): Promise<Uint8Array | undefined> {
  try {
    await using file = await disk.open(path, { mode: 'read' })
    const bytes = new Uint8Array(Math.min(await file.size(), WHOLE_FILE_BYTES_MAX))
    return bytes.subarray(0, await file.read(0, bytes))
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined
    throw error
  }
}

/**
 * Makes `path` hold exactly these bytes, durably before it resolves:
 *
 *     path.new (O_EXCL, 0600) ─ append ─ sync ─▶ rename to path ─▶ sync of the directory
 *
 * A crash leaves the old file or the new one, and perhaps a stray `.new` that the next call replaces.
 */
export async function replaceSmallFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const fresh = `${path}.new`
  try {
    await disk.unlink(fresh)
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error
  }
  {
    await using file = await disk.open(fresh, { mode: 'create' })
    await file.append([bytes])
    await file.sync()
  }
  await disk.rename(fresh, path)
  await disk.syncDirectory(dirname(path))
}

/**
 * Makes the directory and those above it, and every name on the way durable before it resolves: one that is already
 * there may have been made by a process that was killed before it could sync.
 */
export async function makeDirectories(disk: Disk, path: string): Promise<void> {
  const parent = dirname(path)
  if (parent === path) return
  await makeDirectories(disk, parent)
  await disk.makeDirectory(path)
  try {
    await disk.syncDirectory(parent)
  } catch (error) {
    // A directory that we may not even read is not one we made a name in.
    if (toCairnError(error).code !== 'disk_denied') throw error
  }
}
