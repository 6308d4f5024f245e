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
export interface Piece {
  readonly chunk: number
  readonly from: number
  readonly to: number
}

export type Window = readonly Piece[]

export function* windowsOf({ first, last }: ByteRange, chunkSize: number): Generator<Window> {
  let window: Piece[] = []
  let bytes = 0
  for (let at = first; at <= last; ) {
    const chunk = Math.floor(at / chunkSize)
    const from = at - chunk * chunkSize
    const to = Math.min(chunkSize, last + 1 - chunk * chunkSize)
    window.push({ chunk, from, to })
    bytes += to - from
    at += to - from
    if (bytes < WINDOW_BYTES && at <= last) continue
    yield window
    window = []
    bytes = 0
  }
}
