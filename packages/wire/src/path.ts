/** Request paths in one spelling, so that two spellings of a path cannot be treated differently by two checks. */

/** `%2f %5c %2e %00`: an encoded separator, dot or NUL changes meaning when somebody decodes it later. */
const AMBIGUOUS_ESCAPE = /%(?:2f|5c|2e|00)/i
const UNRESERVED = /^[A-Za-z0-9._~-]$/
/** The characters of a URI path, and escapes. */
const PATH = /^(?:\/|[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+$/

/**
 * The normal form of a path without query (unreserved characters unescaped, escapes in upper case), or nothing if it
 * is ambiguous: not absolute, with `//` or dot segments, with an escaped separator, dot or NUL, or not a URI path.
 */
export function normalisePath(path: string): string | undefined {
  if (!path.startsWith('/') || !PATH.test(path) || AMBIGUOUS_ESCAPE.test(path) || path.includes('//')) return undefined
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) return undefined
  return path.replace(/%[0-9A-Fa-f]{2}/g, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    return UNRESERVED.test(character) ? character : escape.toUpperCase()
  })
}

/** Whether `path` is `prefix` or lies below it, segment by segment; both are in normal form. */
export function isUnder(path: string, prefix: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`)
}
