/**
 * The second witness of a journal: a small file beside it that says how much there was. A journal that lost its end, or
 * all of itself, looks like a shorter journal; only something else can tell.
 *
 *     journal/…  a b c d e │ f g h │ i j …
 *     witness                      └─ up to here it was durable: place, LSN, and what the fold had come to
 *
 * It is written at each rotation, at a clean stop, and at the start of each life, always after what it says was synced,
 * so it is never ahead of a sound journal. No acknowledgement waits for it.
 */
import { type Disk, readSmallFile, replaceSmallFile } from '@cairn/platform'
import type { Watermark } from '@cairn/store'
import { addressOf, canonicalJson, type JsonObject, parseJson } from '@cairn/wire'

/** What the fold of a journal has come to, in the words of its owner: how many of what it counts, and the hash of the last. */
export interface JournalTotals {
  readonly count: number
  readonly head: string
}

/** Where a stretch begins that cannot be read; at 0 it is the whole segment. */
export interface BadStretch {
  readonly segment: number
  readonly from: number
}

export interface Witnessed extends JournalTotals {
  /** Up to here the journal was durable; nothing where it held no record. */
  readonly durable: Watermark | undefined
  /** Written by a stop after which nothing was appended. */
  readonly isStopped: boolean
  /** What cannot be read and the operator has given up. */
  readonly givenUp: readonly BadStretch[]
}

/** `damaged`: it is there and is not what was written. Then it says nothing, and the journal is taken as it is. */
export type WitnessRead =
  | { readonly tag: 'absent' }
  | { readonly tag: 'damaged' }
  | { readonly tag: 'read'; readonly value: Witnessed }

const SCHEMA = 'cairn.witness/1'

export async function readWitness(disk: Disk, path: string): Promise<WitnessRead> {
  const bytes = await readSmallFile(disk, path)
  if (bytes === undefined) return { tag: 'absent' }
  const value = parse(bytes)
  return value === undefined ? { tag: 'damaged' } : { tag: 'read', value }
}

/** Durable once this resolves; a crash leaves the one before or this one. */
export async function writeWitness(disk: Disk, path: string, witnessed: Witnessed): Promise<void> {
  const { count, head, durable, isStopped, givenUp } = witnessed
  const content = {
    schema: SCHEMA,
    count,
    head,
    durable: durable === undefined ? null : [durable.segment, durable.offset, durable.lsn],
    stopped: isStopped,
    given_up: givenUp.map(({ segment, from }) => [segment, from]),
  }
  await replaceSmallFile(disk, path, canonicalJson({ ...content, b3: addressOf(canonicalJson(content)) }))
}

function parse(bytes: Uint8Array): Witnessed | undefined {
  const content = summed(bytes)
  if (content?.schema !== SCHEMA) return undefined
  const { count, head, durable, stopped, given_up: givenUp } = content
  return {
    count,
    head,
    durable: durable === null ? undefined : { segment: durable[0], offset: durable[1], lsn: durable[2] },
    isStopped: stopped,
    givenUp: givenUp.map(([segment, from]) => ({ segment, from })),
  }
}

/** The content, if its sum is right; the sum is of all that we write, so what has it has the right form. */
function summed(bytes: Uint8Array): WitnessContent | undefined {
  try {
    const { b3, ...content } = parseJson(bytes) as JsonObject
    return addressOf(canonicalJson(content)) === b3 ? (content as Partial<WitnessContent> as WitnessContent) : undefined
  } catch {
    return undefined
  }
}

interface WitnessContent {
  readonly schema: string
  readonly count: number
  readonly head: string
  readonly durable: readonly [number, number, number] | null
  readonly stopped: boolean
  readonly given_up: readonly (readonly [number, number])[]
}
