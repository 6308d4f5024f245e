import { isKind, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { Pace, Repaired } from '../domain/repairs.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import type { ObjectTarget } from '../targets/target.ts'
import type { Replicas } from './replicas.ts'

/** Writes a damaged chunk of a drive again, from any other copy of it: hashed before it is written. */
export async function healChunk(
  platform: Platform,
  replicas: Replicas,
  { drive, chunk }: { readonly drive: LocalDrive; readonly chunk: Address },
  pace: Pace,
): Promise<Repaired> {
  const others = replicas.order(chunk).filter((target) => target.identity.id !== drive.id)
  for (const target of others) {
    if (target.health().tag === 'down') continue
    using held = await soundCopy(platform, target, chunk, replicas)
    if (held === undefined) continue
    await pace(held.bytes.length)
    await drive.contents.storage.chunks.put(chunk, held.bytes, { upload: 'repair' })
    return { tag: 'repaired', bytes: held.bytes.length }
  }
  return { tag: 'skipped', reason: 'no_copy' }
}

async function soundCopy(
  { log }: Platform,
  target: ObjectTarget,
  chunk: Address,
  replicas: Replicas,
): Promise<ChunkBytes | undefined> {
  try {
    return await target.readChunk(chunk, replicas.call())
  } catch (error) {
    if (!isKind(error, 'NotFound')) log.info({ error: toCairnError(error) }, 'a chunk is not repaired from this copy')
    return undefined
  }
}
