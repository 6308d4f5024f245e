/**
 * Conditional requests in the order of RFC 9110 §13.2.2, with the HTTP dates and entity tags they compare.
 *
 *   1 If-Match ─── false → 412          (strong comparison)
 *   2 If-Unmodified-Since, without 1 ── false → 412
 *   3 If-None-Match ─── false → 304 for GET and HEAD, else 412          (weak comparison)
 *   4 If-Modified-Since, GET and HEAD without 3 ── false → 304
 *   5 If-Range                          (range.ts)
 */
import type { Address } from './address.ts'

// HTTP dates (RFC 9110 §5.6.7) as Unix seconds, by arithmetic alone. All three forms are read, the first is written.

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const
const DAY_SECONDS = 86_400

const SHORT_DAY = `(?:${DAYS.join('|')})`
const LONG_DAY = '(?:Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day'
const MONTH = `(?<month>${MONTHS.join('|')})`
const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`

const FORMS = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(String.raw`^${SHORT_DAY}, (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(String.raw`^${LONG_DAY}, (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(String.raw`^${SHORT_DAY} ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
]

/**
 * Unix seconds of an HTTP date, or nothing if it is not one. The clock serves only the obsolete two-digit years: one
 * that would lie more than 50 years ahead means the century before.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  for (const form of FORMS) {
    const groups = form.exec(text)?.groups
    if (groups !== undefined) return secondsOf(groups, nowMs)
  }
  return undefined
}

function secondsOf(groups: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const field = (name: string): number => Number(groups[name])
  const month = MONTHS.findIndex((name) => name === groups['month'])
  const year = groups['year']?.length === 2 ? fullYear(field('year'), nowMs) : field('year')
  const [day, hour, minute, second] = [field('day'), field('hour'), field('minute'), field('second')]
  if (day < 1 || day > daysInMonth(year, month) || hour > 23 || minute > 59 || second > 60) return undefined
  return daysSinceEpoch(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second
}

function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = civilFromDays(Math.floor(nowMs / 1000 / DAY_SECONDS)).year
  const candidate = thisYear - (thisYear % 100) + twoDigits
  return candidate > thisYear + 50 ? candidate - 100 : candidate
}

/** The date in the one form to be sent: `Sun, 06 Nov 1994 08:49:37 GMT`. */
export function formatHttpDate(unixSeconds: number): string {
  const days = Math.floor(unixSeconds / DAY_SECONDS)
  const { year, month, day } = civilFromDays(days)
  const rest = unixSeconds - days * DAY_SECONDS
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const weekday = DAYS[(((days + 4) % 7) + 7) % 7]
  const time = `${two(rest / 3600)}:${two((rest / 60) % 60)}:${two(rest % 60)}`
  return `${weekday}, ${two(day)} ${MONTHS[month]} ${String(year).padStart(4, '0')} ${time} GMT`
}

const isLeapYear = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

function daysInMonth(year: number, month: number): number {
  return month === 1 && isLeapYear(year) ? 29 : ([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month] ?? 0)
}

/*
 * Years are counted from March, so that the leap day is the last of its year; 400 years (an era) have 146 097 days,
 * and 1970-01-01 is day 719 468 of that calendar. Months are 0 to 11.
 */
const ERA_DAYS = 146_097
const EPOCH_DAY = 719_468

function daysSinceEpoch(year: number, month: number, day: number): number {
  const shiftedYear = month < 2 ? year - 1 : year
  const era = Math.floor(shiftedYear / 400)
  const yearOfEra = shiftedYear - era * 400
  const dayOfYear = Math.floor((153 * ((month + 10) % 12) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * ERA_DAYS + dayOfEra - EPOCH_DAY
}

function civilFromDays(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + EPOCH_DAY
  const era = Math.floor(shifted / ERA_DAYS)
  const dayOfEra = shifted - era * ERA_DAYS
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = (marchMonth + 2) % 12
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month < 2 ? 1 : 0), month, day }
}

// Entity tags (RFC 9110 §8.8.3) and lists of them, read by the grammar: a comma may stand inside a tag.

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
