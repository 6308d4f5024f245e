/** What keeps somebody else's bytes from acting as a page of ours. */
import { CODINGS, type Coding } from '@cairn/platform'

// Which codings a client takes (RFC 9110 §12.5.3).

/** The smallest bodies first. */
const PREFERRED: readonly Coding[] = ['br', 'zstd', 'gzip']

/** Whether a body in this coding may be sent to a client that says this. */
export function accepts(acceptEncoding: string | undefined, coding: string): boolean {
  if (acceptEncoding === undefined) return false
  let byStar = false
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = member.split(';').map((part) => part.trim())
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter))
    if (name === coding || (name === 'x-gzip' && coding === 'gzip')) return !isRefused
    if (name === '*') byStar = !isRefused
  }
  return byStar
}

/** The one coding an upstream is asked for on behalf of such a client. */
export function preferredCoding(acceptEncoding: string | undefined): Coding | 'identity' {
  return PREFERRED.find((coding) => accepts(acceptEncoding, coding)) ?? 'identity'
}

/** The coding a body is in, if it is one that can be undone. */
export function knownCoding(contentEncoding: string | undefined): Coding | undefined {
  const name = contentEncoding?.trim().toLowerCase()
  return CODINGS.find((coding) => coding === name || (coding === 'gzip' && name === 'x-gzip'))
}

/** On every answer: no guessing of types, no address in a referrer, and others may show it. */
const COMMON: readonly string[] = [
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Resource-Policy',
  'cross-origin',
]

/** Pages may be shown, with their own images and styles, but run nothing and are of no origin. */
export const SANDBOXED: readonly string[] = [...COMMON, 'Content-Security-Policy', 'sandbox']

/** Bytes that are nobody's page. */
export const INERT: readonly string[] = [...COMMON, 'Content-Security-Policy', "sandbox; default-src 'none'"]

/** A site on an origin of its own runs as what it is. */
export const OWN_ORIGIN: readonly string[] = ['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer']
