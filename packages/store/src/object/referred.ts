/**
 * What an object keeps here, read from its record and its pages; nowhere is that stored in another form.
 *
 *     whole    record ─▶ pages ─▶ chunks          an object of one chunk keeps the chunk of its own address
 *     striped  record ─▶ share pages ─▶ shards    and the pages of the chunk list and of the parity, which name the rest
 */
import { CairnError } from '@cairn/kernel'
import { addressFromDigest } from '@cairn/wire'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import { chunksOf, digestsOf, type ObjectFacts } from './object-record.ts'

/** Its chunks page by page, the pages themselves last. `Integrity` if one of them cannot be read, or is not here. */
export async function* referred(
  chunks: SegmentChunkStore,
  object: Uint8Array,
  { pages, stripes }: ObjectFacts,
): AsyncGenerator<readonly Uint8Array[]> {
  if (stripes === undefined) {
    for (const id of digestsOf(pages)) yield await onPage(chunks, object, id, (page) => chunkIds(page))
    yield pages.length === 0 ? [object] : [...digestsOf(pages)]
    return
  }
  yield* sharedShards(chunks, object, stripes.sharePages)
  yield [...digestsOf(pages), ...digestsOf(stripes.parityPages), ...digestsOf(stripes.sharePages)]
}

/** The shards that these pages list. */
export async function* sharedShards(
  chunks: SegmentChunkStore,
  object: Uint8Array,
  sharePages: Uint8Array,
): AsyncGenerator<readonly Uint8Array[]> {
  for (const id of digestsOf(sharePages)) yield await onPage(chunks, object, id, (page) => [...digestsOf(page)])
}

function chunkIds(page: Uint8Array): Uint8Array[] {
  return Array.from(chunksOf(page), ({ id }) => id)
}

async function onPage(
  chunks: SegmentChunkStore,
  object: Uint8Array,
  pageId: Uint8Array,
  idsOn: (page: Uint8Array) => readonly Uint8Array[],
): Promise<readonly Uint8Array[]> {
  using page = await chunks.readQuietly(addressFromDigest(pageId))
  if (page !== undefined) return idsOn(page.bytes)
  const detail = `A page of the chunk list of ${addressFromDigest(object)} is missing; put the object again, or remove it.`
  throw new CairnError('Integrity', detail, { code: 'page_missing' })
}
