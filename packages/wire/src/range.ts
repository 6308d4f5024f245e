/**
 * Byte ranges (RFC 9110 §14): what a Range header asks of a representation of a known size.
 *
 *   bytes=0-99          first and last position, inclusive; a last position past the end is the end
 *   bytes=100-          from there to the end
 *   bytes=-100          the last 100 bytes
 *   bytes=0-0,-1        several; up to 16 that do not overlap are answered as multipart/byteranges
 */
import { matchesStrongly, parseEntityTag, trimSpace, trimSpaceEnd } from './preconditions.ts'

/** Positions are inclusive on both ends, as in Content-Range. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

export type RangeOutcome =
  /** Answer 200 with everything: no Range, one that is not valid, or one not worth honouring. */
  | { readonly kind: 'whole' }
  | { readonly kind: 'single'; readonly range: ByteRange }
  | { readonly kind: 'multiple'; readonly ranges: readonly ByteRange[] }
  // Answer 416 with `Content-Range: bytes */size`.
  | { readonly kind: 'unsatisfiable' }

export interface RangeRequest {
  readonly method: string
  readonly range?: string | undefined
  readonly ifRange?: string | undefined
}

/** More parts cost more to frame than they save, and are the shape of an attack. */
const MAX_RANGES = 16

const WHOLE: RangeOutcome = { kind: 'whole' }

/** Which bytes to answer with, of a representation with this entity tag and size, once preconditions passed. */
export function selectRange(request: RangeRequest, etag: string | undefined, size: number): RangeOutcome {
  if (request.method !== 'GET' || request.range === undefined) return WHOLE
  if (request.ifRange !== undefined && !holdsIfRange(request.ifRange, etag)) return WHOLE
  return evaluateRange(request.range, size)
}

/**
 * If-Range holds only for the same strong tag (§13.1.5). A date never holds: nothing here knows that a representation
 * did not change twice within a second, which is what would make its date a strong validator (§8.8.2.2).
 */
function holdsIfRange(header: string, etag: string | undefined): boolean {
  const [wanted, current] = [parseEntityTag(trimSpace(header)), parseEntityTag(etag ?? '')]
  return wanted !== undefined && current !== undefined && matchesStrongly(wanted, current)
}

/** What a Range header asks of `size` bytes. */
export function evaluateRange(header: string, size: number): RangeOutcome {
  const specs = parseRangeSet(header)
  if (specs === undefined || specs.length > MAX_RANGES) return WHOLE
  // A suffix of an empty representation is satisfiable, but no Content-Range could describe it.
  if (size === 0 && specs.some((spec) => spec.kind === 'suffix' && spec.length > 0)) return WHOLE
  const ranges = specs.map((spec) => resolve(spec, size)).filter((range) => range !== undefined)
  const [only] = ranges
  if (only === undefined) return { kind: 'unsatisfiable' }
  if (ranges.length === 1) return { kind: 'single', range: only }
  return overlaps(ranges) ? WHOLE : { kind: 'multiple', ranges }
}

type RangeSpec =
  | { readonly kind: 'positions'; readonly first: number; readonly last: number }
  | { readonly kind: 'suffix'; readonly length: number }

/** The members of `bytes=…`, or nothing if the header is not a valid set of byte ranges and must be ignored. */
function parseRangeSet(header: string): readonly RangeSpec[] | undefined {
  const match = /^bytes=(.*)$/i.exec(trimSpace(header))
  if (match === null) return undefined
  const members = (match[1] ?? '').split(',')
  const specs: RangeSpec[] = []
  for (const [index, member] of members.entries()) {
    // White space belongs to the commas, so none may stand between "=" and the first member.
    const text = index === 0 ? trimSpaceEnd(member) : trimSpace(member)
    if (text === '') continue
    const spec = parseRangeSpec(text)
    if (spec === undefined) return undefined
    specs.push(spec)
  }
  return specs.length === 0 ? undefined : specs
}

function parseRangeSpec(text: string): RangeSpec | undefined {
  const match = /^(\d*)-(\d*)$/.exec(text)
  if (match === null) return undefined
  const [first, last] = [match[1] ?? '', match[2] ?? '']
  if (first === '') return last === '' ? undefined : { kind: 'suffix', length: toNumber(last) }
  if (last !== '' && compareDecimal(last, first) < 0) return undefined
  return { kind: 'positions', first: toNumber(first), last: last === '' ? Number.MAX_SAFE_INTEGER : toNumber(last) }
}

/** Positions past 2⁵³ − 1 are past the end of anything, so they may all be the same. */
const toNumber = (digits: string): number => Math.min(Number(digits), Number.MAX_SAFE_INTEGER)

/** Compares decimal numbers of any length exactly. */
function compareDecimal(a: string, b: string): number {
  const [x, y] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')]
  if (x.length !== y.length) return x.length - y.length
  return x < y ? -1 : Number(x > y)
}

function resolve(spec: RangeSpec, size: number): ByteRange | undefined {
  switch (spec.kind) {
    case 'positions':
      return spec.first < size ? { first: spec.first, last: Math.min(spec.last, size - 1) } : undefined
    case 'suffix':
      return spec.length === 0 ? undefined : { first: Math.max(0, size - spec.length), last: size - 1 }
  }
}

function overlaps(ranges: readonly ByteRange[]): boolean {
  const ordered = [...ranges].sort((a, b) => a.first - b.first)
  return ordered.some((range, index) => index > 0 && range.first <= (ordered[index - 1]?.last ?? -1))
}

/** The Content-Range of one part, or of a 416 when no range is given. */
export function contentRange(size: number, range?: ByteRange): string {
  return range === undefined ? `bytes */${size}` : `bytes ${range.first}-${range.last}/${size}`
}
