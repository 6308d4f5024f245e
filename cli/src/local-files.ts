/** Files and directories of this machine, as the SDK wants them. */
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CairnError } from '@cairn/kernel'
import type { DirectoryReader, DirectoryWriter, ReadableEntry } from '@cairn/sdk'
import { freeBytes } from '@cairn/wire'

type Pieces = AsyncIterable<Uint8Array>

const READ_BYTES = 1024 * 1024

/** The bytes of a file, from the start each time it is asked. */
export function fileSource(path: string): () => Pieces {
  return async function* () {
    try {
      await using file = await open(path, 'r')
      const buffer = new Uint8Array(READ_BYTES)
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, READ_BYTES)
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
      }
    } catch (cause) {
      throw unreadable(path, cause)
    }
  }
}

/** All of a small file; `NotFound` if nothing is there. */
export async function readWhole(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** What lies below a directory. Links and devices have no place in a tree: they are left out, and named in `skipped`. */
export function localDirectory(path: string, skipped: string[]): DirectoryReader {
  return {
    async *entries(): AsyncGenerator<ReadableEntry> {
      for (const entry of await entriesOf(path)) {
        const { name } = entry
        const below = join(path, name)
        if (entry.isDirectory()) yield { kind: 'tree', name, directory: localDirectory(below, skipped) }
        else if (entry.isFile()) yield { kind: 'file', name, open: fileSource(below) }
        else skipped.push(below)
      }
    },
  }
}

async function entriesOf(path: string) {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** Bytes of all files below a directory. */
export async function measure(path: string): Promise<number> {
  let bytes = 0
  for (const entry of await entriesOf(path)) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) bytes += await measure(below)
    else if (entry.isFile()) bytes += (await statOf(below)).size
  }
  return bytes
}

/** What is there, links not followed; `NotFound` if nothing is. */
export async function statOf(path: string) {
  try {
    return await lstat(path)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw unreadable(path, error)
  }
}

/** Throws if anything is there: what this is about is never overwritten. */
export async function mustBeNew(path: string): Promise<void> {
  if (!(await isThere(path))) return
  const detail = `${path} is there already and stays as it is; name another file, or remove that one.`
  throw new CairnError('Conflict', detail, { code: 'exists_already' })
}

/**
 * Writes beside the path and moves into place once everything is there: a file under its name is whole. A device or a
 * pipe that is there is written to.
 */
export async function writeFileWhole(path: string, pieces: Pieces | readonly Uint8Array[]): Promise<void> {
  const isPlain = !(await isThere(path)) || isReplaceable(await statOf(path))
  const part = isPlain ? partPath(path) : path
  try {
    await writeAll(part, pieces)
    if (isPlain) await rename(part, path)
  } catch (error) {
    if (isPlain) await rm(part, { force: true })
    throw unwritable(path, error)
  }
}

function isReplaceable(found: Awaited<ReturnType<typeof statOf>>): boolean {
  return found.isFile() || found.isSymbolicLink() || found.isDirectory()
}

async function writeAll(path: string, pieces: Pieces | readonly Uint8Array[]): Promise<void> {
  await using file = await open(path, 'w')
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) at += (await file.write(piece, at, piece.length - at)).bytesWritten
  }
}

/** The same pieces; the memory of each goes when the next is asked for. */
export async function* freed(pieces: Pieces): Pieces {
  for await (const piece of pieces) {
    yield piece
    freeBytes(piece)
  }
}

/** Lets `fill` write into a new directory that gets its name once everything is there, or into the one that is there. */
export async function writeDirectory(path: string, fill: (writer: DirectoryWriter) => Promise<void>): Promise<void> {
  if (await isThere(path)) {
    await assertDirectory(path)
    await fill(directoryWriter(path))
    return
  }
  const part = partPath(path)
  try {
    await mkdir(part)
    await fill(directoryWriter(part))
    await rename(part, path)
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw unwritable(path, error)
  }
}

function directoryWriter(path: string): DirectoryWriter {
  return {
    file: async (name, bytes) => await writeFileWhole(childPath(path, name), freed(bytes)),
    directory: async (name) => {
      const below = childPath(path, name)
      try {
        await mkdir(below)
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw unwritable(below, error)
        await assertDirectory(below)
      }
      return directoryWriter(below)
    },
  }
}

/** A name that this machine's own rules read as more than a name, such as `..\x` on Windows, stays outside. */
function childPath(path: string, name: string): string {
  const child = join(path, name)
  if (basename(child) === name && dirname(child) === join(path, '.')) return child
  throw new CairnError('Malformed', `${JSON.stringify(name)} cannot be the name of a file here.`)
}

/** A link to a directory elsewhere would be a way out. */
async function assertDirectory(path: string): Promise<void> {
  if (!(await statOf(path)).isDirectory())
    throw new CairnError('Conflict', `${path} is there and is no directory.`, { code: 'file_exists' })
}

function partPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.cairn-${process.pid}`)
}

function unreadable(path: string, cause: unknown): CairnError {
  if (cause instanceof CairnError) return cause
  if (hasCode(cause, 'ENOENT')) return new CairnError('NotFound', `There is no ${path}.`, { code: 'no_file', cause })
  return new CairnError('Malformed', `${path} cannot be read: ${messageOf(cause)}.`, { code: 'unreadable', cause })
}

function unwritable(path: string, cause: unknown): unknown {
  if (cause instanceof CairnError || !(cause instanceof Error && 'syscall' in cause)) return cause
  const isFull = hasCode(cause, 'ENOSPC')
  const code = isFull ? 'no_space' : 'unwritable'
  return new CairnError('Malformed', `${path} cannot be written: ${messageOf(cause)}.`, { code, cause })
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
