/** The npm package that compiles the Rust crate reed-solomon-erasure to WebAssembly: the code as others compute it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import published from '@subspace/reed-solomon-erasure.wasm'

const { ReedSolomonErasure } = published
type Published = ReturnType<typeof ReedSolomonErasure.fromBytes>

const { resolve } = createRequire(import.meta.url)
const MODULE = readFileSync(resolve('@subspace/reed-solomon-erasure.wasm/dist/reed_solomon_erasure_bg.wasm'))
const CALLS_EACH = 64

/**
 * The package frees what its module has freed already, and fails some calls later. So nothing is freed, and every few
 * calls go to a new instance.
 */
const instance = (() => {
  let current: Published | undefined
  let calls = 0
  return (): Published => {
    if (current === undefined || calls % CALLS_EACH === 0) {
      current = ReedSolomonErasure.fromBytes(MODULE)
      const exports: object = { ...(current['exports'] as object), __wbindgen_free: () => {} }
      Object.assign(current, { exports })
    }
    calls += 1
    return current
  }
})()

/** It knows neither codes without parity nor empty shards. */
export function publishedTakes(m: number, length: number): boolean {
  return m > 0 && length > 0
}

/** All shards of the code with these data shards. */
export function publishedShards(data: readonly Uint8Array[], m: number): Uint8Array[] {
  const room = joined([...data, ...Array.from({ length: m }, () => new Uint8Array(data[0]!.length))])
  assert.equal(instance().encode(room, data.length, m), ReedSolomonErasure.RESULT_OK)
  return cut(room, data.length + m)
}

/** The data shards, out of the shards that `present` names; the others are given as zeros. */
export function publishedData(shards: readonly Uint8Array[], k: number, present: readonly number[]): Uint8Array[] {
  const isThere = shards.map((_, index) => present.includes(index))
  const room = joined(shards.map((shard, index) => (isThere[index] ? shard : new Uint8Array(shard.length))))
  assert.equal(instance().reconstruct(room, k, shards.length - k, isThere), ReedSolomonErasure.RESULT_OK)
  return cut(room, shards.length).slice(0, k)
}

function joined(shards: readonly Uint8Array[]): Uint8Array {
  const room = new Uint8Array(shards.length * shards[0]!.length)
  for (const [index, shard] of shards.entries()) room.set(shard, index * shard.length)
  return room
}

function cut(room: Uint8Array, count: number): Uint8Array[] {
  const length = room.length / count
  return Array.from({ length: count }, (_, index) => room.subarray(index * length, (index + 1) * length))
}
