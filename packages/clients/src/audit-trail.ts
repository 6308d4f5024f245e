/**
 * The audit trail of interop: lines of canonical JSON, each with the hash of the one before.
 *
 *     {seq:1, prev:b3:000…, …} ◀── {seq:2, prev:b3 of line 1, …} ◀── {seq:3, prev:b3 of line 2, …}      head = b3 of line 3
 *                                                                                  │
 *     registry: audit_head {head, count: 2} vouches for lines 1 and 2 ─────────────┘
 *
 * A line that was edited, dropped or moved breaks the chain where it was; what was cut off at the end shows against an
 * anchor.
 */
import { CairnError } from '@cairn/kernel'
import {
  type Address,
  addressOf,
  canonicalJson,
  equalBytes,
  type JsonObject,
  parseAddress,
  parseJson,
} from '@cairn/wire'

export interface AuditFacts {
  /** Wall clock, Unix milliseconds. */
  readonly at: number
  readonly decision: 'allow' | 'deny'
  /** `adopt`: the operator gave up lines that were lost; they are listed in `delivery`, as `4-5 9-12`. */
  readonly action: 'webhook' | 'put' | 'adopt'
  /** The code of a refusal, `duplicate` for what was allowed before, else empty. */
  readonly reason: string
  readonly provider: string
  readonly event: string
  /** What the provider calls the delivery. */
  readonly delivery: string
  /** The body, where it was kept. */
  readonly b3: Address | null
  /** Which secret verified it, never the secret. */
  readonly secret: string
  readonly corr_id: string
}

export interface AuditLine extends AuditFacts {
  /** From 1 on, without gaps. */
  readonly seq: number
  /** The hash of the line before. */
  readonly prev: Address
}

/** What the first line has before it. */
export const NO_LINE = parseAddress(`b3:${'0'.repeat(64)}`)

/** The bytes that are hashed, kept and shown. */
export function encodeAuditLine(line: AuditLine): Uint8Array {
  return canonicalJson({ ...line })
}

export function auditLineHash(bytes: Uint8Array): Address {
  return addressOf(bytes)
}

/** The line these bytes are; `Malformed` unless they are exactly its bytes. */
export function decodeAuditLine(bytes: Uint8Array): AuditLine {
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notALine()
  const fields = value as JsonObject
  const text = (name: keyof AuditFacts): string => {
    const field = fields[name]
    if (typeof field !== 'string') throw notALine()
    return field
  }
  const { seq, prev, at, decision, action, b3 } = fields
  if (typeof seq !== 'number' || typeof at !== 'number' || typeof prev !== 'string') throw notALine()
  if (decision !== 'allow' && decision !== 'deny') throw notALine()
  if (action !== 'webhook' && action !== 'put' && action !== 'adopt') throw notALine()
  if (b3 !== null && typeof b3 !== 'string') throw notALine()
  const line: AuditLine = {
    seq,
    prev: parseAddress(prev),
    at,
    decision,
    action,
    reason: text('reason'),
    provider: text('provider'),
    event: text('event'),
    delivery: text('delivery'),
    b3: b3 === null ? null : parseAddress(b3),
    secret: text('secret'),
    corr_id: text('corr_id'),
  }
  if (!equalBytes(encodeAuditLine(line), bytes)) throw notALine()
  return line
}

function notALine(): CairnError {
  return new CairnError('Malformed', 'These bytes are not a line of an audit trail.')
}

/** A head of the chain that the registry holds. */
export interface AuditAnchor {
  readonly head: Address
  readonly count: number
}

export type AuditVerdict =
  | {
      readonly tag: 'sound'
      /** Lines the chain has had, removed ones included. */
      readonly count: number
      /** The first line that is still here. */
      readonly first: number
      /** The registry vouches for every line up to this one. */
      readonly anchored: number
      readonly head: Address
      /** Lines that were lost and given up, by a line of the chain itself. */
      readonly lost: readonly LineRange[]
    }
  | { readonly tag: 'broken'; readonly seq: number; readonly why: string }

/** Lines `first` to `last`, both included. */
export interface LineRange {
  readonly first: number
  readonly last: number
}

export function formatLineRanges(ranges: readonly LineRange[]): string {
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(' ')
}

/** What a line says that gives up others; nothing where it says none of it. */
function rangesIn({ action, delivery }: AuditLine): LineRange[] {
  if (action !== 'adopt') return []
  return delivery.split(' ').flatMap((text) => {
    const [, first, last = first] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text) ?? []
    return first === undefined ? [] : [{ first: Number(first), last: Number(last) }]
  })
}

/** All that the lines of the chain give up. A line that cannot be read gives up nothing, and is found where it stands. */
function givenUpIn(lines: readonly Uint8Array[]): LineRange[] {
  return lines.flatMap((bytes) => {
    try {
      return rangesIn(decodeAuditLine(bytes))
    } catch {
      return []
    }
  })
}

/** Holds lines, in the order they are shown, against each other and against what the registry holds. */
export function verifyAudit(shown: Iterable<Uint8Array>, anchors: readonly AuditAnchor[]): AuditVerdict {
  const lines = [...shown]
  const heads = new Map(anchors.map(({ head, count }) => [count, head]))
  const givenUp = givenUpIn(lines)
  const lost: LineRange[] = []
  let [first, seq, anchored]: [number | undefined, number, number] = [undefined, 0, 0]
  let head = NO_LINE
  for (const bytes of lines) {
    const expected = seq + 1
    let line: AuditLine
    try {
      line = decodeAuditLine(bytes)
    } catch {
      return { tag: 'broken', seq: expected, why: 'is not a line in its one form: it was edited' }
    }
    if (first === undefined) {
      first = line.seq
      head = heads.get(line.seq - 1) ?? line.prev
      if (first === 1 && head !== NO_LINE) return { tag: 'broken', seq: 1, why: 'does not begin the chain' }
    } else if (line.seq > expected && isGivenUp(givenUp, expected, line.seq - 1)) {
      lost.push({ first: expected, last: line.seq - 1 })
      // What stood before it is gone with it; only the registry can still say what that was.
      head = heads.get(line.seq - 1) ?? line.prev
    } else if (line.seq !== expected) {
      return { tag: 'broken', seq: expected, why: `is missing or out of order: line ${line.seq} stands there` }
    }
    if (line.prev !== head) {
      return { tag: 'broken', seq: line.seq, why: 'does not follow the line before it: one of the two was edited' }
    }
    seq = line.seq
    head = auditLineHash(bytes)
    const vouched = heads.get(seq)
    if (vouched === undefined) continue
    if (vouched !== head) return { tag: 'broken', seq, why: 'is not the line the registry vouches for' }
    anchored = seq
  }
  const furthest = Math.max(0, ...heads.keys())
  if (furthest > seq)
    return { tag: 'broken', seq: seq + 1, why: `is missing: the registry vouches for ${furthest} lines` }
  return { tag: 'sound', count: seq, first: first ?? seq + 1, anchored, head, lost }
}

function isGivenUp(ranges: readonly LineRange[], first: number, last: number): boolean {
  return ranges.some((range) => range.first <= first && range.last >= last)
}
