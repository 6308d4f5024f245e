/** Objects as the routes ask for them, wherever their copies are. */
import { CairnError, isKind, toCairnError } from '@cairn/kernel'
import type { HoldCounts, ObjectFacts, ObjectStore } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { partGone } from '../errors.ts'
import type { ObjectCatalog } from '../objects/object-reader.ts'
import type { KnownCopy, ObjectTarget } from '../targets/target.ts'
import { newestOf } from '../targets/version-core.ts'
import type { RemoteObjects } from './remote-objects.ts'
import type { Replicas, TargetAnswer } from './replicas.ts'

/** What is looked for may go while somebody looks; it does not go again and again. */
const LOOKS_MAX = 3
/** Objects of a tree that are held, or released, at once. */
const TOGETHER = 8

export class ReplicatedObjects implements ObjectCatalog {
  readonly #replicas: Replicas
  readonly #remote: RemoteObjects

  constructor(replicas: Replicas, remote: RemoteObjects) {
    this.#replicas = replicas
    this.#remote = remote
  }

  /** With several targets nothing: a delete that one drive has missed counts for all of them, so all are asked. */
  statRecent(id: Address): ObjectFacts | undefined {
    return this.#only?.statRecent(id)
  }

  async stat(id: Address): Promise<ObjectFacts | undefined> {
    const { own, targets } = this.#replicas
    const only = this.#only
    if (only !== undefined) return await only.stat(id)
    for (let look = 1; look <= LOOKS_MAX; look += 1) {
      if ((await own.holder(id)) === undefined) break
      const facts = await own.atHolder(id, async ({ drive }) => await drive.contents.storage.objects.stat(id))
      // Nothing if it went between the two: deleted, or as a copy too many.
      if (facts !== undefined) return facts
    }
    if (targets.every(({ identity }) => identity.kind === 'drive')) {
      const asked = await this.#replicas.ask(id)
      this.#replicas.mustReachEnough(asked)
      mustNotBeLost(id, asked)
      return undefined
    }
    return await this.#statElsewhere(id)
  }

  async list(after: Address | undefined, limit: number): Promise<Address[]> {
    const only = this.#only
    if (only !== undefined) return await only.list(after, limit)
    const found: Address[] = []
    let from = after
    while (found.length < limit) {
      const rows = await this.#replicas.own.page(from, limit)
      for (const { id, known } of rows) if (known.tag === 'object' && found.length < limit) found.push(id)
      from = rows.at(-1)?.id
      if (from === undefined) break
    }
    return found
  }

  async remove(id: Address): Promise<boolean> {
    return (await this.#only?.remove(id)) ?? (await this.#replicas.remove(id))
  }

  /** Every copy is held, the one that decides about deletes first. */
  async hold(owner: string, id: Address): Promise<void> {
    const only = this.#only
    if (only !== undefined) return await only.hold(owner, id)
    for (let look = 1; ; look += 1) {
      const { copies } = await this.#copies(id)
      if (copies.length === 0) throw new CairnError('NotFound', `There is no object ${id} to hold.`)
      this.#replicas.mustBeSpread(id, copies)
      try {
        for (const target of copies) await target.hold(owner, id, this.#replicas.call())
        return
      } catch (error) {
        // One of them went since: deleted, and then the next look says so, or as a copy too many.
        if (!isKind(error, 'NotFound') || look === LOOKS_MAX) throw error
      }
    }
  }

  async release(owner: string, id: Address): Promise<boolean> {
    const only = this.#only
    if (only !== undefined) return await only.release(owner, id)
    const { asked, copies } = await this.#copies(id)
    if (copies.length > 0) this.#replicas.mustReachAll(asked)
    // With one deadline for all of them: repair waits for so long before it takes a difference for a copy that was away.
    const call = this.#replicas.call()
    for (const target of copies) await target.release(owner, id, call)
    return asked.some(({ known }) => known.tag === 'object' && known.owners?.includes(owner) === true)
  }

  async holdAll(owner: string, ids: readonly Address[]): Promise<HoldCounts> {
    const only = this.#only
    if (only !== undefined) return await only.holdAll(owner, ids)
    const missing: Address[] = []
    let written = 0
    for (let at = 0; at < ids.length; at += TOGETHER) {
      const outcomes = await Promise.all(
        ids.slice(at, at + TOGETHER).map(async (id) => ({ id, outcome: await this.#holdOne(owner, id) })),
      )
      written += outcomes.filter(({ outcome }) => outcome === 'written').length
      missing.push(...outcomes.flatMap(({ id, outcome }) => (outcome === 'missing' ? [id] : [])))
    }
    return { written, missing }
  }

  async releaseAll(owner: string, ids: readonly Address[]): Promise<number> {
    const only = this.#only
    if (only !== undefined) return await only.releaseAll(owner, ids)
    let released = 0
    for (let at = 0; at < ids.length; at += TOGETHER) {
      const outcomes = await Promise.all(ids.slice(at, at + TOGETHER).map(async (id) => await this.release(owner, id)))
      released += outcomes.filter((wasHeld) => wasHeld).length
    }
    return released
  }

  async #holdOne(owner: string, id: Address): Promise<'written' | 'held' | 'missing'> {
    const { asked, copies } = await this.#copies(id)
    if (copies.length === 0) return 'missing'
    const isHeldAt = ({ target, known }: TargetAnswer): boolean =>
      !copies.includes(target) || (known.tag === 'object' && known.owners?.includes(owner) === true)
    // One copy too few is made by repair, and held as the others are.
    if (asked.every(isHeldAt)) return 'held'
    try {
      await this.hold(owner, id)
      return 'written'
    } catch (error) {
      if (isKind(error, 'NotFound')) return 'missing'
      throw error
    }
  }

  /** The only store there is. */
  get #only(): ObjectStore | undefined {
    const { own, isAlone } = this.#replicas
    return isAlone ? own.landing('').drive.contents.storage.objects : undefined
  }

  async #copies(
    id: Address,
  ): Promise<{ readonly asked: readonly TargetAnswer[]; readonly copies: readonly ObjectTarget[] }> {
    const asked = await this.#replicas.ask(id)
    if (newestOf(asked.map(({ known }) => known)).tag !== 'object') {
      this.#replicas.mustReachEnough(asked)
      return { asked, copies: [] }
    }
    return { asked, copies: asked.filter(({ known }) => known.tag === 'object').map(({ target }) => target) }
  }

  async #statElsewhere(id: Address): Promise<ObjectFacts | undefined> {
    const asked = await this.#replicas.ask(id)
    const newest = newestOf(asked.map(({ known }) => known))
    if (newest.tag !== 'object') {
      this.#replicas.mustReachEnough(asked)
      mustNotBeLost(id, asked)
      return undefined
    }
    const failures: CairnError[] = []
    const gone = newestOf(asked.map(({ known }) => (known.tag === 'tombstone' ? known : ABSENT)))
    const deletedAt = gone.tag === 'tombstone' ? gone.version : 0
    // Bytes under an address never differ: an older copy will do where who claims a newer one has none.
    const copies = asked.filter(({ known }) => known.tag === 'object' && known.version >= deletedAt)
    for (const { target, known } of copies.sort((a, b) => versionOf(b) - versionOf(a))) {
      try {
        const facts = await this.#factsAt({ target, known }, id)
        if (facts !== undefined) return facts
      } catch (error) {
        failures.push(toCairnError(error))
      }
    }
    const first = failures.find(({ kind }) => kind !== 'NotFound')
    if (first !== undefined) throw first
    this.#replicas.mustReachEnough(asked)
    return undefined
  }

  async #factsAt({ target }: TargetAnswer, id: Address): Promise<ObjectFacts | undefined> {
    const facts = await target.stat(id, this.#replicas.call())
    if (facts === undefined) return undefined
    const isOneChunk = facts.size <= facts.chunkSize
    const manifest = isOneChunk
      ? undefined
      : (this.#remote.manifest(id, facts.chunkSize) ?? (await target.manifest(id, this.#replicas.call())))
    if (!isOneChunk && (manifest?.size !== facts.size || manifest.chunkSize !== facts.chunkSize)) {
      throw new CairnError('Integrity', `What a peer says about ${id} is not what its manifest proves.`)
    }
    return this.#remote.factsOf(facts, manifest)
  }
}

const ABSENT: KnownCopy = { tag: 'absent' }

function versionOf({ known }: TargetAnswer): number {
  return known.tag === 'absent' ? 0 : known.version
}

/** Where all that is left of an object are records that are damaged, there is one, and it is lost. A delete is one anywhere. */
function mustNotBeLost(id: Address, asked: readonly TargetAnswer[]): void {
  if (newestOf(asked.map(({ known }) => known)).tag !== 'absent') return
  if (asked.some(({ known }) => known.tag === 'absent' && known.isDamaged === true)) throw partGone(id)
}
