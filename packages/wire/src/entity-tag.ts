/** Entity tags (RFC 9110 §8.8.3) and lists of them, read by the grammar: a comma may stand inside a tag. */
import type { Address } from './address.ts'

export interface EntityTag {
  readonly isWeak: boolean
  /** What stands between the quotes. */
  readonly opaque: string
}

/** `"…"` or `W/"…"`; inside the quotes anything visible but a quote, and bytes from 0x80 on. */
const ENTITY_TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/

/** The strong tag of an object: its address in quotes. */
export function entityTagOf(address: Address): string {
  return `"${address}"`
}

export function parseEntityTag(text: string): EntityTag | undefined {
  const match = ENTITY_TAG.exec(text)
  return match === null ? undefined : { isWeak: match[1] !== undefined, opaque: match[2] ?? '' }
}

/** The value of `If-Match` or `If-None-Match`: `*`, a list of one or more tags, or nothing if it is neither. */
export function parseEntityTags(text: string): '*' | readonly EntityTag[] | undefined {
  const trimmed = trimSpace(text)
  if (trimmed === '*') return '*'
  const tags: EntityTag[] = []
  for (const member of splitOutsideQuotes(trimmed)) {
    const trimmedMember = trimSpace(member)
    // A recipient ignores empty members of a list (§5.6.1.2).
    if (trimmedMember === '') continue
    const tag = parseEntityTag(trimmedMember)
    if (tag === undefined) return undefined
    tags.push(tag)
  }
  return tags.length === 0 ? undefined : tags
}

function splitOutsideQuotes(text: string): string[] {
  const members: string[] = []
  let start = 0
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '"') isQuoted = !isQuoted
    if (text[index] === ',' && !isQuoted) {
      members.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...members, text.slice(start)]
}

/** `text` without spaces and tabs around it (nothing else is white space in a header), in linear time. */
export function trimSpace(text: string): string {
  let start = 0
  while (isSpace(text[start])) start++
  return trimSpaceEnd(text.slice(start))
}

export function trimSpaceEnd(text: string): string {
  let end = text.length
  while (isSpace(text[end - 1])) end--
  return text.slice(0, end)
}

const isSpace = (character: string | undefined): boolean => character === ' ' || character === '\t'

/** Equal and both strong: the bytes are the same. */
export function matchesStrongly(a: EntityTag, b: EntityTag): boolean {
  return !a.isWeak && !b.isWeak && a.opaque === b.opaque
}

/** Equal but for strength: good enough to spare a download. */
export function matchesWeakly(a: EntityTag, b: EntityTag): boolean {
  return a.opaque === b.opaque
}
