/** Makes PMTiles archives, right ones and, entry by entry, wrong ones. */
import { gzipSync } from 'node:zlib'

export interface WrittenEntry {
  readonly id: number
  /** 0 points to a leaf. */
  readonly run: number
  readonly offset: number
  readonly length: number
}

export interface ArchiveParts {
  readonly root: Uint8Array
  readonly leaves?: Uint8Array
  readonly tiles: Uint8Array
  readonly metadata?: Uint8Array
  readonly minZoom?: number
  readonly maxZoom?: number
  /** 1 none, 2 gzip. */
  readonly inner?: number
  readonly tileCompression?: number
  readonly tileType?: number
}

export function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 128) | 0x80)
    rest = Math.floor(rest / 128)
  }
  return [...bytes, rest]
}

/** A directory, each offset written in full. */
export function directory(entries: readonly WrittenEntry[]): Uint8Array {
  const deltas = entries.map(({ id }, at) => id - (entries[at - 1]?.id ?? 0))
  const columns = [deltas, ...(['run', 'length'] as const).map((key) => entries.map((entry) => entry[key]))]
  const offsets = entries.map(({ offset }) => offset + 1)
  return Uint8Array.from([entries.length, ...columns.flat(), ...offsets].flatMap(varint))
}

const HEADER_BYTES = 127

/** Header, root, metadata, leaves, tiles, in this order. */
export function archive(parts: ArchiveParts): Uint8Array {
  const { inner = 2, minZoom = 0, maxZoom = 4, tileCompression = 1, tileType = 1 } = parts
  const packed = (bytes: Uint8Array): Uint8Array => (inner === 2 ? gzipSync(bytes) : bytes)
  const root = packed(parts.root)
  const metadata = packed(parts.metadata ?? new TextEncoder().encode('{"name":"made"}'))
  const leaves = parts.leaves ?? new Uint8Array()
  const sections = [root, metadata, leaves, parts.tiles]
  const bytes = new Uint8Array(HEADER_BYTES + sections.reduce((sum, { length }) => sum + length, 0))
  const view = new DataView(bytes.buffer)
  bytes.set(new TextEncoder().encode('PMTiles'))
  bytes[7] = 3
  let at = HEADER_BYTES
  for (const [index, section] of sections.entries()) {
    view.setBigUint64(8 + index * 16, BigInt(at), true)
    view.setBigUint64(16 + index * 16, BigInt(section.length), true)
    bytes.set(section, at)
    at += section.length
  }
  bytes.set([1, inner, tileCompression, tileType, minZoom, maxZoom], 96)
  for (const [index, degrees] of [-180, -85, 180, 85].entries()) view.setInt32(102 + index * 4, degrees * 1e7, true)
  view.setUint8(118, minZoom)
  return bytes
}

/** An archive whose entries are split over leaves of `perLeaf`, or all in the root. */
export function archiveOf(
  tiles: ReadonlyMap<number, Uint8Array>,
  { perLeaf, ...rest }: { readonly perLeaf?: number } & Partial<ArchiveParts> = {},
): Uint8Array {
  const entries: WrittenEntry[] = []
  const data: Uint8Array[] = []
  let end = 0
  for (const [id, bytes] of [...tiles].sort(([a], [b]) => a - b)) {
    const last = entries.at(-1)
    const isRun = last !== undefined && last.id + last.run === id && data.at(-1) === bytes
    if (isRun) {
      entries[entries.length - 1] = { ...last, run: last.run + 1 }
      continue
    }
    entries.push({ id, run: 1, offset: end, length: bytes.length })
    data.push(bytes)
    end += bytes.length
  }
  const all = { tiles: Buffer.concat(data), ...rest }
  if (perLeaf === undefined) return archive({ ...all, root: directory(entries) })
  const packed = (bytes: Uint8Array): Uint8Array => (rest.inner === 1 ? bytes : gzipSync(bytes))
  const leaves: Uint8Array[] = []
  const pointers: WrittenEntry[] = []
  for (let at = 0, offset = 0; at < entries.length; at += perLeaf) {
    const leaf = packed(directory(entries.slice(at, at + perLeaf)))
    pointers.push({ id: entries[at]?.id ?? 0, run: 0, offset, length: leaf.length })
    leaves.push(leaf)
    offset += leaf.length
  }
  return archive({ ...all, root: directory(pointers), leaves: Buffer.concat(leaves) })
}
