/**
 * `HEAD`: how far the log had come when somebody last wrote it down. Only a cache: HEAD is derived from the log. But a
 * log that ends before what was written here has lost its end, which its own records could not tell.
 */
import type { Head } from '@cairn/names'
import { type Disk, readSmallJson, replaceSmallFile, type SmallJson } from '@cairn/platform'
import type { Watermark } from '@cairn/store'
import { addressOf, canonicalJson, toHex } from '@cairn/wire'
import { z } from 'zod'

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
