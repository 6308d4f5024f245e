/** The way of a write to the Committer, on behalf of a request. */

import type { RequestContext } from '@cairn/http'
import { CairnError, isKind } from '@cairn/kernel'
import { decodeBody } from '@cairn/names'
import type { JsonValue } from '@cairn/wire'
import type { Command, CommandAnswer } from '../domain/commands.ts'
import { lengthRequired, onlyReads } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { writeProblem } from '../tasks/health-gate.ts'
import type { RegistryRequestContext } from './params.ts'

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
