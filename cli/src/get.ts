/** `cairn get ADDRESS`: a file or a directory, every byte proved before it is written. */
import { CairnError, SystemClock } from '@cairn/kernel'
import { parseName } from '@cairn/names'
import type { Cairn } from '@cairn/sdk'
import {
  type Address,
  decodeTree,
  MAX_TREE_BYTES,
  mayBeTree,
  parseAddress,
  spellBytes,
  spellCount,
  spellSeconds,
} from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { freed, isThere, writeDirectory, writeFileWhole } from './local-files.ts'
import { Progress } from './progress.ts'
import { withRegistry } from './registry-service.ts'
import { withStorage } from './storage.ts'

// An address, or the one that a name means now, as the registry of the node says.

const NAME_PREFIX = 'name:'

export interface ResolvedAddress {
  readonly address: Address
  /** How the address was found, where it was not given: it is not proved. */
  readonly warnings: readonly string[]
}

/** `b3:…` is itself; `name:site@1.0` and `site@1.0` are what they mean. */
export async function resolveAddress(context: CommandContext, text: string): Promise<ResolvedAddress> {
  const isName = text.startsWith(NAME_PREFIX) || text.includes('@')
  if (!isName) return { address: parseAddress(text), warnings: [] }
  const name = parseName(text.startsWith(NAME_PREFIX) ? text.slice(NAME_PREFIX.length) : text)
  const found = await withRegistry(context, async ({ client, call }) => await client.name(name, undefined, call()))
  if (found === undefined)
    throw new CairnError('NotFound', `${name} is not found in this registry.`, { code: 'no_name' })
  const address = found.item.manifest
  const says = `${name} is ${address}, as the registry says; \`cairn resolve name:${name} --proof FILE\` gets the proof`
  return { address, warnings: [says] }
}

type ObjectPieces = AsyncIterable<Uint8Array>

interface Getting {
  readonly cairn: Cairn
  readonly address: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

interface Got {
  readonly kind: 'file' | 'tree'
  readonly bytes: number
  readonly files: number
}

export const get: CommandHandler = async (context) => {
  const { given, terminal } = context
  const path = outputOf(context)
  if (path !== '-' && !given.has('force') && (await isThere(path)))
    throw new CairnError('Conflict', `${path} exists; --force replaces it.`, { code: 'file_exists' })
  const { address, warnings } = await resolveAddress(context, given.operands[0] ?? '')
  return await withStorage(context, async (cairn, signal) => {
    const progress = new Progress(terminal, given, new SystemClock())
    const getting = { cairn, address, progress, signal }
    let got: Got | undefined
    try {
      got = path === '-' ? await getToOutput(getting, context) : await getToPath(getting, path)
    } finally {
      progress.end(got)
    }
    return { ...outcomeOf(address, path, got, progress.elapsedMs), warnings }
  })
}

function outputOf({ given, terminal }: CommandContext): string {
  const path = given.text('output')
  const usage = (detail: string): CairnError => new CairnError('Malformed', detail, { code: 'usage' })
  if (path === undefined && terminal.isDataWatched)
    throw usage('Standard output is a terminal. Name a file with -o PATH, or -o - to see the bytes here.')
  if (given.has('json') && (path ?? '-') === '-') throw usage('With --json the bytes need a file: -o PATH.')
  return path ?? '-'
}

async function getToOutput({ cairn, address, progress, signal }: Getting, { terminal }: CommandContext): Promise<Got> {
  let bytes = 0
  const stream = cairn.get(address, { signal, onProgress: (now) => progress.show(now) })
  for await (const piece of stream) {
    await terminal.writeBytes(piece)
    bytes += piece.length
  }
  return { kind: 'file', bytes, files: 1 }
}

async function getToPath({ cairn, address, progress, signal }: Getting, path: string): Promise<Got> {
  const opened = await openObject(cairn.get(address, { signal, onProgress: (now) => progress.show(now) }))
  if (opened.kind === 'file') {
    let bytes = 0
    const count = (length: number): void => {
      bytes += length
    }
    await writeFileWhole(path, counted(freed(opened.pieces), count))
    return { kind: 'file', bytes, files: 1 }
  }
  let got: Got = { kind: 'tree', bytes: 0, files: 0 }
  await writeDirectory(path, async (writer) => {
    const onProgress = (now: { bytes: number; files: number }): void => progress.show(now)
    const { bytes, files } = await cairn.getTree(address, writer, { signal, onProgress })
    got = { kind: 'tree', bytes, files }
  })
  return got
}

type OpenedObject = { readonly kind: 'file'; readonly pieces: ObjectPieces } | { readonly kind: 'tree' }

/** Whether the object is a directory: its bytes say so, and only those of a directory can. */
async function openObject(stream: ReadableStream<Uint8Array>): Promise<OpenedObject> {
  const iterator = stream[Symbol.asyncIterator]()
  const held: Uint8Array[] = []
  let size = 0
  for (;;) {
    const next = await iterator.next()
    if (next.done === true) return isTree(held) ? { kind: 'tree' } : { kind: 'file', pieces: rest(held, iterator) }
    held.push(next.value)
    size += next.value.length
    if (size > MAX_TREE_BYTES || !mayBeTree(held[0] ?? next.value))
      return { kind: 'file', pieces: rest(held, iterator) }
  }
}

function isTree(pieces: readonly Uint8Array[]): boolean {
  try {
    decodeTree(Buffer.concat(pieces))
    return true
  } catch {
    return false
  }
}

async function* rest(held: readonly Uint8Array[], iterator: AsyncIterator<Uint8Array>): ObjectPieces {
  try {
    yield* held
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    await iterator.return?.()
  }
}

async function* counted(pieces: ObjectPieces, count: (length: number) => void): ObjectPieces {
  for await (const piece of pieces) {
    count(piece.length)
    yield piece
  }
}

function outcomeOf(address: string, path: string, { kind, bytes, files }: Got, elapsedMs: number): CommandOutcome {
  const what = kind === 'tree' ? `${spellCount(files, 'file')}, ${spellBytes(bytes)}` : spellBytes(bytes)
  return {
    result: { address, path, kind, bytes, files },
    message: `every byte verified: ${what} in ${spellSeconds(elapsedMs)}`,
  }
}
