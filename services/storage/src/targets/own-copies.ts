/**
 * What this node holds by itself, whatever drive it is on: all that another node that replicates to it sees.
 *
 *     peer ──▶ known, put, commit, remove, stat, page ──▶ the drives of this node, and nobody further
 */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import type { ChunkBytes } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { ChunkSource } from '../objects/object-reader.ts'
import { placementOrder } from '../placement/placement-core.ts'
import type { DriveTarget } from './drive-target.ts'
import type { Drives } from './drives.ts'
import type { CopyFacts, CopyRow, Deletion, KnownCopy, WholeCopy, WriteOutcome } from './target.ts'
import { newestOf, ownersOf } from './version-core.ts'

/** Chunks on the drives of this node, and nobody further: what a peer may ask for. */
export class OwnChunks implements ChunkSource {
  readonly #drives: Drives
  readonly #own: OwnCopies

  constructor(drives: Drives, own: OwnCopies) {
    this.#drives = drives
    this.#own = own
  }

  cached(id: Address): ChunkBytes | undefined {
    for (const { state } of this.#drives.all) {
      const held = state.tag === 'open' ? state.chunks.cached(id) : undefined
      if (held !== undefined) return held
    }
    return undefined
  }

  async read(id: Address): Promise<ChunkBytes | undefined> {
    this.#own.mustBeReadable()
    let failure: CairnError | undefined
    for (const { drive } of this.#own.readable(id)) {
      try {
        const held = await drive.contents.chunks.read(id)
        if (held !== undefined) return held
      } catch (error) {
        if (!isKind(error, 'Integrity') && !isKind(error, 'StorageBusy')) throw error
        failure ??= toCairnError(error)
      }
    }
    if (failure !== undefined) throw failure
    return undefined
  }
}

export class OwnCopies {
  readonly #targets: readonly DriveTarget[]

  constructor(targets: readonly DriveTarget[]) {
    this.#targets = targets
  }

  /** The drives that can be read, in the order in which the object should be on them. */
  readable(object: Address): DriveTarget[] {
    return this.#inOrder(object).filter((target) => target.health().tag !== 'down')
  }

  /** The drive that takes a copy of the object: the one that has it, or the first that takes anything. */
  async driveFor(object: Address): Promise<DriveTarget> {
    const up = this.#inOrder(object).filter((target) => target.health().tag === 'up')
    for (const target of up) {
      if ((await target.look(object)).tag === 'object') return target
    }
    return this.landing(object)
  }

  /** The first drive that takes anything, in the order of this object or upload. */
  landing(name: string): DriveTarget {
    const [first] = this.#inOrder(name).filter((target) => target.health().tag === 'up')
    if (first !== undefined) return first
    throw this.#noDrive()
  }

  #noDrive(): CairnError {
    const [any] = this.#targets
    const health = any?.health()
    const why = health === undefined || health.tag === 'up' ? 'There is none.' : health.why
    const detail = `No drive of this node can be used now. ${why}`
    return new CairnError('StorageBusy', detail, { code: 'drive_failed', retryAfterMs: 1000 })
  }

  /** `StorageBusy` if no drive can be asked: that is not the same as nothing being there. */
  mustBeReadable(): void {
    if (this.#targets.every((target) => target.health().tag === 'down')) throw this.#noDrive()
  }

  async known(ids: readonly Address[]): Promise<KnownCopy[]> {
    this.mustBeReadable()
    const readable = this.#targets.filter((target) => target.health().tag !== 'down')
    const all = await Promise.all(readable.map(async (target) => await target.known(ids)))
    const isPartial = readable.length < this.#targets.length
    return ids.map((_, at) => {
      const here = all.map((known) => known[at] ?? ABSENT)
      const newest = newestOf(here)
      if (newest.tag === 'absent') return isPartial ? { ...newest, isPartial } : newest
      const owners = ownersOf(here)
      return newest.tag === 'object' && owners.length > 0 ? { ...newest, owners } : newest
    })
  }

  async put(copy: WholeCopy): Promise<WriteOutcome> {
    await this.mustBeNewer(copy.id, copy.version)
    return await (await this.driveFor(copy.id)).put(copy)
  }

  /** Every drive remembers it: a copy on one that is away meets it when it is back. */
  async remove(id: Address, deletion: Deletion): Promise<void> {
    const targets = this.#targets.filter((target) => target.health().tag === 'up')
    if (targets.length === 0) this.landing(id)
    for (const target of targets) await target.remove(id, deletion)
  }

  async stat(id: Address): Promise<CopyFacts | undefined> {
    this.mustBeReadable()
    return await this.atHolder(id, async (holder) => await holder.stat(id))
  }

  /** What the holder says of the object. One whose record turns out to be damaged is none: then it is the next. */
  async atHolder<T>(id: Address, ask: (holder: DriveTarget) => Promise<T>): Promise<T | undefined> {
    for (let look = 1; ; look += 1) {
      const holder = await this.holder(id)
      if (holder === undefined) return undefined
      try {
        return await ask(holder)
      } catch (error) {
        if (!isKind(error, 'Integrity') || look > this.#targets.length) throw error
      }
    }
  }

  /** The drive with the newest copy, unless a delete is newer; none of those that cannot be read. */
  async holder(id: Address): Promise<DriveTarget | undefined> {
    const readable = this.readable(id)
    const known = await Promise.all(readable.map(async (target) => await target.look(id)))
    const newest = newestOf(known)
    return newest.tag === 'object' ? readable[known.indexOf(newest)] : undefined
  }

  async hold(owner: string, id: Address): Promise<void> {
    this.mustBeReadable()
    const holder = await this.holder(id)
    if (holder === undefined) throw new CairnError('NotFound', `There is no object ${id} to hold.`)
    await holder.hold(owner, id)
  }

  async release(owner: string, id: Address): Promise<void> {
    this.mustBeReadable()
    for (const target of this.readable(id)) await target.release(owner, id)
  }

  async page(after: Address | undefined, limit: number): Promise<CopyRow[]> {
    this.mustBeReadable()
    const readable = this.#targets.filter((target) => target.health().tag !== 'down')
    const pages = await Promise.all(readable.map(async (target) => await target.page(after, limit)))
    // A drive whose page is full may have more below the last of another's: what is past its end is for the next page.
    const ends = pages.filter((page) => page.length === limit).map((page) => page.at(-1)?.id ?? '')
    const end = ends.sort()[0]
    const byId = Map.groupBy(
      pages.flat().filter(({ id }) => end === undefined || id <= end),
      ({ id }) => id,
    )
    const rows = [...byId].map(([id, same]) => ({ id, known: newestOf(same.map(({ known }) => known)) }))
    return rows.flatMap(({ id, known }) => (known.tag === 'absent' ? [] : { id, known })).sort(byAddress)
  }

  /** A delete may be known on a drive that has no copy, and holds for all of them. */
  async mustBeNewer(id: Address, version: number): Promise<void> {
    const [known = ABSENT] = await this.known([id])
    if (known.tag !== 'tombstone' || known.version <= version) return
    const detail = `${id} was deleted here with a newer version, ${known.version}.`
    throw new CairnError('Conflict', detail, { code: 'newer_version', cause: known.version })
  }

  #inOrder(name: string): DriveTarget[] {
    if (this.#targets.length === 1) return [...this.#targets]
    const rows = this.#targets.map((target) => ({ ...target.identity, target }))
    return placementOrder(name, rows).map(({ target }) => target)
  }
}

const ABSENT: KnownCopy = { tag: 'absent' }

function byAddress(a: CopyRow, b: CopyRow): number {
  return a.id < b.id ? -1 : 1
}
