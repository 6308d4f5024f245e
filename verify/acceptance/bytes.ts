/** Contents that do not compress, the same for the same size and seed. */
import { createCipheriv, createHash } from 'node:crypto'

export function bytesOf(size: number, seed: string | number = size): Buffer {
  const key = createHash('sha256').update(String(seed)).digest()
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size))
}
