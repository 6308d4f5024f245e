/**
 * Strict reading of JSON objects: a field that is missing, unknown or of another form is refused with a sentence that
 * names it. Whatever is read here is later hashed or signed, so nothing is ignored and nothing is filled in.
 */
import { CairnError } from '@cairn/kernel'
import { type Address, fromBase64url, type JsonObject, type JsonValue, parseAddress } from '@cairn/wire'

/** The form of a text field, and how a refusal describes it. */
export interface TextRule {
  readonly pattern: RegExp
  readonly says: string
}

/** Printable ASCII, or any text without control characters where people write it. */
export const SHORT_TEXT: TextRule = {
  pattern: /^[^\p{Cc}]{1,256}$/u,
  says: '1 to 256 characters without control characters',
}

/** The fields of one JSON object; every field has to be declared. */
export class FieldReader {
  readonly #object: JsonObject
  readonly #what: string

  /** `what` begins the sentences of refusals: "The item site@1.0". */
  constructor(value: JsonValue | undefined, what: string, required: readonly string[], optional: readonly string[]) {
    if (!isJsonObject(value)) throw malformed(`${what} must be a JSON object.`)
    this.#object = value
    this.#what = what
    const known = [...required, ...optional]
    const unknown = Object.keys(value).find((name) => !known.includes(name))
    if (unknown !== undefined) {
      throw malformed(`${what} has the unknown field ${JSON.stringify(unknown)}; it may have ${known.join(', ')}.`)
    }
    const missing = required.find((name) => !Object.hasOwn(value, name))
    if (missing !== undefined) throw malformed(`${what} lacks the field ${JSON.stringify(missing)}.`)
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name)
  }

  /** The field as it stands; null where an optional field is absent. */
  value(name: string): JsonValue {
    return this.#object[name] ?? null
  }

  text(name: string, rule: TextRule): string {
    const value = this.value(name)
    if (typeof value === 'string' && rule.pattern.test(value)) return value
    throw this.refused(name, `must be ${rule.says}`)
  }

  address(name: string): Address {
    const value = this.value(name)
    if (typeof value !== 'string') throw this.refused(name, 'must be an address (b3:<64 hex>)')
    try {
      return parseAddress(value)
    } catch (cause) {
      throw this.refused(name, cause instanceof Error ? `is refused: ${cause.message.slice(0, -1)}` : 'is refused')
    }
  }

  /** A whole number within bounds, both included. */
  integer(name: string, from: number, to: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.value(name)
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= from && value <= to) return value
    throw this.refused(name, `must be a whole number from ${from} to ${to}`)
  }

  list(name: string, from: number, to: number): readonly JsonValue[] {
    const value = this.value(name)
    if (isJsonList(value) && value.length >= from && value.length <= to) return value
    throw this.refused(name, `must be a list of ${from} to ${to} entries`)
  }

  /** The field's bytes in base64url, of one of the given lengths; the text itself is what is kept. */
  base64url(name: string, lengths: readonly number[]): string {
    const value = this.value(name)
    const says = `must be unpadded base64url of ${lengths.join(' or ')} bytes`
    if (typeof value !== 'string' || !lengths.includes(decodedLength(value))) throw this.refused(name, says)
    return value
  }

  /** The constant a document declares itself by. */
  constant(name: string, expected: string): void {
    if (this.value(name) !== expected) throw this.refused(name, `must be ${JSON.stringify(expected)}`)
  }

  refused(name: string, problem: string): CairnError {
    return malformed(`${this.#what}: the field ${JSON.stringify(name)} ${problem}.`)
  }
}

function decodedLength(text: string): number {
  try {
    return fromBase64url(text).length
  } catch {
    return -1
  }
}

function isJsonList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function malformed(detail: string, code?: string): CairnError {
  return new CairnError('Malformed', detail, code === undefined ? {} : { code })
}
