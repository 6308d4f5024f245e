/** What keeps somebody else's bytes from acting as a page of ours. */

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
