/**
 * Conditional requests in the order of RFC 9110 §13.2.2.
 *
 *   1 If-Match ─── false → 412          (strong comparison)
 *   2 If-Unmodified-Since, without 1 ── false → 412
 *   3 If-None-Match ─── false → 304 for GET and HEAD, else 412          (weak comparison)
 *   4 If-Modified-Since, GET and HEAD without 3 ── false → 304
 *   5 If-Range                          (range.ts)
 */
import { type EntityTag, matchesStrongly, matchesWeakly, parseEntityTag, parseEntityTags } from './entity-tag.ts'
import { parseHttpDate } from './http-date.ts'

export interface ConditionalRequest {
  readonly method: string
  readonly ifMatch?: string | undefined
  readonly ifUnmodifiedSince?: string | undefined
  readonly ifNoneMatch?: string | undefined
  readonly ifModifiedSince?: string | undefined
}

/** What the target is now; a target that does not exist is passed as `undefined`. */
export interface CurrentState {
  /** As in the ETag header. */
  readonly etag?: string | undefined
  /** Unix seconds, as in the Last-Modified header. */
  readonly lastModified?: number | undefined
}

export type PreconditionOutcome = 'proceed' | 'not-modified' | 'precondition-failed'

/** Whether to perform the request, judged by its preconditions alone; `nowMs` serves only two-digit years in dates. */
export function evaluatePreconditions(
  request: ConditionalRequest,
  current: CurrentState | undefined,
  nowMs: number,
): PreconditionOutcome {
  if (request.ifMatch !== undefined) {
    if (!holdsIfMatch(request.ifMatch, current)) return 'precondition-failed'
  } else if (request.ifUnmodifiedSince !== undefined) {
    if (isNewerThan(current, request.ifUnmodifiedSince, nowMs) === true) return 'precondition-failed'
  }
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (request.ifNoneMatch !== undefined) {
    if (!holdsIfNoneMatch(request.ifNoneMatch, current, isRead)) return isRead ? 'not-modified' : 'precondition-failed'
  } else if (request.ifModifiedSince !== undefined && isRead) {
    if (isNewerThan(current, request.ifModifiedSince, nowMs) === false) return 'not-modified'
  }
  return 'proceed'
}

function holdsIfMatch(header: string, current: CurrentState | undefined): boolean {
  const wanted = parseEntityTags(header)
  if (wanted === '*') return current !== undefined
  const tag = tagOf(current)
  // A header that cannot be read matches nothing: what a client tried to guard is not let through.
  return tag !== undefined && (wanted ?? []).some((candidate) => matchesStrongly(candidate, tag))
}

function holdsIfNoneMatch(header: string, current: CurrentState | undefined, isRead: boolean): boolean {
  const unwanted = parseEntityTags(header)
  if (unwanted === '*') return current === undefined
  // Unreadable: a read is answered in full, a write that meant to be guarded is not performed.
  if (unwanted === undefined) return isRead
  const tag = tagOf(current)
  return tag === undefined || !unwanted.some((candidate) => matchesWeakly(candidate, tag))
}

function tagOf(current: CurrentState | undefined): EntityTag | undefined {
  return current?.etag === undefined ? undefined : parseEntityTag(current.etag)
}

/** Nothing if either side has no valid date: such a condition is ignored (§13.1.3, §13.1.4). */
function isNewerThan(current: CurrentState | undefined, header: string, nowMs: number): boolean | undefined {
  const date = parseHttpDate(header, nowMs)
  if (date === undefined || current?.lastModified === undefined) return undefined
  return current.lastModified > date
}
