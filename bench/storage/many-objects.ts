/**
 * A store with very many small objects, and what it takes to have it open.
 *
 *     node many-objects.ts build DIRECTORY COUNT      makes it, through the store's own interface
 *     node --expose-gc many-objects.ts index DIRECTORY COUNT → bytes of memory for each chunk once every one was looked up
 *     node --expose-gc many-objects.ts map DIRECTORY COUNT   → the same for a Map from address to place
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isKind, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { RealDisk, systemCrypto } from '@cairn/platform'
import { DriveStore } from '@cairn/store'
import { type Address, addressOf } from '@cairn/wire'

/** Puts in flight at once; they share writes and syncs. */
const TOGETHER = 256
const RETRY_MS = 20
const PAGE = 4096
const CHUNK_SIZE = 64 * 1024

const [mode = '', path = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)

async function openStorage(at = path): Promise<DriveStore> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const machine = { ...runtime, disk: new RealDisk(runtime), crypto: systemCrypto }
  return await DriveStore.open(machine, { path: at })
}

function objectBytes(serial: number): Uint8Array {
  return new TextEncoder().encode(`object ${serial}`)
}

async function put(storage: DriveStore, serial: number): Promise<Address> {
  const bytes = objectBytes(serial)
  const id = addressOf(bytes)
  storage.chunks.submit(id, bytes, 'bench', { lazy: true })
  const object = { id, size: bytes.length, type: 'text/plain', chunkSize: CHUNK_SIZE, manifest: undefined }
  await storage.objects.commit({ ...object, upload: 'bench' })
  return id
}

async function build(): Promise<void> {
  await using storage = await openStorage()
  let next = 0
  const work = async (): Promise<void> => {
    for (let serial = next++; serial < count; serial = next++) await putPatiently(storage, serial)
  }
  await Promise.all(Array.from({ length: TOGETHER }, work))
  await storage.caughtUp()
}

/** Where too much waits to be written or indexed, asks again when it may be less. */
async function putPatiently(storage: DriveStore, serial: number): Promise<void> {
  for (;;) {
    try {
      await put(storage, serial)
      return
    } catch (error) {
      if (!isKind(error, 'StorageBusy')) throw error
      await sleep(RETRY_MS)
    }
  }
}

/** Memory that is ours: the heap, and buffers outside it. What the index maps of its file is the system's to take back. */
function ownBytes(): number {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function measureIndex(): Promise<number> {
  // What any store takes, however little is in it, is not the index's.
  const empty = await openStorage(`${path}-empty`)
  await put(empty, 0)
  await empty.close()
  const before = ownBytes()
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
  return Math.max(1, ownBytes() - before) / count
}

function measureMap(): number {
  const before = ownBytes()
  const places = new Map<string, { segment: number; offset: number; length: number }>()
  for (let serial = 0; serial < count; serial += 1) {
    places.set(addressOf(objectBytes(serial)), { segment: serial % 16, offset: serial * 128, length: 16 })
  }
  const grown = ownBytes() - before
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
