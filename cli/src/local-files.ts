/** Files and directories of this machine, as the SDK wants them. */
import { constants } from 'node:fs'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CairnError, SystemRandom } from '@cairn/kernel'
import type { DirectoryReader, DirectoryWriter, ReadableEntry } from '@cairn/sdk'
import { freeBytes, parseLinkTarget } from '@cairn/wire'

type FilePieces = AsyncIterable<Uint8Array>

const READ_BYTES = 1024 * 1024

/** The bytes of a file, from the start each time it is asked. */
export function fileSource(path: string, flags = constants.O_RDONLY): () => FilePieces {
  return async function* () {
    try {
      await using file = await open(path, flags)
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

export type LinkTreatment = 'keep' | 'follow' | 'skip'

export interface LocalDirectoryOptions {
  readonly links: LinkTreatment
  /** What has no place in a tree is left out, and named here. */
  readonly skipped: Skipped[]
}

/** What lies below a directory. */
export function localDirectory(root: string, options: LocalDirectoryOptions): DirectoryReader {
  return { entries: () => new LocalTree(root, options).entries([]) }
}

const OWNER_EXECUTES = 0o100
const NEVER_A_LINK = constants.O_RDONLY | constants.O_NOFOLLOW

class LocalTree {
  readonly #root: string
  readonly #options: LocalDirectoryOptions

  constructor(root: string, options: LocalDirectoryOptions) {
    this.#root = root
    this.#options = options
  }

  /** `at`: the names from the root. */
  async *entries(at: readonly string[]): AsyncGenerator<ReadableEntry> {
    for (const { name, shown, entry } of await entriesOf(join(this.#root, ...at))) {
      const path = join(this.#root, ...at, shown)
      if (name === undefined) this.#skip(path, 'its name is not UTF-8')
      else if (entry.isDirectory()) yield this.#tree([...at, name])
      else if (entry.isFile()) yield await fileEntry(name, path, NEVER_A_LINK)
      else if (entry.isSymbolicLink()) yield* this.#link([...at, name])
      else this.#skip(path, 'it is no file, directory or link')
    }
  }

  #skip(path: string, why: string): void {
    this.#options.skipped.push({ path, why })
  }

  #tree(at: readonly string[]): ReadableEntry {
    return { kind: 'tree', name: at.at(-1) ?? '', directory: { entries: () => this.entries(at) } }
  }

  async *#link(at: readonly string[]): AsyncGenerator<ReadableEntry> {
    const { links } = this.#options
    if (links === 'skip') return
    const path = join(this.#root, ...at)
    const name = at.at(-1) ?? ''
    if (links === 'keep') {
      const target = textOf(await readlink(path, { encoding: 'buffer' }))
      const why = target === undefined ? 'its target is not UTF-8' : await this.#whyNot(at.slice(0, -1), target)
      if (target !== undefined && why === undefined) yield { kind: 'link', name, target }
      else this.#skip(path, `${why}; --links=follow stores what it leads to`)
      return
    }
    // What cannot be looked at is left out below, by name.
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() === true) yield await fileEntry(name, path, constants.O_RDONLY)
    else if (found?.isDirectory() !== true) this.#skip(path, 'it leads to no file or directory')
    else if (await this.#isAround(at)) this.#skip(path, 'it leads to a directory it lies in')
    else yield this.#tree(at)
  }

  /** Why the tree cannot have this link; undefined if it can. */
  async #whyNot(at: readonly string[], target: string): Promise<string | undefined> {
    try {
      const { up, names } = parseLinkTarget(target)
      if (up > at.length) return 'it leads out of the directory'
      const way = [...at.slice(0, at.length - up), ...names]
      for (let length = 1; length < way.length; length += 1)
        if (await isLink(join(this.#root, ...way.slice(0, length)))) return 'it leads through another link'
      return undefined
    } catch {
      return 'its target is absolute, or not a plain relative path'
    }
  }

  /** Whether this directory is one of those it was reached through. */
  async #isAround(at: readonly string[]): Promise<boolean> {
    const own = await realpath(join(this.#root, ...at))
    for (let length = 0; length < at.length; length += 1)
      if ((await realpath(join(this.#root, ...at.slice(0, length)))) === own) return true
    return false
  }
}

async function fileEntry(name: string, path: string, flags: number): Promise<ReadableEntry> {
  const { mode } = flags === NEVER_A_LINK ? await statOf(path) : await targetStatOf(path)
  return { kind: 'file', name, open: fileSource(path, flags), executable: (mode & OWNER_EXECUTES) !== 0 }
}

async function isLink(path: string): Promise<boolean> {
  return (await isThere(path)) && (await statOf(path)).isSymbolicLink()
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

/** What is there, or what the link there leads to. */
export async function targetStatOf(path: string) {
  try {
    return await stat(path)
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
async function opened(part: string, path: string, flags: number, mode = FILE_MODE): Promise<FileHandle> {
  try {
    return await open(part, flags, mode)
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

/*
 * A directory is written in private and moved into place whole.
 *
 *     path/../.cairn-CHANCE   mode 0700, held open: nobody else can put a link into it, or exchange it for another
 *               └─ new        files, directories, then links ─▶ renamed to `path`
 *                                                               path is there (--force): each entry renamed into it
 *
 * What is held open is named by its descriptor, so a directory that is exchanged for a link meanwhile leads nowhere else.
 */

/** Lets `fill` write into a new directory that gets its name, or replaces what is there, once everything is there. */
export async function writeDirectory(path: string, fill: (writer: DirectoryWriter) => Promise<void>): Promise<void> {
  const isMerged = await isThere(path)
  if (isMerged) await assertDirectory(path)
  const part = isMerged ? join(path, partName()) : partPath(path)
  try {
    await mkdir(part, 0o700)
  } catch (error) {
    throw unwritable(path, error)
  }
  try {
    await using held = await HeldDirectory.open(part)
    const fresh = join(held.path, 'new')
    try {
      await mkdir(fresh)
      await fill(directoryWriter(fresh, path))
      if (isMerged) await mergeDirectory(fresh, path, path)
      else await rename(fresh, path)
    } finally {
      await rm(fresh, { recursive: true, force: true })
    }
  } catch (error) {
    throw unwritable(path, error)
  } finally {
    // Another fetch into the same place may have files there still.
    await rmdir(part).catch(() => undefined)
  }
}

/** A directory that stays the same one while it is open, whatever happens to its name. */
class HeldDirectory {
  readonly #handle: FileHandle
  /** On Linux the name of the descriptor; elsewhere the path, which only the owner of the directory above can redirect. */
  readonly path: string

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle
    this.path = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path
  }

  static async open(path: string): Promise<HeldDirectory> {
    return new HeldDirectory(await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW), path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}

/** Moves every entry of `from` into `to`, replacing files and links, and going into directories that are there. */
async function mergeDirectory(from: string, to: string, shown: string): Promise<void> {
  await using held = await heldDirectory(to, shown)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name)
    const target = join(held.path, entry.name)
    const isIntoDirectory = entry.isDirectory() && (await isThere(target))
    if (isIntoDirectory) await mergeDirectory(source, target, join(shown, entry.name))
    else await moved(source, target, join(shown, entry.name))
  }
}

async function heldDirectory(path: string, shown: string): Promise<HeldDirectory> {
  try {
    return await HeldDirectory.open(path)
  } catch (cause) {
    if (!hasCode(cause, 'ENOTDIR') && !hasCode(cause, 'ELOOP')) throw unwritable(shown, cause)
    throw new CairnError('Conflict', `${shown} is there and is no directory.`, { code: 'file_exists', cause })
  }
}

async function moved(source: string, target: string, shown: string): Promise<void> {
  try {
    await rename(source, target)
  } catch (error) {
    throw unwritable(shown, error)
  }
}

const FILE_MODE = 0o666
const EXECUTABLE_MODE = 0o777

/** Writes below `path`, a directory that was empty and is nobody else's; `shown` is where everything will be. */
function directoryWriter(path: string, shown: string): DirectoryWriter {
  return {
    file: async (name, bytes, { executable }) => {
      const [child, shownChild] = [childPath(path, name), join(shown, name)]
      await using file = await opened(child, shownChild, NEW_FILE, executable ? EXECUTABLE_MODE : FILE_MODE)
      await writeAll(file, shownChild, freed(bytes))
    },
    directory: async (name) => {
      const child = childPath(path, name)
      try {
        await mkdir(child)
      } catch (error) {
        throw unwritable(join(shown, name), error)
      }
      return directoryWriter(child, join(shown, name))
    },
    link: async (name, target) => {
      try {
        await symlink(target, childPath(path, name))
      } catch (error) {
        throw unwritable(join(shown, name), error)
      }
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
  return join(dirname(path), partName())
}

function partName(): string {
  return `.cairn-${Buffer.from(new SystemRandom().bytes(10)).toString('hex')}`
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
