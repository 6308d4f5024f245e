/**
 * Directives of Cache-Control (RFC 9111 §5.2) and of CDN-Cache-Control (RFC 9213), which a cache like this one obeys
 * instead where it is sent and valid.
 */

/** Past this, a number of seconds means "as long as you like" (§1.2.2). */
export const SECONDS_MAX = 2 ** 31

type Value = string | true

export class Directives {
  readonly #values: ReadonlyMap<string, Value>

  constructor(values: ReadonlyMap<string, Value>) {
    this.#values = values
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Nothing if it is not there; `invalid` if it is not a whole number of seconds. */
  seconds(name: string): number | 'invalid' | undefined {
    const value = this.#values.get(name)
    if (value === undefined) return undefined
    if (value === true || !/^\d+$/.test(value)) return 'invalid'
    return Math.min(Number(value), SECONDS_MAX)
  }

  /** Whether it stands for the whole response, and not for some fields of it only. */
  isPlain(name: string): boolean {
    return this.#values.get(name) === true
  }

  /** The fields a qualified directive names, in lower case: `no-cache="set-cookie"`. */
  fields(name: string): readonly string[] {
    const value = this.#values.get(name)
    if (typeof value !== 'string') return []
    return value
      .split(',')
      .map((field) => field.trim().toLowerCase())
      .filter((field) => field !== '')
  }
}

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

/** Of two directives with one name the first counts, as §4.2.1 allows. */
export function parseCacheControl(header: string | undefined): Directives {
  const values = new Map<string, Value>()
  for (const member of splitList(header ?? '')) {
    const mark = member.indexOf('=')
    const name = (mark === -1 ? member : member.slice(0, mark)).toLowerCase()
    if (name === '' || values.has(name.trim())) continue
    const isToken = TOKEN.test(name)
    // White space around "=" is no directive; where it would have limited something, the limit is taken at its worst.
    const value = mark === -1 ? true : unquoted(member.slice(mark + 1))
    values.set(name.trim(), isToken ? value : 'invalid')
  }
  return new Directives(values)
}

/** The members of a list, without empty ones; commas inside quotes are part of a member. */
export function splitList(text: string): string[] {
  const members: string[] = []
  let member = ''
  let isQuoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? ''
    if (isQuoted && character === '\\') {
      member += character + (text[at + 1] ?? '')
      at += 1
    } else if (character === ',' && !isQuoted) {
      members.push(member)
      member = ''
    } else {
      if (character === '"') isQuoted = !isQuoted
      member += character
    }
  }
  return [...members, member].map((each) => each.trim()).filter((each) => each !== '')
}

function unquoted(value: string): string {
  const inner = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1]
  return inner === undefined ? value : inner.replace(/\\(.)/g, '$1')
}

const SF_KEY = /^[a-z*][a-z0-9_.*-]*/
const SF_NUMBER = /^-?\d{1,15}(?:\.\d{1,3})?/
const SF_STRING = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/
const SF_TOKEN = /^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/
const SF_BOOLEAN = /^\?[01]/
const SF_FORMS = [SF_NUMBER, SF_STRING, SF_TOKEN, SF_BOOLEAN]

/** A dictionary of structured fields (RFC 9651); nothing if it is not one, or empty: then Cache-Control counts. */
export function parseTargeted(header: string | undefined): Directives | undefined {
  if (header === undefined) return undefined
  const values = new Map<string, Value>()
  let rest = header.trim()
  while (rest !== '') {
    const key = SF_KEY.exec(rest)?.[0]
    if (key === undefined) return undefined
    rest = rest.slice(key.length)
    let value: Value = true
    if (rest.startsWith('=')) {
      const item = bareItem(rest.slice(1))
      if (item === undefined) return undefined
      ;({ rest, value } = item)
    }
    // The last of two with one key counts.
    if (value === '?0') values.delete(key)
    else values.set(key, value === '?1' ? true : value)
    const after = skipParameters(rest)
    if (after === undefined) return undefined
    rest = after
  }
  return values.size === 0 ? undefined : new Directives(values)
}

function bareItem(text: string): { readonly value: string; readonly rest: string } | undefined {
  for (const form of SF_FORMS) {
    const match = form.exec(text)
    if (match === null) continue
    // A string is no number, whatever it holds: it keeps its quotes.
    return { value: match[0], rest: text.slice(match[0].length) }
  }
  return undefined
}

/** What comes after the parameters of a member and the comma that ends it; nothing if that is not so. */
function skipParameters(text: string): string | undefined {
  let rest = text
  while (rest.startsWith(';')) {
    rest = rest.slice(1).trimStart()
    const key = SF_KEY.exec(rest)?.[0]
    if (key === undefined) return undefined
    rest = rest.slice(key.length)
    if (!rest.startsWith('=')) continue
    const item = bareItem(rest.slice(1))
    if (item === undefined) return undefined
    ;({ rest } = item)
  }
  rest = rest.trimStart()
  if (rest === '') return ''
  if (!rest.startsWith(',')) return undefined
  rest = rest.slice(1).trimStart()
  return rest === '' ? undefined : rest
}
