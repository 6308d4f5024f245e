/** Manifests in and out: what a manifest claims is proved before the object is visible. */
import { CairnError } from '@cairn/kernel'
import type { Storage } from '@cairn/store'
import {
  type Address,
  chunkAddress,
  createManifest,
  decodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  verifyChunk,
} from '@cairn/wire'
import { chunkList, type StoredObject } from './object-reader.ts'

export interface ManifestCommit {
  readonly id: Address
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  readonly type: string
  readonly upload: string
}

export type CommitOutcome =
  | { readonly tag: 'committed'; readonly isNew: boolean; readonly size: number }
  | { readonly tag: 'missing'; readonly ids: readonly Address[] }

/**
 * Checks that the manifest folds to the address and every chunk here is the one its chaining value says, then makes
 * the object visible. A chunk is hashed at a time, with a read in between, so a
 * large commit holds nobody up.
 */
export async function commitManifest(storage: Storage, commit: ManifestCommit): Promise<CommitOutcome> {
  const manifest = decodeManifest(await collect(commit.body), commit.id)
  const missing: Address[] = []
  for (let at = 0; at < manifest.chunkCount; at += 1) {
    using held = await storage.chunks.read(chunkAddress(manifest, at))
    if (held === undefined) missing.push(chunkAddress(manifest, at))
    else verifyChunk(manifest, at, held.bytes)
  }
  if (missing.length > 0) return { tag: 'missing', ids: missing }
  const { id, type, upload } = commit
  const { size, chunkSize } = manifest
  const outcome = await storage.objects.commit({ id, size, type, chunkSize, manifest, upload })
  return { tag: 'committed', isNew: outcome === 'new', size }
}

/** The manifest of an object here. `single_chunk` if its one chunk is the object. */
export async function manifestOf(storage: Storage, object: StoredObject): Promise<Manifest> {
  const { facts } = object
  if (facts.pages.length === 0) {
    const detail = `${object.id} is one chunk; its address is all the proof it needs.`
    throw new CairnError('NotFound', detail, { code: 'single_chunk' })
  }
  const ids: Uint8Array[] = []
  const values: Uint8Array[] = []
  for await (const page of chunkList(storage, object)) {
    for (const { id, chainingValue } of page) {
      ids.push(id)
      values.push(chainingValue)
    }
  }
  const { size, chunkSize } = facts
  return createManifest({ size, chunkSize, chunkIds: packed(ids), chainingValues: packed(values) })
}

function packed(digests: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(digests.length * 32)
  for (const [at, digest] of digests.entries()) all.set(digest, at * 32)
  return all
}

async function collect(body: ManifestCommit['body']): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let total = 0
  for await (const piece of body) {
    total += piece.length
    if (total > MAX_MANIFEST_BYTES)
      throw new CairnError('TooLarge', `A manifest has at most ${MAX_MANIFEST_BYTES} bytes.`)
    pieces.push(piece.slice())
  }
  const all = new Uint8Array(total)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
