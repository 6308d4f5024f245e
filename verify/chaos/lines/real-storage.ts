/** Storage on a real drive behind a real port, with one large object, read by workers that can be killed. */
import assert from 'node:assert/strict'
import { Config } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { type StorageConfig, storageSection } from '../../../services/storage/src/config.ts'
import { runParts } from '../../../services/storage/src/main.ts'
import { openParts, type StorageParts } from '../../../services/storage/src/parts.ts'
import { ask, Mortal, type RealPlace, tokenOf } from './real-place.ts'

const AUTHORIZED = { authorization: `Bearer ${tokenOf('storage')}` }
/** More than sockets and windows hold, so that a reader who pauses holds the stream up. */
export const BYTES = Buffer.alloc(16 * 1024 * 1024)
for (let at = 0; at < BYTES.length; at += 4) BYTES.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at)
export const ID = addressOf(BYTES)

export interface RealStorage {
  readonly url: URL
  readonly parts: StorageParts
  readonly workers: Mortal
  stop(): Promise<unknown>
}

/** Every read is from the drive. */
export async function startStorage(place: RealPlace): Promise<RealStorage> {
  const values = storageSection.parse({ bind_addr: '127.0.0.1:0', cache_bytes: 0, reserve_bytes: '1MiB' })
  const config = new Config<StorageConfig>({ values, origins: {} })
  const host = { ...place.host('storage'), identitySeed: new Uint8Array(32), config }
  const parts = await openParts(host)
  const workers = new Mortal()
  Object.assign(parts.work, { getWorker: workers.wrap(parts.work.getWorker) })
  const { running } = await runParts(host, parts)
  place.onClose(async () => await running.stop())
  await running.health.readiness.until(({ ready }) => ready)
  const url = new URL(running.urls[0] ?? '')
  return { url, parts, workers, stop: async () => await running.stop() }
}

/** Puts an object there. */
export async function stock({ url }: RealStorage, body = BYTES): Promise<void> {
  const stored = await ask(new URL('/o?stream', url), { method: 'POST', headers: AUTHORIZED, body })
  assert.equal(stored.status, 201, stored.body.toString())
}
