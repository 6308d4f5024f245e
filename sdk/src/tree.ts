/**
 * Directories as trees: every file an object, every directory an object that lists them.
 *
 *     put   files first, a few at once ─▶ the directory that lists them ─▶ … ─▶ the address of the top
 *     get   the top ─▶ its files, a few at once, and its directories, each handed to a writer by a name that has been checked
 *               └─▶ its links, after everything else, so that nothing is written through one
 *
 * What a directory is on this side, files on a disk or handles in a browser, is the caller's business.
 */
import { CairnError, Scope, Semaphore } from '@cairn/kernel'
import {
  type Address,
  decodeTree,
  encodeTree,
  MAX_TREE_BYTES,
  mayBeTree,
  parseLinkTarget,
  type TreeEntry,
  type TreeObject,
} from '@cairn/wire'
import type { Connection } from './connection.ts'
import { type GetOptions, get } from './get.ts'
import { type PutOptions, put } from './put.ts'
import { type Source, streamed } from './source.ts'

export type ReadableEntry =
  | { readonly kind: 'file'; readonly name: string; readonly open: Source; readonly executable?: boolean }
  | { readonly kind: 'link'; readonly name: string; readonly target: string }
  | { readonly kind: 'tree'; readonly name: string; readonly directory: DirectoryReader }

export interface DirectoryReader {
  entries(): AsyncIterable<ReadableEntry>
}

/** Names come checked: one segment of a path, never `.` or `..`, without `/` and NUL. */
export interface DirectoryWriter {
  file(name: string, bytes: ReadableStream<Uint8Array>, about: { readonly executable: boolean }): Promise<void>
  directory(name: string): Promise<DirectoryWriter>
  /** Called once all files and directories are written; the target ends inside the tree. */
  link(name: string, target: string): Promise<void>
}

export interface TreeProgress {
  readonly files: number
  readonly bytes: number
  /** Of a put: those that the service did not have before. */
  readonly newBytes: number
}

export interface TreeOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (progress: TreeProgress) => void
}

export interface GetTreeOptions extends TreeOptions {
  /** The same directory may appear in many places, so a few objects can stand for any number of files (default 1 000 000). */
  readonly entriesMax?: number
}

export interface TreeResult extends TreeProgress {
  readonly address: Address
}

/** Files under way at once: small ones share the syncs of the service. */
const FILES_AT_ONCE = 8
/** Deeper than any file system allows a path to be; nobody recurses further on a stranger's word. */
const DEPTH_MAX = 128
const ENTRIES_MAX = 1_000_000

/** Puts everything below the directory; returns the address of its tree. */
export async function putTree(
  connection: Connection,
  directory: DirectoryReader,
  options: TreeOptions = {},
): Promise<TreeResult> {
  const tally = new TreeProgressCounter(options)
  const { id } = await new TreePut(connection, tally).directory(directory, { depth: 0, signal: options.signal })
  return { address: id, ...tally.now() }
}

/** Hands everything below the tree to the writer, each file as a stream of proved bytes. */
export async function getTree(
  connection: Connection,
  address: string,
  writer: DirectoryWriter,
  options: GetTreeOptions = {},
): Promise<TreeProgress> {
  const tally = new TreeProgressCounter(options)
  const entries = await readTree(connection, address, options)
  const tree = new TreeGet(connection, tally, options.entriesMax ?? ENTRIES_MAX)
  await tree.directory(entries, { writer, path: [] }, options.signal)
  await tree.links()
  return tally.now()
}

/** The entries of the tree; `Malformed` with the code `not_a_tree` if the object is something else. */
export async function readTree(
  connection: Connection,
  address: string,
  { signal }: Pick<GetOptions, 'signal'> = {},
): Promise<readonly TreeEntry[]> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of streamed(get(connection, address, { signal }))) {
    if (size === 0 && !mayBeTree(piece)) throw notATree(address, 'its bytes do not list one')
    size += piece.length
    if (size > MAX_TREE_BYTES) throw notATree(address, 'it is larger than one can be')
    pieces.push(piece)
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  try {
    return decodeTree(bytes)
  } catch (cause) {
    throw notATree(address, 'its bytes do not list one', cause)
  }
}

class TreeProgressCounter {
  readonly #options: TreeOptions
  #now: TreeProgress = { files: 0, bytes: 0, newBytes: 0 }

  constructor(options: TreeOptions) {
    this.#options = options
  }

  now(): TreeProgress {
    return this.#now
  }

  add(more: Partial<TreeProgress>): void {
    const { files, bytes, newBytes } = this.#now
    this.#now = {
      files: files + (more.files ?? 0),
      bytes: bytes + (more.bytes ?? 0),
      newBytes: newBytes + (more.newBytes ?? 0),
    }
    this.#options.onProgress?.(this.#now)
  }
}

interface TreePosition {
  readonly depth: number
  readonly signal: AbortSignal | undefined
}

class TreePut {
  readonly #connection: Connection
  readonly #tally: TreeProgressCounter
  readonly #room = new Semaphore(FILES_AT_ONCE)

  constructor(connection: Connection, tally: TreeProgressCounter) {
    this.#connection = connection
    this.#tally = tally
  }

  async directory(reader: DirectoryReader, { depth, signal }: TreePosition): Promise<{ id: Address; size: number }> {
    if (depth > DEPTH_MAX) throw tooDeep()
    const entries: TreeEntry[] = []
    await using scope = new Scope(this.#connection.runtime, 'put tree', { signals: [signal] })
    const below = { depth: depth + 1, signal: scope.signal }
    await joined(scope, async () => {
      for await (const entry of reader.entries()) {
        const { kind, name } = entry
        if (kind === 'tree') {
          entries.push({ kind, name, ...(await this.directory(entry.directory, below)) })
          continue
        }
        if (kind === 'link') {
          assertInside(entry, depth)
          entries.push({ kind, name, target: entry.target })
          continue
        }
        const permit = await this.#room.acquire({ signal: scope.signal })
        scope.spawn('file', async (signal) => {
          using _room = permit
          const stored = await this.#file(entry.open, signal)
          entries.push({ kind, name, ...stored, ...(entry.executable === true ? { executable: true } : {}) })
        })
      }
    })
    const { address, size, newBytes } = await put(this.#connection, encodeTree(entries), { signal })
    this.#tally.add({ newBytes })
    return { id: address, size }
  }

  async #file(source: Source, signal: AbortSignal): Promise<{ id: Address; size: number }> {
    let before = { bytes: 0, newBytes: 0 }
    const onProgress: PutOptions['onProgress'] = (now) => {
      this.#tally.add({ bytes: now.bytes - before.bytes, newBytes: now.newBytes - before.newBytes })
      before = now
    }
    const { address, size } = await put(this.#connection, source, { signal, onProgress })
    this.#tally.add({ files: 1 })
    return { id: address, size }
  }
}

class TreeGet {
  readonly #connection: Connection
  readonly #tally: TreeProgressCounter
  readonly #room = new Semaphore(FILES_AT_ONCE)
  readonly #entriesMax: number
  #entries = 0
  readonly #links: WaitingLink[] = []

  constructor(connection: Connection, tally: TreeProgressCounter, entriesMax: number) {
    this.#connection = connection
    this.#tally = tally
    this.#entriesMax = entriesMax
  }

  async directory(entries: readonly TreeEntry[], at: WritePosition, outer: AbortSignal | undefined): Promise<void> {
    if (at.path.length > DEPTH_MAX) throw tooDeep()
    this.#entries += entries.length
    if (this.#entries > this.#entriesMax)
      throw new CairnError('TooLarge', `This tree has more than ${this.#entriesMax} entries; get its parts one by one.`)
    await using scope = new Scope(this.#connection.runtime, 'get tree', { signals: [outer] })
    await joined(scope, async () => {
      for (const entry of entries) {
        if (entry.kind === 'link') {
          assertInside(entry, at.path.length)
          this.#links.push({ ...at, name: entry.name, target: entry.target })
          continue
        }
        if (entry.kind === 'tree') {
          const below = await readTree(this.#connection, entry.id, { signal: scope.signal })
          const writer = await at.writer.directory(entry.name)
          await this.directory(below, { writer, path: [...at.path, entry.name] }, scope.signal)
          continue
        }
        const permit = await this.#room.acquire({ signal: scope.signal })
        scope.spawn('file', async (signal) => {
          using _room = permit
          await this.#file(entry, at.writer, signal)
        })
      }
    })
  }

  /** Writes the links, once no file can follow through one; a link whose way leads through another is refused before. */
  async links(): Promise<void> {
    const places = new Set(this.#links.map(({ path, name }) => [...path, name].join('/')))
    for (const { path, name, target } of this.#links) {
      const { up, names } = parseLinkTarget(target)
      const way = [...path.slice(0, path.length - up), ...names]
      const isThroughLink = way.slice(0, -1).some((_, index) => places.has(way.slice(0, index + 1).join('/')))
      if (isThroughLink) throw badLink(name, target, 'leads through another link')
    }
    for (const { writer, name, target } of this.#links) await writer.link(name, target)
  }

  async #file(entry: TreeObject, writer: DirectoryWriter, signal: AbortSignal): Promise<void> {
    const { name, id, size } = entry
    let before = 0
    const onProgress: GetOptions['onProgress'] = ({ bytes }) => {
      this.#tally.add({ bytes: bytes - before })
      before = bytes
    }
    const executable = entry.kind === 'file' && entry.executable === true
    await writer.file(name, get(this.#connection, id, { signal, onProgress }), { executable })
    if (before !== size)
      throw new CairnError('Integrity', `The directory says that ${name} has ${size} bytes; its object has ${before}.`)
    this.#tally.add({ files: 1 })
  }
}

interface WritePosition {
  readonly writer: DirectoryWriter
  /** The names of the directories from the root. */
  readonly path: readonly string[]
}

interface WaitingLink extends WritePosition {
  readonly name: string
  readonly target: string
}

/** `depth`: how many directories the one of the link is below the root. */
function assertInside({ name, target }: { readonly name: string; readonly target: string }, depth: number): void {
  if (parseLinkTarget(target).up > depth) throw badLink(name, target, 'leads out of the directory')
}

function badLink(name: string, target: string, why: string): CairnError {
  const detail = `The link ${JSON.stringify(name)} to ${JSON.stringify(target)} ${why}.`
  return new CairnError('Malformed', detail, { code: 'bad_link' })
}

/** Lets `spawn` start everything and waits for it. A child that fails ends the waits of `spawn`, and its error is the one that counts. */
async function joined(scope: Scope, spawn: () => Promise<void>): Promise<void> {
  try {
    await spawn()
  } catch (error) {
    scope.abort(error)
    await scope.join()
    throw error
  }
  await scope.join()
}

function tooDeep(): CairnError {
  return new CairnError('TooLarge', `Directories are nested more than ${DEPTH_MAX} deep.`)
}

function notATree(address: string, why: string, cause?: unknown): CairnError {
  return new CairnError('Malformed', `${address} is no directory: ${why}.`, { code: 'not_a_tree', cause })
}
