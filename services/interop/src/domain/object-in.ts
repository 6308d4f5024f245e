/**
 * Bytes into storage, however many, with two chunks in memory at most: one that fills and one on its way.
 *
 *     pieces ─▶ │ chunk n fills │ chunk n−1 goes to storage │         the first waits for the second: an object of one
 *                                                                    chunk has no manifest and is put whole
 */
import type { CallContext, StorageClient } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { type Address, DEFAULT_CHUNK_BYTES, ManifestBuilder } from '@cairn/wire'

/** What storage takes in one request. */
export const WHOLE_BYTES_MAX = 1024 * 1024

export interface StreamedObject {
  readonly address: Address
  readonly size: number
  readonly chunks: number
}

/** Stores bytes that are here already. */
export async function storeObject(
  storage: StorageClient,
  bytes: Uint8Array,
  type: string,
  context: CallContext,
): Promise<Address> {
  if (bytes.length <= WHOLE_BYTES_MAX) return (await storage.put(bytes, type, context)).address
  const { address } = await storeStream(storage, [bytes], { type, bytesMax: bytes.length }, context)
  return address
}

/** Stores bytes as they come; more than `bytesMax` is `TooLarge`. */
export async function storeStream(
  storage: StorageClient,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { type, bytesMax }: { readonly type: string; readonly bytesMax: number },
  context: CallContext,
): Promise<StreamedObject> {
  const upload = context.corrId ?? 'put'
  // A chunk is named by itself, not by the object: what narrows to the object holds for the commit.
  const { caveats: _whole, ...each } = context
  const builder = new ManifestBuilder()
  let [filling, spare] = [new Uint8Array(DEFAULT_CHUNK_BYTES), new Uint8Array(DEFAULT_CHUNK_BYTES)]
  let [filled, size, chunks] = [0, 0, 0]
  let sending: Promise<void> = Promise.resolve()
  const send = async (): Promise<void> => {
    const chunk = filling.subarray(0, filled)
    const id = builder.add(chunk)
    chunks += 1
    // The other buffer is free once what it held has arrived.
    await sending
    sending = storage.putChunk(id, chunk, upload, each)
    sending.catch(ignore)
    ;[filling, spare] = [spare, filling]
    filled = 0
  }
  for await (const piece of pieces) {
    size += piece.length
    if (size > bytesMax) throw tooLarge(bytesMax)
    for (let at = 0; at < piece.length; ) {
      if (filled === filling.length) await send()
      const taken = Math.min(piece.length - at, filling.length - filled)
      filling.set(piece.subarray(at, at + taken), filled)
      filled += taken
      at += taken
    }
  }
  if (chunks === 0) {
    const { address } = await storage.put(filling.slice(0, filled), type, context)
    return { address, size, chunks: 1 }
  }
  await send()
  await sending
  const built = builder.finish()
  if (built.kind === 'chunked') await storage.commit(built.manifest, type, upload, context)
  return { address: built.id, size, chunks }
}

function tooLarge(bytesMax: number): CairnError {
  return new CairnError('TooLarge', `An object has at most ${bytesMax} bytes here; see limits.max_put_bytes.`)
}

function ignore(): void {}
