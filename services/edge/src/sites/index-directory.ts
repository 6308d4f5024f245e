/** What a directory costs to read, on a worker thread. */
import { treeOffsets } from '@cairn/wire'

export function indexDirectory(bytes: Uint8Array): Uint32Array<ArrayBuffer> {
  return treeOffsets(bytes)
}
