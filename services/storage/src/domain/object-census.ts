import { isKind } from '@cairn/kernel'
import type { Storage } from '@cairn/store'
import { type Address, addressFromDigest, digestOf, parseAddress } from '@cairn/wire'
import type { ObjectReader, StoredObject } from './object-reader.ts'

const PAGE = 256

export interface Census {
  readonly sound: number
  /** The damaged chunks of each damaged object. */
  readonly damaged: ReadonlyMap<Address, Set<Address>>
}

/** Objects by state, given the chunks that are damaged. */
export async function takeCensus(
  { objects, references }: Storage,
  reader: ObjectReader,
  damaged: ReadonlySet<string>,
): Promise<Census> {
  const found = new Map<Address, Set<Address>>()
  let sound = 0
  let after: Address | undefined
  for (;;) {
    const ids = await objects.list(after, PAGE)
    for (const id of ids) {
      const object = await reader.find(id)
      if (object === undefined) continue
      const chunks = await damagedChunks(reader, references, object, damaged)
      if (chunks.size > 0) found.set(id, chunks)
      else sound += 1
    }
    after = ids.at(-1)
    if (ids.length < PAGE) return { sound, damaged: found }
  }
}

async function damagedChunks(
  reader: ObjectReader,
  references: Storage['references'],
  object: StoredObject,
  damaged: ReadonlySet<string>,
): Promise<Set<Address>> {
  // Most rounds find nothing, and then no list has to be read.
  if (damaged.size === 0) return new Set()
  if (damaged.has(object.id)) return new Set([object.id])
  if (object.facts.stripes !== undefined) {
    // Only its share is here, parity too, and that is what refers to the chunks.
    const its = [...damaged].map((id) => parseAddress(id))
    return new Set(its.filter((id) => references.refersTo(digestOf(object.id), digestOf(id))))
  }
  const chunks = new Set<Address>()
  try {
    for await (const page of reader.chunkList(object)) {
      for (const { id } of page) if (damaged.has(addressFromDigest(id))) chunks.add(addressFromDigest(id))
    }
    return chunks
  } catch (error) {
    // A page of the list itself is damaged: which one does not matter, the object is.
    if (isKind(error, 'Integrity')) return chunks.add(object.id)
    throw error
  }
}
