/** What runs on a worker thread; use it through tasks.ts. */
import { encode, reconstruct, type ShardsWithHoles } from './code.ts'

export interface EncodeInput {
  /** The data shards; their number is k. */
  readonly data: readonly Uint8Array[]
  readonly m: number
}

export interface ReconstructInput {
  readonly shards: ShardsWithHoles
  readonly k: number
  readonly m: number
  readonly wanted: readonly number[]
}

export function encodeParity({ data, m }: EncodeInput): Uint8Array[] {
  const parity = Array.from({ length: m }, () => new Uint8Array(data[0]?.length ?? 0))
  encode([...data, ...parity], data.length, m)
  return parity
}

export function reconstructWanted({ shards, k, m, wanted }: ReconstructInput): Uint8Array[] {
  return reconstruct(shards, k, m, wanted)
}
