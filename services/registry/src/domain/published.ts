/** What every read is answered from: made once for each batch, never changed. */
import type { Head, RegistryState } from '@cairn/names'
import { type Disk, readSmallJson, replaceSmallFile, type SmallJson } from '@cairn/platform'
import type { Watermark } from '@cairn/store'
import { addressOf, canonicalJson, toHex } from '@cairn/wire'
import { z } from 'zod'
import type { VersionSummary } from './ledger.ts'

/*
 * `HEAD`: how far the log had come when somebody last wrote it down. Only a cache: HEAD is derived from the log. But a
 * log that ends before what was written here has lost its end, which its own records could not tell.
 */

const content = z.strictObject({
  size: z.int().min(0),
  /** 64 hexadecimal digits. */
  root: z.string(),
  head: z.strictObject({ version: z.int().min(0), hash: z.string() }),
  /** Below it everything was durable. */
  watermark: z.strictObject({ segment: z.int(), offset: z.int(), lsn: z.int() }),
})

const file = z.strictObject({ ...content.shape, b3: z.string() })

export type HeadCache = z.output<typeof content>

export async function readHeadCache(disk: Disk, directory: string): Promise<SmallJson<HeadCache>> {
  const read = await readSmallJson(disk, pathIn(directory), file)
  if (read.tag !== 'read') return read
  const { b3, ...value } = read.value
  return addressOf(canonicalJson(value)) === b3 ? { tag: 'read', value } : { tag: 'damaged' }
}

export async function writeHeadCache(disk: Disk, directory: string, cache: HeadCache): Promise<void> {
  const bytes = canonicalJson({ ...cache, b3: addressOf(canonicalJson(cache)) })
  await replaceSmallFile(disk, pathIn(directory), bytes)
}

export function headCacheOf(size: number, root: Uint8Array, head: Head, watermark: Watermark): HeadCache {
  const { version, hash } = head
  const { segment, offset, lsn } = watermark
  return { size, root: toHex(root), head: { version, hash }, watermark: { segment, offset, lsn } }
}

function pathIn(directory: string): string {
  return `${directory}/HEAD`
}

export interface Published {
  readonly head: VersionSummary
  readonly state: RegistryState
  /** Entries the checkpoint covers. */
  readonly size: number
  /** The signed note. */
  readonly note: Uint8Array
  /** Unix milliseconds of its cosignature. */
  readonly timedAt: number
  /** Entries below it were removed by retention. */
  readonly minimumIndex: number
  /** The answer to `GET /registry/head`. */
  readonly headBody: Uint8Array
  readonly headTag: string
}

export type PublishedFacts = Omit<Published, 'headBody' | 'headTag'>

export function publish(origin: string, facts: PublishedFacts): Published {
  const { head, minimumIndex } = facts
  const body = { ...head, origin, minimum_index: minimumIndex }
  return {
    ...facts,
    headBody: new TextEncoder().encode(JSON.stringify(body)),
    headTag: `"${head.version}-${head.hash.slice('b3:'.length, 'b3:'.length + 16)}-${minimumIndex}"`,
  }
}
