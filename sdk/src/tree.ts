/**
 * Directories as trees: every file an object, every directory an object that lists them.
 *
 *     put   files first, a few at once ─▶ the directory that lists them ─▶ … ─▶ the address of the top
 *     get   the top ─▶ its files, a few at once, and its directories, each handed to a writer by a name that has been checked
 *
 * What a directory is on this side, files on a disk or handles in a browser, is the caller's business.
 */
import { CairnError, Scope, Semaphore } from '@cairn/kernel'
import { type Address, decodeTree, encodeTree, MAX_TREE_BYTES, type TreeEntry } from '@cairn/wire'
import type { Connection } from './connection.ts'
import { type GetOptions, get } from './get.ts'
import { type PutOptions, put } from './put.ts'
import { type Source, streamed } from './source.ts'

export type ReadableEntry =
  | { readonly kind: 'file'; readonly name: string; readonly open: Source }
  | { readonly kind: 'tree'; readonly name: string; readonly directory: DirectoryReader }

export interface DirectoryReader {
  entries(): AsyncIterable<ReadableEntry>
}

/** Names come checked: one segment of a path, never `.` or `..`, without `/` and NUL. */
export interface DirectoryWriter {
  file(name: string, bytes: ReadableStream<Uint8Array>): Promise<void>
  directory(name: string): Promise<DirectoryWriter>
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
  await new TreeGet(connection, tally, options.entriesMax ?? ENTRIES_MAX).directory(entries, writer, {
    depth: 0,
    signal: options.signal,
  })
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
        const permit = await this.#room.acquire({ signal: scope.signal })
        scope.spawn('file', async (signal) => {
          using _room = permit
          entries.push({ kind, name, ...(await this.#file(entry.open, signal)) })
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

  constructor(connection: Connection, tally: TreeProgressCounter, entriesMax: number) {
    this.#connection = connection
    this.#tally = tally
    this.#entriesMax = entriesMax
  }

  async directory(
    entries: readonly TreeEntry[],
    writer: DirectoryWriter,
    { depth, signal }: TreePosition,
  ): Promise<void> {
    if (depth > DEPTH_MAX) throw tooDeep()
    this.#entries += entries.length
    if (this.#entries > this.#entriesMax)
      throw new CairnError('TooLarge', `This tree has more than ${this.#entriesMax} entries; get its parts one by one.`)
    await using scope = new Scope(this.#connection.runtime, 'get tree', { signals: [signal] })
    await joined(scope, async () => {
      for (const entry of entries) {
        if (entry.kind === 'tree') {
          const below = await readTree(this.#connection, entry.id, { signal: scope.signal })
          await this.directory(below, await writer.directory(entry.name), { depth: depth + 1, signal: scope.signal })
          continue
        }
        const permit = await this.#room.acquire({ signal: scope.signal })
        scope.spawn('file', async (signal) => {
          using _room = permit
          await this.#file(entry, writer, signal)
        })
      }
    })
  }

  async #file({ name, id, size }: TreeEntry, writer: DirectoryWriter, signal: AbortSignal): Promise<void> {
    let before = 0
    const onProgress: GetOptions['onProgress'] = ({ bytes }) => {
      this.#tally.add({ bytes: bytes - before })
      before = bytes
    }
    await writer.file(name, get(this.#connection, id, { signal, onProgress }))
    if (before !== size)
      throw new CairnError('Integrity', `The directory says that ${name} has ${size} bytes; its object has ${before}.`)
    this.#tally.add({ files: 1 })
  }
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
