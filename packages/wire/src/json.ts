/**
 * JSON that is signed or hashed: I-JSON (RFC 7493) held strictly, so that a text has one reading, and the canonical
 * form of RFC 8785, so that a value has one text.
 *
 * Numbers are integers within ±(2⁵³ − 1), written without fraction or exponent; other readings differ between
 * languages. A signer stores the canonical bytes and verifies those, never a second serialisation.
 */
import { CairnError } from '@cairn/kernel'
import canonicalize from 'canonicalize'

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** Bounds recursion on hostile input; far above any document of ours. */
const MAX_DEPTH = 64

/** The value of a strict I-JSON text in UTF-8; the error says what is wrong, and at which character. */
export function parseJson(bytes: Uint8Array): JsonValue {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CairnError('Malformed', 'JSON must be UTF-8; these bytes are not.', { cause })
  }
  return new JsonReader(text).readDocument()
}

/** The canonical bytes (RFC 8785) of a value that `parseJson` could have returned. */
export function canonicalJson(value: JsonValue): Uint8Array {
  assertStrict(value, 0)
  return new TextEncoder().encode(canonicalize(value) ?? '')
}

function assertStrict(value: JsonValue, depth: number): void {
  if (depth > MAX_DEPTH) throw refused(`nesting deeper than ${MAX_DEPTH} levels`)
  if (typeof value === 'number') assertInteger(value)
  else if (typeof value === 'string') assertWellFormed(value)
  else if (isList(value)) for (const item of value) assertStrict(item, depth + 1)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      assertKey(key)
      assertStrict(member, depth + 1)
    }
  } else if (value !== null && typeof value !== 'boolean') throw refused(`a value of type ${typeof value}`)
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)

function assertInteger(value: number): void {
  if (!Number.isSafeInteger(value)) throw refused(`the number ${value}: only integers within ±(2^53 − 1) are exact`)
  if (Object.is(value, -0)) throw refused('the number -0')
}

function assertWellFormed(value: string): void {
  if (!value.isWellFormed()) throw refused('a string with a lone surrogate')
}

function assertKey(key: string): void {
  assertWellFormed(key)
  if (key === '__proto__') throw refused('the key "__proto__"')
}

function refused(what: string): CairnError {
  return new CairnError('Malformed', `Strict JSON refuses ${what}.`)
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/

class JsonReader {
  readonly #text: string
  #position = 0
  readonly #space = /[ \t\n\r]*/y
  /** Wider than any number, so that the error can quote what was written. */
  readonly #number = /-?\d[\d.eE+-]*/y
  readonly #literal = /true|false|null/y

  constructor(text: string) {
    this.#text = text
  }

  readDocument(): JsonValue {
    const value = this.#readValue(0)
    this.#take(this.#space)
    if (this.#position < this.#text.length) throw this.#unexpected('the end of the document')
    return value
  }

  #readValue(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw refused(`nesting deeper than ${MAX_DEPTH} levels`)
    this.#take(this.#space)
    const first = this.#text[this.#position]
    if (first === '{') return this.#readObject(depth)
    if (first === '[') return this.#readArray(depth)
    return first === '"' ? this.#readString() : this.#readScalar()
  }

  #readObject(depth: number): JsonValue {
    const object: Record<string, JsonValue> = {}
    if (this.#opensEmpty('}')) return object
    do {
      this.#take(this.#space)
      if (this.#text[this.#position] !== '"') throw this.#unexpected('a key in double quotes')
      const key = this.#readString()
      assertKey(key)
      if (Object.hasOwn(object, key)) throw refused(`the key ${JSON.stringify(key)} given twice`)
      this.#take(this.#space)
      if (!this.#takeCharacter(':')) throw this.#unexpected('":"')
      object[key] = this.#readValue(depth + 1)
    } while (this.#continues('}'))
    return object
  }

  #readArray(depth: number): JsonValue {
    const items: JsonValue[] = []
    if (this.#opensEmpty(']')) return items
    do items.push(this.#readValue(depth + 1))
    while (this.#continues(']'))
    return items
  }

  /** Steps over the opening bracket; true if the closing one follows at once. */
  #opensEmpty(close: string): boolean {
    this.#position++
    this.#take(this.#space)
    return this.#takeCharacter(close)
  }

  #continues(close: string): boolean {
    this.#take(this.#space)
    if (this.#takeCharacter(',')) return true
    if (this.#takeCharacter(close)) return false
    throw this.#unexpected(`"," or "${close}"`)
  }

  #readString(): string {
    const start = this.#position
    let end = start + 1
    while (end < this.#text.length && this.#text[end] !== '"') end += this.#text[end] === '\\' ? 2 : 1
    const value = decodeString(this.#text.slice(start, end + 1))
    if (value === undefined) throw this.#unexpected('a closed string with valid escapes and no control characters')
    assertWellFormed(value)
    this.#position = end + 1
    return value
  }

  #readScalar(): JsonValue {
    const token = this.#take(this.#number)
    if (token !== undefined) {
      if (!INTEGER.test(token)) throw refused(`the number ${token}: only plain integers are exact`)
      const value = Number(token)
      assertInteger(value)
      return value
    }
    const literal = this.#take(this.#literal)
    if (literal === undefined) throw this.#unexpected('a value')
    return literal === 'null' ? null : literal === 'true'
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.#text)?.[0]
    this.#position += match?.length ?? 0
    return match
  }

  #takeCharacter(character: string): boolean {
    const found = this.#text[this.#position] === character
    if (found) this.#position++
    return found
  }

  #unexpected(wanted: string): CairnError {
    const found = this.#text[this.#position]
    const place = found === undefined ? 'the text ends' : `there is ${JSON.stringify(found)}`
    return new CairnError('Malformed', `JSON: expected ${wanted} at character ${this.#position}, but ${place}.`)
  }
}

/** The string a quoted token stands for, judged by the host's parser. */
function decodeString(token: string): string | undefined {
  try {
    const value: unknown = JSON.parse(token)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
