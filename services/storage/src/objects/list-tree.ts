/** What a directory refers to, on a worker thread: a large one takes half a second to decode. */
import { decodeTree, digestOf } from '@cairn/wire'

/** A byte that says whether it is a directory, and the digest. */
export const REFERENCE_BYTES = 33

/** All that the directory names but links, packed. Anything but a valid directory is `Malformed`. */
export function listTree(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const entries = decodeTree(bytes).filter((entry) => entry.kind !== 'link')
  const packed = new Uint8Array(entries.length * REFERENCE_BYTES)
  entries.forEach(({ kind, id }, at) => {
    packed[at * REFERENCE_BYTES] = kind === 'tree' ? 1 : 0
    packed.set(digestOf(id), at * REFERENCE_BYTES + 1)
  })
  return packed
}
