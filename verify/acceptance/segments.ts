/** Journals as files: a header, then records that begin with these bytes. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const SEGMENT_HEADER_BYTES = 128
export const RECORD_HEADER_BYTES = 72
const RECORD_MAGIC = 0x7ca1_12ec

export interface FoundRecord {
  readonly at: number
  readonly kind: number
}

export function recordsIn(bytes: Buffer): readonly FoundRecord[] {
  const found: FoundRecord[] = []
  for (let at = SEGMENT_HEADER_BYTES; at + RECORD_HEADER_BYTES <= bytes.length; at += 8)
    if (bytes.readUInt32LE(at) === RECORD_MAGIC) found.push({ at, kind: bytes[at + 4] ?? 0 })
  return found
}

export async function changed(path: string, change: (bytes: Buffer) => Buffer): Promise<void> {
  await writeFile(path, change(await readFile(path)))
}

export function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes
}

export async function segmentsIn(directory: string): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.seg')).sort()
  return names.map((name) => join(directory, name))
}
