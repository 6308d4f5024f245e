/** The two ways in which most of our formats spell values. */
import { canonicalJson, decodeCbor, encodeCbor, type JsonObject, type JsonValue, parseJson } from '@cairn/wire'
import type { Shape } from '../reshape.ts'

export const JSON_SHAPE: Shape = { read: parseJson, write: (value) => canonicalJson(value as JsonValue) }
export const CBOR_SHAPE: Shape = { read: decodeCbor, write: encodeCbor }

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
