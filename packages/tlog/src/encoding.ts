/** Texts of which each value has exactly one spelling: base64 with padding, key ids in hexadecimal, decimal numbers. */
import { CairnError } from '@cairn/kernel'

/** Standard base64 (RFC 4648, section 4), padded. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** The bytes of a base64 text; missing padding, white space, foreign characters and stray trailing bits are refused. */
export function fromBase64(text: string): Uint8Array {
  const bytes = decodeBase64(text)
  // The platform's decoder forgives spaces and stray bits: only a text that comes back unchanged was canonical.
  if (bytes === undefined || toBase64(bytes) !== text) {
    throw new CairnError('Malformed', 'This is not padded standard base64 with all trailing bits zero.')
  }
  return bytes
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text)
    const bytes = new Uint8Array(binary.length)
    for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at)
    return bytes
  } catch {
    return undefined
  }
}

/** A whole number from 0 to 2^53 − 1 in decimal without leading zeros. */
export function parseDecimal(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || String(value) !== text || value < 0) {
    throw new CairnError('Malformed', 'A number here is decimal, without leading zeros, and at most 2^53 − 1.')
  }
  return value
}

/** UTF-8 of `text`. A lone surrogate is refused: it would be signed as another character than it is. */
export function toUtf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new CairnError('Malformed', 'This text holds half of a surrogate pair.')
  return new TextEncoder().encode(text)
}

/** The text of UTF-8 bytes, byte order mark and all, so that encoding it again gives the same bytes. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CairnError('Malformed', 'These bytes are not UTF-8.', { cause })
  }
}
