/**
 * A store with very many small objects, and what it takes to have it open.
 *
 *     node many-objects.ts build DIRECTORY COUNT      makes it, through the store's own interface
 *     node --expose-gc many-objects.ts index DIRECTORY COUNT → bytes of memory for each chunk once every one was looked up
 *     node --expose-gc many-objects.ts map DIRECTORY COUNT   → the same for a Map from address to place
 */
import { readFileSync } from 'node:fs'
import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { LmdbKvOpener, RealDisk, systemCrypto } from '@cairn/platform'
import { Storage } from '@cairn/store'
import { type Address, addressOf } from '@cairn/wire'

/** Puts in flight at once; they share writes and syncs. */
const TOGETHER = 4096
const PAGE = 4096
const CHUNK_SIZE = 64 * 1024

const [mode = '', path = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)

async function openStorage(): Promise<Storage> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const machine = { ...runtime, disk: new RealDisk(runtime), kv: new LmdbKvOpener(runtime), crypto: systemCrypto }
  return await Storage.open(machine, { path })
}

function objectBytes(serial: number): Uint8Array {
  return new TextEncoder().encode(`object ${serial}`)
}

async function put(storage: Storage, serial: number): Promise<Address> {
  const bytes = objectBytes(serial)
  const id = addressOf(bytes)
  storage.chunks.submit(id, bytes, 'bench', { lazy: true })
  const object = { id, size: bytes.length, type: 'text/plain', chunkSize: CHUNK_SIZE, manifest: undefined }
  await storage.objects.commit({ ...object, upload: 'bench' })
  return id
}

async function build(): Promise<void> {
  await using storage = await openStorage()
  for (let serial = 0; serial < count; serial += TOGETHER) {
    const group = Array.from({ length: Math.min(TOGETHER, count - serial) }, (_, at) => serial + at)
    for (;;) {
      const outcomes = await Promise.allSettled(group.map(async (each) => await put(storage, each)))
      if (outcomes.every(({ status }) => status === 'fulfilled')) break
      // The index is behind: it says when it has caught up, and what was put already is put once.
      await storage.objects.list(undefined, 1)
    }
  }
  await storage.caughtUp()
}

/** Memory that is ours alone: the heap, buffers and whatever native code allocated. Pages of mapped files are not. */
function anonymousBytes(): number {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.()
  const text = readFileSync('/proc/self/status', 'utf8')
  return Number(/RssAnon:\s+(\d+)/.exec(text)?.[1] ?? Number.NaN) * 1024
}

async function measureIndex(): Promise<number> {
  const before = anonymousBytes()
  await using storage = await openStorage()
  await storage.caughtUp()
  let after: Address | undefined
  let seen = 0
  for (;;) {
    const page = await storage.chunks.list(after, PAGE)
    seen += page.filter((id) => storage.chunks.exists(id)).length
    after = page.at(-1)
    if (page.length < PAGE) break
  }
  if (seen !== count) throw new Error(`The store has ${seen} chunks and not ${count}.`)
  return Math.max(1, anonymousBytes() - before) / count
}

function measureMap(): number {
  const before = anonymousBytes()
  const places = new Map<string, { segment: number; offset: number; length: number }>()
  for (let serial = 0; serial < count; serial += 1) {
    places.set(addressOf(objectBytes(serial)), { segment: serial % 16, offset: serial * 128, length: 16 })
  }
  const grown = anonymousBytes() - before
  if (places.size !== count) throw new Error('The map lost some.')
  return grown / count
}

switch (mode) {
  case 'build':
    await build()
    process.stdout.write('built\n')
    break
  case 'index':
    process.stdout.write(`${await measureIndex()}\n`)
    break
  case 'map':
    process.stdout.write(`${measureMap()}\n`)
    break
  default:
    throw new Error('Say build, index or map.')
}
