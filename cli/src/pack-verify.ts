/** `cairn pack verify FILE`: whether a file is a pack that can be served, and which one. Asks nobody. */
import { CairnError, Deadline, MemoryLog, MemoryMetrics, SystemClock, systemRuntime } from '@cairn/kernel'
import { openPack, type PackFacts, TILE_TYPES } from '@cairn/packs'
import { openIsolated, RealDisk, threadInflate } from '@cairn/platform'
import { type Address, addressFromDigest, createBlake3, parseDuration, spellBytes, spellCount } from '@cairn/wire'
import type { CommandContext, Outcome, Run } from './command.ts'
import { untilInterrupted } from './interrupt.ts'
import { fileSource, statOf } from './local-files.ts'
import { addressOf } from './pack.ts'
import { Progress } from './progress.ts'
import { rows } from './registry-words.ts'

/** A file of a terabyte is read in a few hours. */
const TIMEOUT_DEFAULT = '24h'

interface Examined {
  readonly path: string
  readonly facts: PackFacts
  readonly size: number
  readonly b3: Address
  readonly tiles: number
}

export const verify: Run = async (context) => {
  const { given } = context
  const path = given.operands[0] ?? ''
  const wanted = addressOf(given.text('b3'))
  const found = await untilInterrupted(async (signal) => await examine(context, path, signal))
  return outcomeOf(found, wanted)
}

async function examine({ given, terminal }: CommandContext, path: string, signal: AbortSignal): Promise<Examined> {
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

function outcomeOf({ path, facts, size, b3, tiles }: Examined, wanted: Address | undefined): Outcome {
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
    data: rows([
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
