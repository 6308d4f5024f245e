/** What the rows of `storage-rows.ts` are about. */
import assert from 'node:assert/strict'
import { SeededRandom } from '@cairn/kernel/testing'
import { addressOf, type Manifest, ManifestBuilder } from '@cairn/wire'

const CHUNK = 64 * 1024

/** Bytes that look random and are the same in every run. */
export function noise(length: number, seed: number): Buffer {
  const random = new SeededRandom(seed)
  return Buffer.from(random.bytes(length))
}

export interface Uploaded {
  readonly id: string
  readonly bytes: Buffer
  readonly manifest: Manifest
  readonly chunks: readonly { readonly id: string; readonly bytes: Buffer }[]
}

/** An object as a client cuts it. */
export function cut(bytes: Buffer): Uploaded {
  const builder = new ManifestBuilder(CHUNK)
  const chunks: { id: string; bytes: Buffer }[] = []
  for (let at = 0; at < bytes.length; at += CHUNK) {
    const chunk = bytes.subarray(at, at + CHUNK)
    builder.add(chunk)
    chunks.push({ id: addressOf(chunk), bytes: chunk })
  }
  const built = builder.finish()
  assert.ok(built.kind === 'chunked')
  return { id: built.id, bytes, manifest: built.manifest, chunks }
}

/** Chunks as `POST /c` takes them. */
export function framed(chunks: readonly Uint8Array[]): Buffer {
  const head = (length: number): Buffer => Buffer.from(Uint32Array.of(length).buffer).swap32()
  return Buffer.concat(chunks.flatMap((chunk) => [head(chunk.length), chunk]))
}
