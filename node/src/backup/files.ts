/** Files and directories of a backup, durable one by one. */
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createBlake3, toHex } from '@cairn/wire'

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
