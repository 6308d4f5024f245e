/**
 * A range of an object as work: windows of about 1 MiB, each a few pieces of chunks.
 *
 *     range        ├──────────────────────────────────────────┤
 *     chunks   │ 0 │ 1 │ 2 │ … │ 16 │ 17 │ …
 *     windows      └──── first ────┴───── second ─────┴─ … ───┘
 */
import type { ByteRange } from '@cairn/wire'

const WINDOW_BYTES = 1024 * 1024

/** The part of one chunk that is asked for: from `from` up to, not including, `to`. */
export interface ChunkPiece {
  readonly chunk: number
  readonly from: number
  readonly to: number
}

export type ChunkWindow = readonly ChunkPiece[]

export function* windowsOf(range: ByteRange, chunkSize: number): Generator<ChunkWindow> {
  let window: ChunkPiece[] = []
  let bytes = 0
  for (const piece of piecesOf(range, chunkSize)) {
    window.push(piece)
    bytes += piece.to - piece.from
    if (bytes < WINDOW_BYTES) continue
    yield window
    window = []
    bytes = 0
  }
  if (window.length > 0) yield window
}

/** The bytes of a window of one size of chunks, as pieces of another. */
export function recut(window: ChunkWindow, chunkSize: number, other: number): ChunkWindow {
  const [first, last] = [window[0], window.at(-1)]
  if (first === undefined || last === undefined) return []
  const range = { first: first.chunk * chunkSize + first.from, last: last.chunk * chunkSize + last.to - 1 }
  return [...piecesOf(range, other)]
}

function* piecesOf({ first, last }: ByteRange, chunkSize: number): Generator<ChunkPiece> {
  for (let at = first; at <= last; ) {
    const chunk = Math.floor(at / chunkSize)
    const from = at - chunk * chunkSize
    const to = Math.min(chunkSize, last + 1 - chunk * chunkSize)
    yield { chunk, from, to }
    at += to - from
  }
}
