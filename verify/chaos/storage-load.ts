/** A mixed load on a storage: puts, removals, objects, holds, compaction, by several clients at once. */
import { isKind, type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type DriveStoreOptions, type DriveStore as StorageType } from '@cairn/store'
import { type StoreMachine } from '@cairn/store/testing'
import { type Address, addressOf, type Manifest, ManifestBuilder } from '@cairn/wire'
import { pagesOf } from '../../packages/store/src/object/object-record.ts'
import type { Ledger } from './ledger.ts'

/** The class itself, so that a broken copy of it can be put through the same load. */
export interface StorageClass {
  open(machine: StoreMachine, options: DriveStoreOptions): Promise<StorageType>
}

const LEASE_MS = 5_000

/** Small enough that segments fill, die and are compacted within a short run. */
export const LOAD_OPTIONS: DriveStoreOptions = {
  path: 'data',
  segmentBytes: 20 * 1024,
  reserveBytes: 40 * 1024,
  cacheBytes: 64 * 1024,
  tombstoneKeepMs: 0,
  leaseMs: LEASE_MS,
}

const CHUNK_SIZE = 16 * 1024

/** Names that each client uses of every kind. */
const NAMES_EACH = 5
const OWNER = 'chaos'
const HOLD = 'hold on '

/** The ledger's name for a hold on the object of this name. */
function holdOf(name: string): string {
  return `${HOLD}${name}`
}

export function isHold(name: string): boolean {
  return name.startsWith(HOLD)
}

export interface Thing {
  readonly name: string
  readonly id: Address
  readonly bytes: Uint8Array
  readonly manifest: Manifest | undefined
  readonly chunks: readonly { readonly id: Address; readonly bytes: Uint8Array }[]
  /** Ids of the chunks that list its chunks. */
  readonly pages: readonly Address[]
}

/** The bytes behind a name: `chunk …` is a bare chunk, `object …` an object. The same name always has the same bytes. */
export function thingOf(name: string): Thing {
  const known = things.get(name) ?? makeThing(name)
  things.set(name, known)
  return known
}

const things = new Map<string, Thing>()

function makeThing(name: string): Thing {
  let seed = 7
  for (const letter of name) seed = (seed * 33 + letter.charCodeAt(0)) | 0
  const random = new SeededRandom(seed)
  const isLarge = name.startsWith('object large')
  const bytes = random.bytes(isLarge ? CHUNK_SIZE + 700 : 150 + Math.floor(random.next() * 1500))
  const builder = new ManifestBuilder(CHUNK_SIZE)
  const chunks = []
  for (let at = 0; at < bytes.length; at += CHUNK_SIZE) {
    const slice = bytes.subarray(at, at + CHUNK_SIZE)
    builder.add(slice)
    chunks.push({ id: addressOf(slice), bytes: slice })
  }
  const built = builder.finish()
  const manifest = built.kind === 'chunked' ? built.manifest : undefined
  const pages = manifest === undefined ? [] : [...pagesOf(manifest)].map((page) => addressOf(page))
  return { name, id: built.id, bytes, manifest, chunks, pages }
}

export async function put(storage: StorageType, thing: Thing): Promise<void> {
  const upload = `upload ${thing.name}`
  if (thing.name.startsWith('chunk')) {
    await storage.chunks.put(thing.id, thing.bytes, { upload })
    return
  }
  for (const { id, bytes } of thing.chunks) storage.chunks.submit(id, bytes, upload, { lazy: true })
  await storage.objects.commit({
    id: thing.id,
    size: thing.bytes.length,
    type: 'application/octet-stream',
    chunkSize: CHUNK_SIZE,
    manifest: thing.manifest,
    upload,
  })
}

export async function remove(storage: StorageType, thing: Thing): Promise<void> {
  if (thing.name.startsWith('chunk')) await storage.chunks.remove(thing.id)
  else await storage.objects.remove(thing.id)
}

export interface Load {
  readonly storage: StorageType
  readonly ledger: Ledger
  readonly random: Random
  /** Clients with the same number use the same names, in one life after another. */
  readonly clients: number
  readonly requestsEach: number
}

/** Every client makes its requests one after the other, on names of its own; one of them compacts now and then. */
export async function runLoad({ storage, ledger, random, clients, requestsEach }: Load): Promise<void> {
  const client = async (number: number): Promise<void> => {
    for (let count = 0; count < requestsEach; count += 1) {
      const draw = random.next()
      const kind = draw < 0.7 ? 'chunk' : draw < 0.95 ? 'object small' : 'object large'
      const thing = thingOf(`${kind} ${number}.${Math.floor(random.next() * NAMES_EACH)}`)
      await operate(storage, ledger, thing, random.next())
      if (number === 0 && count % 3 === 2) await storage.compactor.compactOne()
    }
  }
  await storage.caughtUp()
  await Promise.all(Array.from({ length: clients }, async (_, number) => await client(number)))
}

/** For a ledger that does not know what earlier lives held: from here on nothing is. */
export async function releaseAll(storage: StorageType, ledger: Ledger, clients: number): Promise<void> {
  await storage.caughtUp()
  for (let number = 0; number < clients * NAMES_EACH; number += 1) {
    const place = `${Math.floor(number / NAMES_EACH)}.${number % NAMES_EACH}`
    for (const kind of ['small', 'large']) {
      const thing = thingOf(`object ${kind} ${place}`)
      if (storage.objects.holds.isHeld(thing.id)) await release(storage, ledger, thing)
    }
  }
}

async function operate(storage: StorageType, ledger: Ledger, thing: Thing, draw: number): Promise<void> {
  const hold = holdOf(thing.name)
  if (thing.name.startsWith('object') && draw < 0.1) await release(storage, ledger, thing)
  else if (thing.name.startsWith('object') && draw < 0.25) {
    if (ledger.allowed(thing.name).has('absent')) return
    await ledger.request(hold, 'present', async () => await storage.objects.hold(OWNER, thing.id))
  } else if (draw < 0.65) await ledger.request(thing.name, 'present', async () => await put(storage, thing))
  else if (ledger.allowed(hold).has('present')) await mustBeHeld(storage, ledger, thing)
  else await ledger.request(thing.name, 'absent', async () => await remove(storage, thing))
}

async function release(storage: StorageType, ledger: Ledger, { name, id }: Thing): Promise<void> {
  await ledger.request(holdOf(name), 'absent', async () => await storage.objects.release(OWNER, id))
}

/** What is held for certain is not removed. */
async function mustBeHeld(storage: StorageType, ledger: Ledger, thing: Thing): Promise<void> {
  if (ledger.allowed(holdOf(thing.name)).has('absent')) return
  try {
    await storage.objects.remove(thing.id)
  } catch (error) {
    if (isKind(error, 'Conflict')) return
    throw error
  }
  throw new Error(`${thing.name} was removed, and it is held.`)
}

/** Removes everything, and compacts until nothing is worth it: whole segments go, and their tombstones with them. */
export async function drain(storage: StorageType, ledger: Ledger, pause: (ms: number) => Promise<void>): Promise<void> {
  const names = ledger.names().filter((name) => !isHold(name))
  for (const name of names) {
    const thing = thingOf(name)
    if (ledger.allowed(holdOf(name)).has('present')) await release(storage, ledger, thing)
    await ledger.request(name, 'absent', async () => await remove(storage, thing))
  }
  await pause(2 * LEASE_MS)
  while (!(await storage.sweeper.sweep(16)).isOver);
  for (let name = 0; name < 30; name += 1) {
    const thing = thingOf(`chunk filler ${name}`)
    await ledger.request(thing.name, 'present', async () => await put(storage, thing))
  }
  for (;;) {
    const report = await storage.compactor.compactOne()
    if (report === undefined) return
  }
}

export type Finding = 'present' | 'absent'

/** What a storage has of this name; bytes that are not the right ones are an error. */
export async function find(storage: StorageType, name: string): Promise<Finding> {
  if (isHold(name)) return storage.objects.holds.isHeld(thingOf(name.slice(HOLD.length)).id) ? 'present' : 'absent'
  const thing = thingOf(name)
  if (!name.startsWith('chunk')) {
    const facts = await storage.objects.stat(thing.id)
    if (facts === undefined) return 'absent'
    if (facts.size !== thing.bytes.length) throw new Error(`${name} has ${facts.size} bytes.`)
  }
  for (const { id, bytes } of thing.chunks) {
    using held = await storage.chunks.read(id)
    if (held === undefined) {
      if (name.startsWith('chunk')) return 'absent'
      throw new Error(`${name} is there, its chunk is not.`)
    }
    if (Buffer.compare(held.bytes, bytes) !== 0) throw new Error(`${name} has other bytes.`)
  }
  return 'present'
}
