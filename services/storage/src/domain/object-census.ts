import { isKind } from '@cairn/kernel'
import type { Storage } from '@cairn/store'
import { type Address, addressFromDigest } from '@cairn/wire'
import type { ObjectReader, StoredObject } from './object-reader.ts'

const PAGE = 256

export interface Census {
  readonly sound: number
  readonly damaged: number
}

/** Objects by state, given the chunks that are damaged. */
export async function countObjects(
  { objects }: Storage,
  reader: ObjectReader,
  damaged: ReadonlySet<string>,
): Promise<Census> {
  const census = { sound: 0, damaged: 0 }
  let after: Address | undefined
  for (;;) {
    const ids = await objects.list(after, PAGE)
    for (const id of ids) {
      const object = await reader.find(id)
      if (object !== undefined) census[(await isDamaged(reader, object, damaged)) ? 'damaged' : 'sound'] += 1
    }
    after = ids.at(-1)
    if (ids.length < PAGE) return census
  }
}

async function isDamaged(reader: ObjectReader, object: StoredObject, damaged: ReadonlySet<string>): Promise<boolean> {
  // Most rounds find nothing, and then no list has to be read.
  if (damaged.size === 0) return false
  if (damaged.has(object.id)) return true
  try {
    for await (const page of reader.chunkList(object)) {
      if (page.some(({ id }) => damaged.has(addressFromDigest(id)))) return true
    }
    return false
  } catch (error) {
    if (isKind(error, 'Integrity')) return true
    throw error
  }
}
