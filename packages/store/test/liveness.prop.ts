/**
 * Random histories of puts, commits, deletes, sweeps, compactions, scrubs and restarts, held to what was acknowledged:
 * nothing that was acknowledged and not deleted is ever lost, and what nothing refers to goes in the end.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks } from '@cairn/kernel/testing'
import { type Address, type Manifest, ManifestBuilder } from '@cairn/wire'
import fc from 'fast-check'
import { DriveStore } from '../src/drive-store.ts'
import { memoryMachine } from './machine.ts'

const CHUNK_SIZE = 16 * 1024
const LEASE_MS = 1_000
const OPTIONS = { path: 'data', segmentBytes: 96 * 1024, cacheBytes: 0, leaseMs: LEASE_MS, tombstoneKeepMs: 0 }
const OBJECTS = 6

interface Sample {
  readonly id: Address
  readonly size: number
  readonly manifest: Manifest | undefined
  readonly chunks: ReadonlyMap<Address, Uint8Array>
}

/** Objects that share chunks with their neighbours; every third is one chunk, which is also the first of the next. */
function sample(number: number): Sample {
  const builder = new ManifestBuilder(CHUNK_SIZE)
  const chunks = new Map<Address, Uint8Array>()
  const seeds = number % 3 === 0 ? [number] : [number - (number % 3), number, 100 + number]
  const size = seeds.length * CHUNK_SIZE
  for (const seed of seeds) {
    const bytes = new Uint8Array(CHUNK_SIZE).fill(seed + 1)
    chunks.set(builder.add(bytes), bytes)
  }
  const built = builder.finish()
  return { id: built.id, size, manifest: built.kind === 'chunked' ? built.manifest : undefined, chunks }
}

const SAMPLES = Array.from({ length: OBJECTS }, (_, number) => sample(number))
const numbers = fc.nat(OBJECTS - 1)

type Step =
  | { readonly tag: 'put' | 'delete' | 'send'; readonly object: number }
  | { readonly tag: 'sweep' | 'compact' | 'scrub' | 'restart' | 'wait' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: numbers.map((object) => ({ tag: 'put', object }) as const) },
  { weight: 3, arbitrary: numbers.map((object) => ({ tag: 'delete', object }) as const) },
  { weight: 1, arbitrary: numbers.map((object) => ({ tag: 'send', object }) as const) },
  { weight: 6, arbitrary: fc.constantFrom('sweep', 'compact', 'scrub', 'restart', 'wait').map((tag) => ({ tag })) },
)

/** Steps of one row run side by side. */
const history = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 25 })

test('nothing acknowledged is lost whatever runs beside it, and garbage is gone in the end', async () => {
  await fc.assert(fc.asyncProperty(history, play), { numRuns: 60 })
})

async function play(rows: readonly (readonly Step[])[]): Promise<void> {
  const machine = memoryMachine()
  let storage = await DriveStore.open(machine, OPTIONS)
  const there = new Set<Sample>()
  const unsure = new Set<Sample>()
  let sent = 0

  async function send({ chunks }: Sample, upload: string): Promise<void> {
    for (const [id, bytes] of chunks) await storage.chunks.put(id, bytes, { upload })
  }
  async function put(object: Sample): Promise<void> {
    sent += 1
    const upload = `upload ${sent}`
    await send(object, upload)
    const { id, size, manifest } = object
    await storage.objects.commit({ id, size, type: '', chunkSize: CHUNK_SIZE, manifest, upload })
    there.add(object)
  }
  async function remove(object: Sample): Promise<void> {
    // A put at the same time may come before or after.
    there.delete(object)
    await storage.objects.remove(object.id)
  }
  async function scrub(): Promise<void> {
    for await (const { findings } of storage.scrub.read({ from: undefined, upToLsn: storage.facts().syncedLsn }))
      for (const finding of findings) assert.ok(finding.tag !== 'missing' && finding.tag !== 'gap', finding.tag)
  }
  async function run(each: Step): Promise<void> {
    if (each.tag === 'put') await put(SAMPLES[each.object]!)
    else if (each.tag === 'delete') await remove(SAMPLES[each.object]!)
    else if (each.tag === 'send') await send(SAMPLES[each.object]!, `left ${each.object}`)
    else if (each.tag === 'compact') await storage.compactor.compactOne()
    else if (each.tag === 'scrub') await scrub()
  }
  async function check(): Promise<void> {
    for (const object of there) {
      if (unsure.has(object)) continue
      assert.equal((await storage.objects.stat(object.id))?.size, object.size)
      for (const [id, bytes] of object.chunks) {
        using held = await storage.chunks.read(id)
        assert.ok(held !== undefined && Buffer.compare(held.bytes, bytes) === 0, 'a chunk of an object is lost')
      }
    }
  }

  for (const row of rows) {
    const names = row.flatMap((each) => ('object' in each ? [{ ...each, sample: SAMPLES[each.object]! }] : []))
    for (const { sample: object } of names) {
      const same = names.filter((other) => other.sample === object).map(({ tag }) => tag)
      if (same.includes('put') && same.includes('delete')) unsure.add(object)
      else if (same.includes('put') || same.includes('delete')) unsure.delete(object)
    }
    // One sweep and one compaction at a time, beside whatever else there is.
    const once = row.filter(
      ({ tag }, at) => row.findIndex((other) => other.tag === tag) === at || tag === 'put' || tag === 'delete',
    )
    const running = once.filter(({ tag }) => tag !== 'restart' && tag !== 'sweep').map(run)
    if (row.some(({ tag }) => tag === 'sweep')) running.push(sweepOnce(storage))
    await Promise.all(running)
    // Not beside a put: its lease may run out before its commit, which is then rightly refused.
    if (row.some(({ tag }) => tag === 'wait')) machine.clock.advance(LEASE_MS)
    if (row.some(({ tag }) => tag === 'restart')) {
      await storage.close()
      storage = await DriveStore.open(machine, OPTIONS)
      await storage.caughtUp()
    }
    await check()
  }

  for (const object of SAMPLES) await storage.objects.remove(object.id)
  for (let round = 0; round < 4; round += 1) {
    machine.clock.advance(2 * LEASE_MS)
    await sweepOnce(storage)
  }
  assert.equal(storage.sweeper.facts().blockedBy, undefined)
  assert.deepEqual(await storage.chunks.list(undefined, 100), [], 'garbage is gone in the end')
  await storage.close()
  assert.deepEqual(leaks(machine), [])
}

async function sweepOnce(storage: DriveStore): Promise<void> {
  while (!(await storage.sweeper.sweep(8)).isOver);
}
