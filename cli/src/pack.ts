/** `cairn pack add|ls|rm`: tile packs that an edge serves. */
import { resolve } from 'node:path'
import type { EdgePack } from '@cairn/clients'
import { CairnError, Deadline, MemoryLog, MemoryMetrics, SystemClock, systemRuntime } from '@cairn/kernel'
import { openPack, type PackFacts, TILE_TYPES } from '@cairn/packs'
import { openIsolated, RealDisk, threadInflate } from '@cairn/platform'
import {
  type Address,
  addressFromDigest,
  createBlake3,
  parseAddress,
  parseDuration,
  spellBytes,
  spellCount,
} from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { fileSource, statOf } from './local-files.ts'
import { Progress } from './progress.ts'
import { connectionFlags, formatRows } from './registry-format.ts'
import { untilInterrupted, withEdge } from './service-client.ts'

// `cairn pack verify FILE`: whether a file is a pack that can be served, and which one. Asks nobody.

/** A file of a terabyte is read in a few hours. */
const TIMEOUT_DEFAULT = '24h'

interface ExaminedPack {
  readonly path: string
  readonly facts: PackFacts
  readonly size: number
  readonly b3: Address
  readonly tiles: number
}

export const verify: CommandHandler = async (context) => {
  const { given } = context
  const path = given.operands[0] ?? ''
  const wanted = addressOf(given.text('b3'))
  const found = await untilInterrupted(async (signal) => await examine(context, path, signal))
  return outcomeOf(found, wanted)
}

async function examine({ given, terminal }: CommandContext, path: string, signal: AbortSignal): Promise<ExaminedPack> {
  const { size } = await statOf(path)
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const isolated = openIsolated(runtime)
  const progress = new Progress(terminal, given, new SystemClock())
  const deadline = Deadline.after(runtime.clock, parseDuration(given.text('timeout') ?? TIMEOUT_DEFAULT))
  const options = { deadline, signal }
  try {
    const machine = { runtime, disk: new RealDisk(runtime), isolated, inflate: threadInflate }
    await using pack = await openPack(machine, path, options)
    const b3 = await hash(path, size, progress, options)
    const onStep = (): void => {
      signal.throwIfAborted()
      deadline.throwIfExpired('the pack')
    }
    const { tiles } = await pack.verify(options, onStep, 'contents')
    return { path, facts: pack.facts, size, b3, tiles }
  } finally {
    progress.end()
    await isolated.close()
  }
}

async function hash(
  path: string,
  size: number,
  progress: Progress,
  { deadline, signal }: { readonly deadline: Deadline; readonly signal: AbortSignal },
): Promise<Address> {
  const hasher = createBlake3()
  let bytes = 0
  for await (const piece of fileSource(path)()) {
    signal.throwIfAborted()
    deadline.throwIfExpired('the pack')
    hasher.update(piece)
    bytes += piece.length
    progress.show({ bytes, totalBytes: size })
  }
  return addressFromDigest(hasher.digest())
}

function outcomeOf({ path, facts, size, b3, tiles }: ExaminedPack, wanted: Address | undefined): CommandOutcome {
  const { format, tileType, minZoom, maxZoom, bounds } = facts
  const { extension } = TILE_TYPES[tileType]
  const isOther = wanted !== undefined && wanted !== b3
  const outcome = {
    result: {
      path,
      verdict: isOther ? 'other' : 'sound',
      format,
      tiles,
      type: extension,
      min_zoom: minZoom,
      max_zoom: maxZoom,
      bounds,
      size,
      b3,
    },
    data: formatRows([
      ['verdict', isOther ? 'another pack' : 'sound'],
      ['format', format],
      ['tiles', `${spellCount(tiles, 'tile')}, ${extension}`],
      ['zooms', `${minZoom} to ${maxZoom}`],
      ['bounds', bounds.join(' ')],
      ['size', spellBytes(size)],
      ['b3', b3],
      ['not checked', 'what is inside the tiles'],
    ]),
  }
  if (isOther) {
    const error = new CairnError('Integrity', `${path} is ${b3}, not ${wanted}.`, { code: 'other_pack' })
    return { ...outcome, error }
  }
  return { ...outcome, next: [`npx cairn pack add NAME ${path}`] }
}

/** The edge reads the whole file before it answers. */
const OPEN_MS = 120_000

/** Serves a file under a name, once the edge has verified it. Standard output is its address. */
export const add: CommandHandler = async (context) => {
  const { given } = context
  const [name = '', file = ''] = given.operands
  const b3 = addressOf(given.text('b3'))
  const path = resolve(file)
  // Another machine has files of its own.
  if (!given.has('node')) await statOf(path)
  return await withEdge(context, async ({ client, call, url }) => {
    const pack = await client.addPack(name, path, b3, call(OPEN_MS))
    const tiles = new URL(`edge/assets/p/${encodeURIComponent(name)}/tiles.json`, url).href
    return {
      result: { ...resultOf(pack), tile_json: tiles },
      data: `${pack.b3 ?? ''}\n`,
      message: `${name} is served, now and after restarts: ${formatPackState(pack)}\n  ${tiles}`,
      next: [`npx cairn pack ls${connectionFlags(given)}`],
    }
  })
}

export const ls: CommandHandler = async (context) =>
  await withEdge(context, async ({ client, call }) => {
    const packs = await client.packs(call())
    const failed = packs.filter(({ state }) => state.tag === 'failed')
    return {
      result: { packs: packs.map(resultOf) },
      data: packs.map((pack) => `${formatPack(pack)}\n`).join(''),
      message: `${spellCount(packs.length, 'pack')}${failed.length === 0 ? '' : `, ${failed.length} not served`}`,
      warnings: failed.map(({ name, state }) => `${name} is not served: ${state.tag === 'failed' ? state.why : ''}`),
      next:
        packs.length === 0
          ? [`npx cairn pack add NAME FILE${connectionFlags(context.given)}`]
          : failed.map(({ path }) => `npx cairn pack verify ${path}`),
    }
  })

export const rm: CommandHandler = async (context) => {
  const name = context.given.operands[0] ?? ''
  await withEdge(context, async ({ client, call }) => await client.removePack(name, call()))
  return { result: { name }, message: `${name} is not served any more; its file stays where it is` }
}

export function addressOf(text: string | undefined): Address | undefined {
  return text === undefined ? undefined : parseAddress(text)
}

function formatPack(pack: EdgePack): string {
  const { name, from, path, b3, state } = pack
  return [name, state.tag, from, b3 ?? '-', formatPackState(pack), path].join('  ')
}

function formatPackState({ state }: EdgePack): string {
  if (state.tag !== 'mounted') return '-'
  const { tiles, minZoom, maxZoom, size } = state
  return `${tiles} ${minZoom}-${maxZoom} ${spellBytes(size)}`
}

function resultOf({ name, path, from, b3, state }: EdgePack) {
  const common = { name, path, from, b3: b3 ?? null, state: state.tag }
  if (state.tag === 'opening') return common
  if (state.tag === 'failed') return { ...common, why: state.why }
  const { size, mediaType, tiles, minZoom, maxZoom } = state
  return { ...common, size, media_type: mediaType, tiles, min_zoom: minZoom, max_zoom: maxZoom }
}
