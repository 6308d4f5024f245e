/** The fields of an answer, each of the form it must have, else `bad_answer`. */
import { type Address, parseAddress } from '@cairn/wire'
import { badAnswer } from './response-body.ts'

export type Fields = Readonly<Record<string, unknown>>

export function objectOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw badAnswer('is not a JSON object where one must be')
}

export function text(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value === 'string') return value
  throw badAnswer(`has no text ${name}`)
}

export function amount(fields: Fields, name: string): number {
  const value = fields[name]
  if (typeof value === 'number' && value >= 0) return value
  throw badAnswer(`has no amount ${name}`)
}

export function choice<const T extends string>(fields: Fields, name: string, choices: readonly T[]): T {
  const found = choices.find((value) => value === fields[name])
  if (found !== undefined) return found
  throw badAnswer(`has another ${name} than ${choices.join(', ')}`)
}

function list(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name]
  if (Array.isArray(value)) return value as readonly unknown[]
  throw badAnswer(`has no list ${name}`)
}

export function texts(fields: Fields, name: string): readonly string[] {
  return list(fields, name).map((value) => {
    if (typeof value === 'string') return value
    throw badAnswer(`has something else than texts in ${name}`)
  })
}

export function rows(fields: Fields, name: string): readonly Fields[] {
  return list(fields, name).map(objectOf)
}

export function address(fields: Fields, name: string): Address {
  try {
    return parseAddress(text(fields, name))
  } catch (cause) {
    throw badAnswer(`has no address ${name}`, cause)
  }
}
