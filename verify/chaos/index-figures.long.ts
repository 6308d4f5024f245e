/** What the index of a store of a million objects costs: look-ups, memory, a start from side files and one without any. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { RealDisk, systemCrypto } from '@cairn/platform'
import type { Draft } from '../../packages/store/src/journal/segment.ts'
import { KIND, RecordStore } from '../../packages/store/src/record-store.ts'

/** A chunk and an object for each. */
const count = 2_000_000
const LOOKUPS = 200_000

/** Random, and the same each time it is asked for. */
function idOf(number: number): Uint8Array {
  const words = new Uint32Array(8)
  let state = number + 0x9e37_79b9
  for (let at = 0; at < 8; at += 1) {
    state = Math.imul(state ^ (state >>> 16), 0x85eb_ca6b)
    state = Math.imul(state ^ (state >>> 13), 0xc2b2_ae35) + at
    words[at] = state ^ (state >>> 16)
  }
  return new Uint8Array(words.buffer)
}

async function opened(path: string): Promise<{ readonly store: RecordStore; readonly ms: number }> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const machine = { ...runtime, disk: new RealDisk(runtime), crypto: systemCrypto }
  const from = performance.now()
  const store = new RecordStore(machine, { path })
  await store.start()
  await store.caughtUp()
  return { store, ms: performance.now() - from }
}

async function fill(path: string): Promise<void> {
  const { store } = await opened(path)
  const payload = new Uint8Array(64).fill(7)
  let drafts: Draft[] = []
  for (let number = 0; number < count; number += 1) {
    drafts.push({ kind: number % 2 === 0 ? KIND.chunk : KIND.object, flags: 0, id: idOf(number), payload })
    if (drafts.length < 4096 && number < count - 1) continue
    await store.submit(drafts).durable()
    drafts = []
  }
  await store.close()
}

function ownBytes(): number {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Microseconds a look-up takes. */
function lookups(store: RecordStore, shift: number): number {
  const ids = Array.from({ length: LOOKUPS }, (_, at) => {
    const number = Math.imul(at, 2_654_435_761) >>> 0
    return { kind: (number % count) % 2 === 0 ? KIND.chunk : KIND.object, id: idOf((number % count) + shift) }
  })
  let found = 0
  const from = performance.now()
  for (const { kind, id } of ids) if (store.lookup(kind, id) !== undefined) found += 1
  const us = ((performance.now() - from) * 1_000) / LOOKUPS
  if (found !== (shift === 0 ? LOOKUPS : 0)) throw new Error(`${found} of ${LOOKUPS} were found.`)
  return us
}

test('a million objects: memory for each entry, and what a start reads', async (t) => {
  const path = await mkdtemp(join(tmpdir(), 'cairn-index-'))
  await fill(path)
  const before = ownBytes()
  const sound = await opened(path)
  const bytesEach = (ownBytes() - before) / count
  lookups(sound.store, 0)
  const [present, absent] = [lookups(sound.store, 0), lookups(sound.store, count)]
  assert.equal(sound.store.facts().index.scannedMissing + sound.store.facts().index.scannedDamaged, 0)
  await sound.store.close()
  const journal = join(path, 'journal')
  for (const name of await readdir(journal)) if (name.endsWith('.idx')) await rm(join(journal, name))
  const rebuilt = await opened(path)
  assert.equal(rebuilt.store.facts().index.sideFiles, 0)
  assert.equal(rebuilt.store.index.size, count)
  await rebuilt.store.close()
  await rm(path, { recursive: true })
  const starts = `start ${sound.ms.toFixed(0)} ms, rebuild ${rebuilt.ms.toFixed(0)} ms`
  t.diagnostic(
    `${bytesEach.toFixed(1)} bytes an entry, ${present.toFixed(2)} us present, ${absent.toFixed(2)} us absent, ${starts}`,
  )
  assert.ok(bytesEach <= 64, `${bytesEach} bytes an entry`)
})
