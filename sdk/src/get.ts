/**
 * An object comes down chunk by chunk, each proved before it is handed out.
 *
 *     manifest, proved against the address ─▶ windows of 1 MiB, four ahead ─▶ each chunk proved ─▶ the reader, in order
 *                                              └─ a connection that breaks: the window goes on at its next chunk
 *
 * Nothing the service says is believed: its bytes are the object's, or the stream ends with an error before them.
 */
import { CairnError, Cancel, isKind, Scope } from '@cairn/kernel'
import {
  type Address,
  addressOf,
  chunkLength,
  decodeManifest,
  freeBytes,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseAddress,
  verifyChunk,
} from '@cairn/wire'
import type { Connection, Operation } from './connection.ts'
import { badAnswer, bytesOf, piecesOf } from './http.ts'

export interface GetProgress {
  /** Bytes handed out by now, all of them proved. */
  readonly bytes: number
  readonly totalBytes: number
}

export interface GetOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (progress: GetProgress) => void
  /** Only these bytes: from `first` to `last`, both included; without `last`, to the end. */
  readonly range?: { readonly first: number; readonly last?: number }
}

const WINDOW_BYTES = 1024 * 1024
const WINDOWS_AHEAD = 4
/** At the slowest pace a service puts up with. */
const WINDOW_BUDGET_MS = 90_000
const MANIFEST_BUDGET_MS = 300_000
/** The largest chunk there is: more cannot be an object of one chunk. */
const SINGLE_BYTES_MAX = 1024 * 1024

/** The bytes of the object. A stream nobody reads fetches nothing; canceling it ends what is under way. */
export function get(connection: Connection, address: string, options: GetOptions = {}): ReadableStream<Uint8Array> {
  const id = parseAddress(address)
  const cancel = new Cancel({ signals: [options.signal] })
  const pieces = provedPieces(connection, id, options, cancel)
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next = await pieces.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: async (reason) => {
        cancel.abort(reason)
        await pieces.return(undefined)
      },
    },
    // Read-ahead is ours, in whole windows.
    { highWaterMark: 0 },
  )
}

async function* provedPieces(connection: Connection, id: Address, options: GetOptions, cancel: Cancel) {
  using _ending = cancel
  const operation = connection.operation(cancel.signal)
  const manifest = await fetchManifest(connection, id, operation)
  const pieces =
    manifest === undefined
      ? singlePiece(await fetchSingle(connection, id, operation), options.range)
      : windowPieces(connection, manifest, options.range, operation)
  let bytes = 0
  for await (const { piece, totalBytes } of pieces) {
    bytes += piece.length
    yield piece
    options.onProgress?.({ bytes, totalBytes })
  }
}

interface ProvedPiece {
  readonly piece: Uint8Array
  readonly totalBytes: number
}

async function* singlePiece(bytes: Uint8Array, range: GetOptions['range']): AsyncGenerator<ProvedPiece> {
  const { first, last } = boundsOf(range, bytes.length)
  const piece = bytes.subarray(first, last + 1)
  if (piece.length > 0) yield await Promise.resolve({ piece, totalBytes: piece.length })
}

async function* windowPieces(
  connection: Connection,
  manifest: Manifest,
  range: GetOptions['range'],
  operation: Operation,
): AsyncGenerator<ProvedPiece> {
  const { first, last } = boundsOf(range, manifest.size)
  const { chunkSize } = manifest
  await using scope = new Scope(connection.runtime, 'get', { signals: [operation.signal] })
  const ahead: { readonly from: number; readonly chunks: Promise<Uint8Array[]> }[] = []
  const lastChunk = Math.floor(last / chunkSize)
  let next = Math.floor(first / chunkSize)
  for (;;) {
    while (next <= lastChunk && ahead.length < WINDOWS_AHEAD) {
      const to = Math.min(lastChunk, next + Math.max(1, WINDOW_BYTES / chunkSize) - 1)
      const window = { from: next, to }
      const task = async (signal: AbortSignal) =>
        await fetchWindow(connection, manifest, window, { ...operation, signal })
      ahead.push({ from: next, chunks: scope.spawn('window', task).result })
      next = to + 1
    }
    const window = ahead.shift()
    if (window === undefined) break
    for (const [index, chunk] of (await window.chunks).entries()) {
      const start = (window.from + index) * chunkSize
      const piece = chunk.subarray(Math.max(0, first - start), Math.min(chunk.length, last + 1 - start))
      yield { piece, totalBytes: last + 1 - first }
    }
  }
  await scope.join()
}

/** The first and the last byte to hand out; of an empty object, none. */
function boundsOf(range: GetOptions['range'], size: number): { first: number; last: number } {
  if (range === undefined) return { first: 0, last: size - 1 }
  const { first, last = Number.MAX_SAFE_INTEGER } = range
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first < 0 || last < first)
    throw new CairnError('Malformed', `Bytes ${first} to ${last} are not a range.`)
  if (first >= size)
    throw new CairnError('Malformed', `The object has ${size} bytes; none of them is in the range.`, {
      code: 'range_not_satisfiable',
      status: 416,
    })
  return { first, last: Math.min(last, size - 1) }
}

/** The manifest, proved; undefined for an object of one chunk, which has none. */
async function fetchManifest(connection: Connection, id: Address, operation: Operation): Promise<Manifest | undefined> {
  try {
    const bytes = await connection.ask(
      {
        method: 'GET',
        path: `m/${id}`,
        idempotent: true,
        budgetMs: MANIFEST_BUDGET_MS,
        read: async (response, signal) => await bytesOf(response, signal, MAX_MANIFEST_BYTES),
      },
      operation,
    )
    return provedManifest(bytes, id)
  } catch (error) {
    if (isKind(error, 'NotFound') && error.code === 'single_chunk') return undefined
    throw error
  }
}

function provedManifest(bytes: Uint8Array, id: Address): Manifest {
  try {
    return decodeManifest(bytes, id)
  } catch (cause) {
    // Whatever is wrong with it, it does not prove what it was asked to prove.
    throw new CairnError('Integrity', `The service sent a manifest that is not the one of ${id}.`, { cause })
  }
}

async function fetchSingle(connection: Connection, id: Address, operation: Operation): Promise<Uint8Array> {
  const bytes = await connection.ask(
    {
      method: 'GET',
      path: `o/${id}`,
      idempotent: true,
      budgetMs: WINDOW_BUDGET_MS,
      read: async (response, signal) => await bytesOf(response, signal, SINGLE_BYTES_MAX),
    },
    operation,
  )
  if (addressOf(bytes) !== id) throw new CairnError('Integrity', `The bytes the service sent are not those of ${id}.`)
  return bytes
}

interface ChunkRange {
  readonly from: number
  readonly to: number
}

/** The chunks of a window, each proved. What one try has brought is kept for the next. */
async function fetchWindow(
  connection: Connection,
  manifest: Manifest,
  { from, to }: ChunkRange,
  operation: Operation,
): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  const lastByte = to * manifest.chunkSize + chunkLength(manifest, to) - 1
  while (chunks.length <= to - from) {
    const before = chunks.length
    const start = (from + before) * manifest.chunkSize
    await connection.ask(
      {
        method: 'GET',
        path: `o/${manifest.id}`,
        // Only as long as nothing has come: after that this loop asks for the rest.
        idempotent: true,
        headers: { range: `bytes=${start}-${lastByte}` },
        budgetMs: WINDOW_BUDGET_MS,
        read: async (response, signal) => {
          if (response.status !== 206 && start > 0) throw badAnswer('ignores the range that was asked for')
          const keep = (index: number, chunk: Uint8Array): void => {
            chunks[index - from] = chunk
          }
          try {
            await readChunks(response, signal, manifest, { from: from + before, to }, keep)
          } catch (error) {
            if (!isKind(error, 'Timeout') || chunks.length === before) throw error
          }
        },
      },
      operation,
    )
  }
  return chunks
}

/** Keeps each chunk once it is whole and proved. */
async function readChunks(
  response: Response,
  signal: AbortSignal,
  manifest: Manifest,
  { from, to }: ChunkRange,
  keep: (index: number, chunk: Uint8Array) => void,
): Promise<void> {
  let index = from
  let chunk = new Uint8Array(chunkLength(manifest, index))
  let filled = 0
  for await (const piece of piecesOf(response, signal)) {
    for (let at = 0; at < piece.length; ) {
      const take = Math.min(piece.length - at, chunk.length - filled)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < chunk.length) continue
      verifyChunk(manifest, index, chunk)
      keep(index, chunk)
      // More than was asked for is not even looked at.
      if (index === to) return
      index += 1
      chunk = new Uint8Array(chunkLength(manifest, index))
      filled = 0
    }
    freeBytes(piece)
  }
  throw new CairnError('Timeout', 'The answer ended before the bytes that were asked for.', {
    code: 'connection_lost',
    status: 502,
  })
}
