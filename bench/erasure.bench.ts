/** Reed–Solomon 6+3 on one core. The rate counts data bytes, also where only some of them are rebuilt. */
import { encode, reconstruct, type ShardsWithHoles, verify } from '@cairn/erasure/testing'
import { type BenchCase, perSecond } from './harness.ts'

const [K, M] = [6, 3]
/** A shard is a chunk. */
const SHARD_BYTES = 65_536
/** Together more than a core's own cache, so that data comes from where received bytes would. */
const STRIPES = 64
const PASSES = 4
const DATA_BYTES = PASSES * STRIPES * K * SHARD_BYTES
const LIMITS = `${K}+${M}, shards of 64 KiB, ${STRIPES} stripes ${PASSES} times, one thread; 1 GB/s is promised for encoding`

function makeStripe(seed: number): Uint8Array[] {
  const shards = Array.from({ length: K + M }, (_, index) =>
    Uint8Array.from({ length: SHARD_BYTES }, (_byte, at) => (Math.imul(at + seed, 0x9e3779b1) >>> 13) ^ index),
  )
  encode(shards, K, M)
  return shards
}

const stripes = Array.from({ length: STRIPES }, (_, seed) => makeStripe(seed))
const room = Array.from({ length: K + M }, () => new Uint8Array(SHARD_BYTES))

/** Returns the shards it wrote. */
type Work = (shards: readonly Uint8Array[]) => readonly Uint8Array[]

/** Of the shards a run wrote: no work can be skipped unseen. */
const lastBytes = (shards: readonly Uint8Array[]): number => shards.reduce((sum, shard) => sum + (shard.at(-1) ?? 0), 0)

function copied(shards: readonly Uint8Array[]): readonly Uint8Array[] {
  for (const [index, shard] of shards.entries()) room[index]?.set(shard)
  return room
}

function throughput(name: string, written: readonly number[], work: Work): BenchCase {
  const pick = (shards: readonly Uint8Array[]): Uint8Array[] => written.flatMap((index) => shards[index] ?? [])
  const expected = PASSES * stripes.reduce((sum, shards) => sum + lastBytes(pick(shards)), 0)
  const run = async (each: Work): Promise<number> =>
    await perSecond(DATA_BYTES, expected, () => {
      let sum = 0
      for (let pass = 0; pass < PASSES; pass += 1) for (const shards of stripes) sum += lastBytes(each(shards))
      return sum
    })
  return {
    name,
    unit: 'bytes/s',
    higherIsBetter: true,
    peerName: 'the same shards copied once',
    limits: LIMITS,
    ours: async () => await run(work),
    peer: async () => await run((shards) => pick(copied(shards))),
  }
}

const ALL = Array.from({ length: K + M }, (_, index) => index)

function decode(lost: readonly number[]): BenchCase {
  const without = new Map<readonly Uint8Array[], ShardsWithHoles>(
    stripes.map((shards) => [shards, shards.map((shard, index) => (lost.includes(index) ? undefined : shard))]),
  )
  const noun = lost.length === 1 ? 'shard' : 'shards'
  return throughput(`decode-${lost.length}-${noun}`, lost, (shards) =>
    reconstruct(without.get(shards) ?? [], K, M, lost),
  )
}

export const CASES: readonly BenchCase[] = [
  throughput('encode', ALL.slice(K), (shards) => {
    const parity = shards.slice(K)
    for (const shard of parity) shard.fill(0, SHARD_BYTES - 1)
    encode(shards, K, M)
    return parity
  }),
  decode([0]),
  decode([0, 1, 2]),
  throughput('verify', ALL.slice(K), (shards) => (verify(shards, K, M) ? shards.slice(K) : [])),
]
