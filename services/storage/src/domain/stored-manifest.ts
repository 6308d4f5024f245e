import { CairnError } from '@cairn/kernel'
import { createManifest, type Manifest } from '@cairn/wire'
import type { ObjectReader, StoredObject } from './object-reader.ts'

const DIGEST_BYTES = 32

/** The manifest of an object here. `single_chunk` if its one chunk is the object. */
export async function storedManifest(reader: ObjectReader, object: StoredObject): Promise<Manifest> {
  const { size, chunkSize, pages } = object.facts
  if (pages.length === 0) {
    const detail = `${object.id} is one chunk; its address is all the proof it needs.`
    throw new CairnError('NotFound', detail, { code: 'single_chunk' })
  }
  const count = Math.ceil(size / chunkSize)
  const chunkIds = new Uint8Array(count * DIGEST_BYTES)
  const chainingValues = new Uint8Array(count * DIGEST_BYTES)
  let at = 0
  for await (const page of reader.chunkList(object)) {
    for (const { id, chainingValue } of page) {
      chunkIds.set(id, at)
      chainingValues.set(chainingValue, at)
      at += DIGEST_BYTES
    }
  }
  return createManifest({ size, chunkSize, chunkIds, chainingValues })
}
