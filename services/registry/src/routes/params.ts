/** What several routes take and answer, and the way of a write to the Committer. */

import { textOf } from '@cairn/api'
import type { RequestContext } from '@cairn/http'
import { CairnError, isKind } from '@cairn/kernel'
import { decodeBody, NAME_FORM, NAME_LENGTH_MAX, parseName } from '@cairn/names'
import type { IngressResponse } from '@cairn/transport'
import { evaluatePreconditions, type JsonValue } from '@cairn/wire'
import { z } from 'zod'
import type { Command, CommandAnswer } from '../domain/commands.ts'
import { lengthRequired, onlyReads } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { writeProblem } from '../tasks/health-gate.ts'

// Bodies of writes: strict JSON, or strict CBOR that spells the same, of a length that was said.

const FORMATS: ReadonlyMap<string, 'json' | 'cbor'> = new Map([
  ['application/json', 'json'],
  ['application/cbor', 'cbor'],
])

export function bodyOf({ headers, body }: RequestContext<unknown, unknown, Uint8Array>): JsonValue {
  if (headers.get('content-length') === undefined) throw lengthRequired()
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  const format = FORMATS.get(type)
  if (format === undefined) {
    const detail = 'The body must be JSON or CBOR, with Content-Type: application/json or application/cbor.'
    throw new CairnError('Malformed', detail, { code: 'unsupported_type', status: 415 })
  }
  return decodeBody(body, format)
}

/** Refusals that every write can meet. */
export const writeErrors = { Busy: 429, NotReady: 503, StorageBusy: 503, Timeout: 504, no_space: 507 } as const

/** Puts the command in line and waits for what becomes of it, no longer than the request may take. */
export async function askCommitter(
  parts: RegistryParts,
  context: RegistryRequestContext,
  command: Command,
): Promise<CommandAnswer> {
  requireWritable(parts)
  try {
    return await parts.intake.ask(command, context)
  } catch (error) {
    if (isKind(error, 'Timeout')) parts.runtime.metrics.count('io_timeouts_total', { op: 'commit' })
    throw error
  }
}

/** Writes that cannot succeed now are refused at once, before they wait for anything. */
function requireWritable(parts: RegistryParts): void {
  const why = writeProblem(parts)
  if (why === undefined) return
  throw onlyReads(why)
}

export type RegistryRequestContext = RequestContext<unknown, unknown, unknown>

export const proposalParams = z.strictObject({
  id: z.string().regex(/^p_[0-9a-f]{32}$/, 'must be a proposal id: p_ and 32 hexadecimal digits'),
})

/** `least` is what the document says; a handler that wants more than none says why. */
export const whole = (max: number, least = 0): z.ZodType<number> =>
  z
    .string()
    .regex(/^(?:0|[1-9]\d{0,15})$/, 'must be a whole number')
    .meta({ type: 'integer', minimum: least, maximum: max })
    .transform(Number)
    .refine((value) => value <= max, `must be at most ${max}`)

export const version = whole(Number.MAX_SAFE_INTEGER)
/** Of a tree that a proof continues. */
export const treeSize = whole(Number.MAX_SAFE_INTEGER, 1)
export const nameParams = z.strictObject({ name: textOf(NAME_FORM, parseName, { maxLength: NAME_LENGTH_MAX }) })

/** What a drive may do to whoever reads from it. */
export const driveErrors = { Integrity: 502, StorageBusy: 503 } as const

/** What never changes may be kept for ever. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'
/** Kept, and asked about each time. */
export const REVALIDATED = 'public, no-cache'
export const NO_STORE: readonly string[] = ['Cache-Control', 'no-store']

export interface Resource {
  readonly tag: string
  readonly caching: string
  readonly type: string
  readonly body: Uint8Array | string
}

/** The resource, or that the client has it already. */
export function resource(
  context: RegistryRequestContext,
  nowMs: number,
  { tag, caching, type, body }: Resource,
): IngressResponse {
  const headers = ['ETag', tag, 'Cache-Control', caching]
  const conditional = { method: context.method, ifNoneMatch: context.headers.get('if-none-match') }
  if (evaluatePreconditions(conditional, { etag: tag }, nowMs) === 'not-modified') return { status: 304, headers }
  return { status: 200, headers: [...headers, 'Content-Type', type], body }
}
