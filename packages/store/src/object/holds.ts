/**
 * Holds: which owners keep which object from being removed.
 *
 *     in line ─▶ durable ─▶ in the index        it counts from the first moment on, and is acknowledged once durable
 */
import { CairnError, isKind } from '@cairn/kernel'
import { type Address, blake3, digestOf, toHex } from '@cairn/wire'
import type { Draft } from '../journal/segment.ts'
import { KIND, type RecordStore } from '../record-store.ts'
import * as core from './holds-core.ts'
import { decodeHold, encodeHold } from './object-record.ts'

/** The longest name, and what kind of owner it is. */
const OWNER_BYTES_MAX = 400
const UNREADABLE_OWNER = 'an owner whose record is damaged'
/** A refused removal names so many of the object's owners. */
const NAMED_MAX = 3

export class Holds {
  readonly #store: RecordStore
  readonly #core = core.createHolds()
  /** Holds whose end is in line: until it is durable the index still has them. */
  readonly #ending = new Map<string, number>()

  constructor(store: RecordStore) {
    this.#store = store
  }

  /** Adds a hold, durably; idempotent. The caller has checked that the object is here. */
  async add(owner: string, id: Address): Promise<void> {
    const draft = holdDraft(checkOwner(owner), id)
    const write = this.#store.submit([draft], { onSettled: () => settle() })
    const settle = this.expect([owner], id)
    await write.durable()
  }

  /** Counts holds that are put in line in this step. Returns what to call once that write is over. */
  expect(owners: readonly string[], id: Address): () => void {
    if (owners.length === 0) return () => undefined
    const turn = core.begin(this.#core, id, owners)
    return () => core.settle(this.#core, id, turn)
  }

  /** Adds the holds that the owner does not have yet, in one write; returns how many those are. The objects are here. */
  async addAll(owner: string, ids: readonly Address[]): Promise<number> {
    checkOwner(owner)
    const fresh = ids.filter((id) => !this.#has(holdId(owner, digestOf(id))))
    if (fresh.length === 0) {
      this.#store.journal.mustBeReady()
      return 0
    }
    const drafts = fresh.map((id) => holdDraft(owner, id))
    const write = this.#store.submit(drafts, { onSettled: () => settles.forEach((settle) => settle()) })
    const settles = fresh.map((id) => this.expect([owner], id))
    await write.durable()
    return fresh.length
  }

  /** Ends the hold; returns whether there was one. */
  async end(owner: string, id: Address): Promise<boolean> {
    return (await this.endAll(owner, [id])) === 1
  }

  /** Ends those of the owner's holds that there are, in one write; returns how many those are. */
  async endAll(owner: string, ids: readonly Address[]): Promise<number> {
    const holds = ids.map((id) => holdId(owner, digestOf(id)))
    const known = holds.filter((hold) => this.#store.lookup(KIND.hold, hold) !== undefined)
    if (known.length === 0) {
      this.#store.journal.mustBeReady()
      return 0
    }
    const tombstones = known.map((hold) => this.#store.tombstone(KIND.hold, hold))
    const onSettled = (): void => {
      for (const hold of known) this.#settleEnd(toHex(hold))
    }
    const write = this.#store.submit(tombstones, { freesSpace: true, onSettled })
    for (const hold of known) this.#ending.set(toHex(hold), (this.#ending.get(toHex(hold)) ?? 0) + 1)
    await write.durable()
    return known.length
  }

  /** A hold that is durable, and of which no end is in line: that end would come after whatever counts on it. */
  #has(hold: Uint8Array): boolean {
    return this.#store.lookup(KIND.hold, hold) !== undefined && !this.#ending.has(toHex(hold))
  }

  #settleEnd(hold: string): void {
    const left = (this.#ending.get(hold) ?? 1) - 1
    if (left === 0) this.#ending.delete(hold)
    else this.#ending.set(hold, left)
  }

  /** Whether it may not be removed; 503 while holds may be in what was not read yet. */
  isHeld(id: Address): boolean {
    const durable = this.#holdsOn(id).length
    const verdict = core.judge(this.#core, id, { durable, isComplete: this.#store.index.isComplete })
    if (verdict === 'unknown') this.#store.mustBeComplete()
    return verdict === 'held'
  }

  /** Returns the owners, those included whose hold is not durable yet. */
  async owners(id: Address): Promise<string[]> {
    const kept = await Promise.all(this.#holdsOn(id).map(async (hold) => await this.#ownerOf(hold)))
    return [...new Set([...kept.flatMap((owner) => owner ?? []), ...core.ownersComing(this.#core, id)])]
  }

  /** Returns a `Conflict` that names the owners. A hold with a damaged record counts too, though its owner is unknown. */
  async refusal(id: Address): Promise<CairnError> {
    const owners = await this.owners(id)
    return referenced(id, owners.length === 0 ? [UNREADABLE_OWNER] : owners)
  }

  async #ownerOf(hold: Uint8Array): Promise<string | undefined> {
    try {
      const record = await this.#store.read(KIND.hold, hold)
      return record === undefined ? undefined : decodeHold(record.payload).owner
    } catch (error) {
      if (isKind(error, 'Integrity')) return undefined
      throw error
    }
  }

  /** The ids of all records that hold it, or will: what is in line behind this step comes after them. */
  records(id: Address): Uint8Array[] {
    const coming = core.ownersComing(this.#core, id).map((owner) => holdId(owner, digestOf(id)))
    return [...this.#holdsOn(id), ...coming]
  }

  #holdsOn(id: Address): Uint8Array[] {
    return this.#store.index.holdsOn(KIND.hold, digestOf(id))
  }
}

export function checkOwner(owner: string): string {
  if (owner.length >= 1 && owner.length <= OWNER_BYTES_MAX && /^[\w.:@/-]+$/.test(owner)) return owner
  throw new CairnError('Malformed', `An owner has 1 to ${OWNER_BYTES_MAX} letters, digits or ._:@/- characters.`)
}

export function referenced(id: Address, owners: readonly string[]): CairnError {
  const others = owners.length > NAMED_MAX ? ` and ${owners.length - NAMED_MAX} more` : ''
  const detail = `${id} is held by ${owners.slice(0, NAMED_MAX).join(', ')}${others}; release it first.`
  return new CairnError('Conflict', detail, { code: 'referenced' })
}

export function holdDraft(owner: string, id: Address): Draft {
  const object = digestOf(id)
  return { kind: KIND.hold, flags: 0, id: holdId(owner, object), payload: encodeHold({ owner, object }) }
}

/** One hold of an owner on an object is one id. */
function holdId(owner: string, object: Uint8Array): Uint8Array {
  const name = new TextEncoder().encode(owner)
  const bytes = new Uint8Array(object.length + name.length)
  bytes.set(object)
  bytes.set(name, object.length)
  return blake3(bytes)
}
