/** Objects as a client makes them. */
import { type Address, addressOf, encodeManifest, type Manifest, ManifestBuilder } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'

export const CHUNK = 64 * 1024

export interface ClientObject {
  readonly bytes: Buffer
  readonly id: Address
  readonly manifest: Manifest
  readonly encoded: Uint8Array
  readonly chunks: readonly { readonly id: Address; readonly bytes: Buffer }[]
}

/** An object of several chunks, with its manifest. */
export function clientObject(size: number, seed = 1): ClientObject {
  return clientObjectOf(noise(size, seed))
}

export function clientObjectOf(bytes: Buffer, chunkSize = CHUNK): ClientObject {
  const builder = new ManifestBuilder(chunkSize)
  const chunks = []
  for (let at = 0; at < bytes.length; at += chunkSize) {
    const chunk = bytes.subarray(at, at + chunkSize)
    builder.add(chunk)
    chunks.push({ id: addressOf(chunk), bytes: chunk })
  }
  const built = builder.finish()
  if (built.kind !== 'chunked') throw new TypeError('one chunk needs no manifest')
  return { bytes, id: built.id, manifest: built.manifest, encoded: encodeManifest(built.manifest), chunks }
}

/** Chunks as `POST /c` takes them. */
export function frames(chunks: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    chunks.flatMap((chunk) => {
      const head = Buffer.alloc(4)
      head.writeUInt32BE(chunk.length)
      return [head, chunk]
    }),
  )
}
