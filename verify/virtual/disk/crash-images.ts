/**
 * Every state a power cut could leave behind.
 *
 *     for every prefix of the record
 *       for every subset of its pending changes, lost          all 2ⁿ of them, or a sample when there are too many
 *       for every pending write: torn at several places, or zeroed, the others kept
 *       bytes of files that are written often and never synced: each time as the dice fall
 *
 * Losing an earlier change and keeping a later one is what reordering looks like after the fact.
 */
import type { Random } from '@cairn/kernel'
import {
  type DiskEvent,
  type Fate,
  isOf,
  KEPT,
  LOST,
  type Pending,
  pendingChanges,
  replay,
  volatileFiles,
} from './disk-record.ts'
import { cloneTable, type InodeTable } from './inode-table.ts'

export interface CrashImage {
  /** How many events of the record had happened. */
  readonly prefix: number
  /** What became of the pending changes, for people. */
  readonly fates: string
  /** What had been promised by then. */
  readonly marks: readonly string[]
  /** The disk as it is found afterwards. */
  table(): InodeTable
}

export interface ImageOptions {
  readonly random: Random
  /** Subsets tried at each prefix, beyond which they are drawn at random. */
  readonly subsetsMax: number
  /** The shortest prefix looked at. */
  readonly from: number
}

const SECTOR_BYTES = 512

export function* crashImages(
  base: InodeTable,
  record: readonly DiskEvent[],
  options: ImageOptions,
): Generator<CrashImage> {
  const volatileOnes = volatileFiles(record)
  for (let prefix = options.from; prefix <= record.length; prefix += 1) {
    const marks = record.slice(0, prefix).flatMap((event) => (event.tag === 'mark' ? [event.label] : []))
    const pending = pendingChanges(record, prefix, volatileOnes)
    const steady = pending.filter((each) => !isOf(each, volatileOnes))
    const volatile = pending.filter((each) => isOf(each, volatileOnes))
    for (const steadyFates of fatesOf(steady, options)) {
      const fates = new Map([...steadyFates, ...drawFates(volatile, options.random)])
      yield {
        prefix,
        fates: describeFates(pending, fates),
        marks,
        table: () => {
          const table = cloneTable(base)
          replay(table, record, prefix, fates)
          return table
        },
      }
    }
  }
}

/** One fate for each pending change, drawn at random: half are kept, half lost; of the writes a third are damaged. */
export function drawFates(pending: readonly Pending[], random: Random): Map<number, Fate> {
  return new Map(pending.map(({ at, change }) => [at, drawFate(change, random)]))
}

function drawFate(change: Pending['change'], random: Random): Fate {
  const draw = random.next()
  if (change.tag !== 'write' || draw < 2 / 3) return random.next() < 0.5 ? KEPT : LOST
  if (draw > 0.95) return { tag: 'zeroed' }
  const bytes = Math.floor(random.next() * change.bytes.length)
  return { tag: 'torn', bytes: random.next() < 0.5 ? bytes : bytes - (bytes % SECTOR_BYTES) }
}

function* fatesOf(pending: readonly Pending[], { random, subsetsMax }: ImageOptions): Generator<Map<number, Fate>> {
  const kept = new Map<number, Fate>(pending.map(({ at }) => [at, KEPT]))
  const lost = new Map<number, Fate>(pending.map(({ at }) => [at, LOST]))
  if (2 ** pending.length <= subsetsMax) {
    for (let subset = 0; subset < 2 ** pending.length; subset += 1) {
      yield new Map(pending.map(({ at }, bit) => [at, (subset >> bit) % 2 === 0 ? KEPT : LOST]))
    }
  } else {
    yield kept
    yield lost
    for (let drawn = 2; drawn < subsetsMax; drawn += 1) yield drawFates(pending, random)
  }
  for (const { at, change } of pending) {
    if (change.tag !== 'write') continue
    for (const fate of damages(change.bytes.length, random)) yield new Map([...kept, [at, fate]])
  }
}

function* damages(length: number, random: Random): Generator<Fate> {
  const cuts = new Set([1, length - 1, length - (length % SECTOR_BYTES), Math.floor(random.next() * length)])
  for (const bytes of cuts) if (bytes > 0 && bytes < length) yield { tag: 'torn', bytes }
  yield { tag: 'zeroed' }
}

function describeFates(pending: readonly Pending[], fates: ReadonlyMap<number, Fate>): string {
  const parts = pending.map(({ at, change }) => {
    const fate = fates.get(at) ?? KEPT
    return `${at} ${change.tag} ${fate.tag}${fate.tag === 'torn' ? ` after ${fate.bytes} bytes` : ''}`
  })
  return parts.length === 0 ? 'everything was durable' : parts.join(', ')
}
