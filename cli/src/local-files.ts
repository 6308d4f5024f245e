/** Files and directories of this machine, as the SDK wants them. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CairnError, SystemRandom } from '@cairn/kernel'
import type { DirectoryReader, DirectoryWriter, ReadableEntry } from '@cairn/sdk'
import { freeBytes } from '@cairn/wire'

type FilePieces = AsyncIterable<Uint8Array>

const READ_BYTES = 1024 * 1024

/** The bytes of a file, from the start each time it is asked. */
export function fileSource(path: string): () => FilePieces {
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

/** What is left out of a tree. */
export interface Skipped {
  /** As it can be shown, which is not how every name can be given to the machine again. */
  readonly path: string
  readonly why: string
}

/** What lies below a directory. What has no place in a tree is left out, and named in `skipped`. */
export function localDirectory(path: string, skipped: Skipped[]): DirectoryReader {
  return {
    async *entries(): AsyncGenerator<ReadableEntry> {
      for (const { name, shown, entry } of await entriesOf(path)) {
        const below = join(path, shown)
        if (name === undefined) skipped.push({ path: below, why: 'its name is not UTF-8' })
        else if (entry.isDirectory()) yield { kind: 'tree', name, directory: localDirectory(below, skipped) }
        else if (entry.isFile()) yield { kind: 'file', name, open: fileSource(below) }
        else skipped.push({ path: below, why: 'links and devices have no place in a directory' })
      }
    },
  }
}

/** Names as bytes: decoded by the machine, one that is not UTF-8 would be the name of nothing. */
async function entriesOf(path: string) {
  try {
    const entries = await readdir(path, { withFileTypes: true, encoding: 'buffer' })
    return entries.map((entry) => {
      const name = textOf(entry.name)
      return { entry, name, shown: name ?? escaped(entry.name) }
    })
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Bytes that are no text, the way a shell writes them. */
function escaped(bytes: Uint8Array): string {
  const hex = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`
  return Array.from(bytes, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : hex(byte))).join('')
}

/** Bytes of all files below a directory. */
export async function measure(path: string): Promise<number> {
  let bytes = 0
  for (const { name, entry } of await entriesOf(path)) {
    if (name === undefined) continue
    const below = join(path, name)
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
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return false
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
export async function writeFileWhole(path: string, pieces: FilePieces | readonly Uint8Array[]): Promise<void> {
  if ((await isThere(path)) && !isReplaceable(await statOf(path))) {
    await using file = await opened(path, path, constants.O_WRONLY | constants.O_NOFOLLOW)
    await writeAll(file, path, pieces)
    return
  }
  const part = partPath(path)
  const file = await opened(part, path, NEW_FILE)
  try {
    await writeAll(file, path, pieces)
    await file.close()
    await rename(part, path)
  } catch (error) {
    await file.close()
    await rm(part, { force: true })
    throw unwritable(path, error)
  }
}

/** Never through a link that somebody left there, and never into a file that is there. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

function isReplaceable(found: Awaited<ReturnType<typeof statOf>>): boolean {
  return found.isFile() || found.isSymbolicLink() || found.isDirectory()
}

/** What is to become `path`. */
async function opened(part: string, path: string, flags: number): Promise<FileHandle> {
  try {
    return await open(part, flags)
  } catch (error) {
    throw unwritable(path, error)
  }
}

async function writeAll(file: FileHandle, path: string, pieces: FilePieces | readonly Uint8Array[]): Promise<void> {
  try {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; ) at += (await file.write(piece, at, piece.length - at)).bytesWritten
    }
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** The same pieces; the memory of each goes when the next is asked for. */
export async function* freed(pieces: FilePieces): FilePieces {
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
  } catch (error) {
    throw unwritable(path, error)
  }
  try {
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

/** Short, since the name it gets in the end may be as long as names can be; by chance, so that nobody can be there before. */
function partPath(path: string): string {
  return join(dirname(path), `.cairn-${Buffer.from(new SystemRandom().bytes(10)).toString('hex')}`)
}

function unreadable(path: string, cause: unknown): CairnError {
  if (cause instanceof CairnError) return cause
  if (hasCode(cause, 'ENOENT')) return new CairnError('NotFound', `There is no ${path}.`, { code: 'no_file', cause })
  return new CairnError('Malformed', `${path} cannot be read: ${messageOf(cause)}.`, { code: 'unreadable', cause })
}

function unwritable(path: string, cause: unknown): unknown {
  if (cause instanceof CairnError || !(cause instanceof Error && 'syscall' in cause)) return cause
  if (hasCode(cause, 'ENOENT') || hasCode(cause, 'ENOTDIR')) {
    const detail = `There is no directory ${dirname(path)} to write ${basename(path)} into.`
    return new CairnError('Malformed', detail, { code: 'no_directory', cause })
  }
  const isFull = hasCode(cause, 'ENOSPC')
  const code = isFull ? 'no_space' : 'unwritable'
  return new CairnError('Malformed', `${path} cannot be written: ${messageOf(cause)}.`, { code, cause })
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Without the call and the path in it, which may be that of a part nobody has heard of. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/, \w+ '.*$/s, '')
}
