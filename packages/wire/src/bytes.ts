/** Byte strings: comparing them, and their hexadecimal and base64url spellings, of which each value has exactly one. */
import { CairnError } from '@cairn/kernel'
import { bytesToHex } from '@noble/hashes/utils.js'
import { base64url } from 'multiformats/bases/base64'

/** The same bytes without the prototype of Node's Buffer, so that callers on Node and in a browser see one type. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Frees the memory behind the bytes at once, if they are all that is in it; they must not be read again. The garbage
 * collector is in no hurry with buffers: of a long stream, a hundred megabytes would wait for it.
 */
export function freeBytes({ byteLength, buffer }: Uint8Array): void {
  if (byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Lowercase hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return bytesToHex(bytes)
}

/** Order of two byte strings, as `Array.prototype.sort` wants it: byte by byte, a prefix before what it begins. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length)
  for (let index = 0; index < shared; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && compareBytes(a, b) === 0
}

/** Whether two secrets are equal, in a time that does not depend on where they differ. */
export function equalSecrets(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}

/** Base64url without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return base64url.baseEncode(bytes)
}

/** The bytes of a base64url text; padding, foreign characters and stray trailing bits are refused. */
export function fromBase64url(text: string): Uint8Array {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw notBase64url()
  try {
    const bytes = base64url.baseDecode(text)
    // The library refuses stray bits today; that it goes on doing so is not ours to assume.
    if (toBase64url(bytes) === text) return bytes
  } catch (cause) {
    throw notBase64url(cause)
  }
  throw notBase64url()
}

function notBase64url(cause?: unknown): CairnError {
  return new CairnError('Malformed', 'This is not unpadded base64url with all trailing bits zero.', { cause })
}
