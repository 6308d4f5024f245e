/**
 * Who keeps which object from being removed.
 *
 *     in line ─▶ durable ─▶ in the index        it counts from the first moment on, and is told once it is durable
 */
import { CairnError } from '@cairn/kernel'
import { type Address, blake3, digestOf } from '@cairn/wire'
import type { Draft } from '../journal/group.ts'
import { KIND, type Store } from '../store.ts'
import { decodeHold, encodeHold } from './object-record.ts'
import { holdOfKey, holdsOf } from './reference-keys.ts'

const OWNER_BYTES_MAX = 128
/** Of those who hold an object, so many are named to whoever would remove it. */
const NAMED_MAX = 3

export class Holds {
  readonly #store: Store
  /** Whose holds are in line or not in the index yet, by object. */
  readonly #coming = new Map<Address, Map<number, readonly string[]>>()
  /** Those of them that are durable, and the LSN at which the index will have them. */
  readonly #durable = new Map<number, { readonly id: Address; readonly lsn: number }>()
  #serial = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Durable, and the same however often it is asked. Whoever calls knows that the object is here. */
  async add(owner: string, id: Address): Promise<void> {
    const draft = holdDraft(checkOwner(owner), id)
    const serial = this.#begin(id, [owner])
    try {
      await this.#store.submit([draft]).durable()
      await this.#store.index.flush()
    } finally {
      this.#forget(id, serial)
    }
  }

  /** They are in line together with their object. Returns what to call with what became of that. */
  expect(owners: readonly string[], id: Address): (isDurable: boolean) => void {
    if (owners.length === 0) return () => undefined
    const serial = this.#begin(id, owners)
    return (isDurable) => {
      // Until the index has it, it is known from here.
      if (isDurable) this.#durable.set(serial, { id, lsn: this.#store.journal.syncedLsn })
      else this.#forget(id, serial)
    }
  }

  /** Whether there was such a hold. */
  async end(owner: string, id: Address): Promise<boolean> {
    const hold = holdId(owner, digestOf(id))
    if (this.#store.lookup(KIND.hold, hold) === undefined) {
      this.#store.journal.mustBeReady()
      return false
    }
    await this.#store.submit([this.#store.tombstone(KIND.hold, hold)], { freesSpace: true }).durable()
    await this.#store.index.flush()
    return true
  }

  isHeld(id: Address): boolean {
    if (this.#coming.has(id)) return true
    for (const _key of this.#store.index.kv.range(holdsOf(digestOf(id)))) return true
    return false
  }

  /** Who holds it, those included whose hold is on its way. */
  owners(id: Address): string[] {
    if (!this.isHeld(id)) return []
    const { from, to } = holdsOf(digestOf(id))
    const kept = [...this.#store.index.kv.range({ from, to })].flatMap(({ key }) => {
      const payload = this.#store.lookup(KIND.hold, holdOfKey(key))?.inline
      return payload === undefined ? [] : decodeHold(payload).owner
    })
    const coming = [...(this.#coming.get(id)?.values() ?? [])].flat()
    return [...new Set([...kept, ...coming])]
  }

  /** The ids of all records that hold it, or will: what is in line behind this step comes after them. */
  records(id: Address): Uint8Array[] {
    return this.owners(id).map((owner) => holdId(owner, digestOf(id)))
  }

  /** The index knows everything up to this LSN. */
  indexed(lsn: number): void {
    for (const [serial, { id, lsn: at }] of this.#durable) {
      if (at > lsn) continue
      this.#durable.delete(serial)
      this.#forget(id, serial)
    }
  }

  #begin(id: Address, owners: readonly string[]): number {
    this.#serial += 1
    const coming = this.#coming.get(id) ?? new Map<number, readonly string[]>()
    this.#coming.set(id, coming.set(this.#serial, owners))
    return this.#serial
  }

  #forget(id: Address, serial: number): void {
    const coming = this.#coming.get(id)
    coming?.delete(serial)
    if (coming?.size === 0) this.#coming.delete(id)
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
