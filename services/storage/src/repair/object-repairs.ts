/**
 * What is done about an object, once it is planned.
 *
 *     copy ─▶ chunk by chunk within the budget      hold ─▶ as whoever holds it now
 *     bury ─▶ the delete, told again                drop ─▶ a copy too many of this node
 *
 * Each asks again what it goes by: what was planned may have changed since.
 */
import { isKind, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { ChunkBytes } from '@cairn/store'
import { type Address, digestOf, toHex } from '@cairn/wire'
import type { ChunkSource } from '../objects/object-reader.ts'
import { copyObject } from '../placement/copy-object.ts'
import type { Replicas } from '../placement/replicas.ts'
import { DriveTarget } from '../targets/drive-target.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import type { Deletion, ObjectTarget } from '../targets/target.ts'
import { ownersOf } from '../targets/version-core.ts'
import type { RepairStep } from './repair-core.ts'
import { REPAIR_COST_BYTES, type Repair, type Repaired, type RepairPace } from './repair-queue.ts'

/** Writes a damaged chunk of a drive again, from any other copy of it: hashed before it is written. */
export async function healChunk(
  platform: Platform,
  replicas: Replicas,
  { drive, chunk }: { readonly drive: LocalDrive; readonly chunk: Address },
  pace: RepairPace,
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

const NOTHING_MOVED: Repaired = { tag: 'repaired', bytes: 0 }

export interface ObjectRepairsOptions {
  readonly replicas: Replicas
  readonly chunks: ChunkSource
}

export class ObjectRepairs {
  readonly #platform: Platform
  readonly #options: ObjectRepairsOptions

  constructor(platform: Platform, options: ObjectRepairsOptions) {
    this.#platform = platform
    this.#options = options
  }

  /** The step as work for whoever repairs; its name is the same for the same work. */
  of(id: Address, step: RepairStep<{ readonly target: ObjectTarget }>): Repair {
    if (step.tag === 'copy') {
      const [from, to] = [step.from.target, step.to.target]
      const run = async (pace: RepairPace, runBytes: number): Promise<Repaired> =>
        await this.#copy(id, from, to, { pace, runBytes })
      return { tag: 'work', name: `copy ${id} to ${to.identity.id}`, bytes: REPAIR_COST_BYTES, run }
    }
    const at = step.at.target
    const run = async (): Promise<Repaired> => {
      if (step.tag === 'hold') await this.#hold(id, at)
      else if (step.tag === 'delete') await this.#repeatDelete(id, at, step)
      else if (at instanceof DriveTarget) await at.drop(id, step.version)
      return NOTHING_MOVED
    }
    return { tag: 'work', name: `${step.tag} ${id} at ${at.identity.id}`, bytes: 0, run }
  }

  async #copy(
    id: Address,
    from: ObjectTarget,
    to: ObjectTarget,
    { pace, runBytes }: { readonly pace: RepairPace; readonly runBytes: number },
  ): Promise<Repaired> {
    const { replicas, chunks } = this.#options
    const facts = await from.stat(id, replicas.call())
    if (facts === undefined) return { tag: 'skipped', reason: 'no_copy' }
    const manifest = await from.manifest(id, replicas.call())
    // The next round sees who holds it: whoever does now may have let go by the time the last chunk is there.
    const copy = { ...facts, owners: [], id, manifest, upload: `copy-${toHex(digestOf(id)).slice(0, 48)}` }
    let bytes = 0
    try {
      await copyObject(this.#platform, to, copy, {
        timeoutMs: replicas.timeoutMs,
        read: async (chunk) => {
          // A chunk that is damaged at one copy may be sound at another.
          const held = await from.readChunk(chunk, replicas.call()).catch(() => undefined)
          return held ?? (await chunks.read(chunk, { object: id, chunk: undefined }))
        },
        runBytes,
        pace: async (length) => {
          await pace(length)
          bytes += length
        },
      })
    } catch (error) {
      // It was deleted, or put anew, since this was planned; the next round sees that.
      if (!isNewer(error)) throw error
    }
    return { tag: 'repaired', bytes }
  }

  /** The holders of this copy hold the other one too: those of now, for one may have released it since it was planned. */
  async #hold(id: Address, at: ObjectTarget): Promise<void> {
    const { replicas } = this.#options
    const asked = await replicas.ask(id)
    const here = asked.find(({ target }) => target === at)?.known
    const own = asked.filter(({ target }) => target.identity.kind === 'drive')
    const owners = here?.tag === 'object' ? ownersOf(own.map(({ known }) => known)) : []
    const held = new Set(ownersOf([here]))
    try {
      for (const owner of owners) if (!held.has(owner)) await at.hold(owner, id, replicas.call())
    } catch (error) {
      // It is gone since it was asked.
      if (!isKind(error, 'NotFound')) throw error
    }
  }

  async #repeatDelete(id: Address, at: ObjectTarget, { version, isAgreed, ...told }: Deletion): Promise<void> {
    const { replicas } = this.#options
    const record = told.record ?? replicas.signDelete(id, version)
    try {
      await at.remove(id, { version, isAgreed, record }, replicas.call())
    } catch (error) {
      // Somebody came to hold it since it was planned: the next round sees that too.
      if (!isNewer(error) && !isHeld(error)) throw error
    }
  }
}

function isHeld(error: unknown): boolean {
  return isKind(error, 'Conflict') && error.code === 'referenced'
}

function isNewer(error: unknown): boolean {
  return isKind(error, 'Conflict') && error.code === 'newer_version'
}
