/** What an owner of objects does beside putting and getting them. */
import { type Address, parseAddress } from '@cairn/wire'
import { type Connection, readFields } from './connection.ts'
import { badAnswer } from './http.ts'

export interface AbortOptions {
  readonly signal?: AbortSignal | undefined
}

export interface ListedObject {
  readonly address: Address
  readonly size: number
  readonly type: string
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[]
  /** Where the next page begins; undefined at the end. */
  readonly cursor: Address | undefined
}

export interface ListOptions extends AbortOptions {
  readonly cursor?: Address | undefined
  /** Objects in a page, 1 to 1000. */
  readonly limit?: number
}

/** What the scrub of the service has read, and what it found; it knows nothing about the rest. */
export interface ScrubReport {
  readonly state: 'waiting' | 'reading'
  /** How much of everything this round has read, 0 to 1; of the last round if none is under way. */
  readonly coverage: number
  /** Chunks read in this round, or in the last one if none is under way. */
  readonly read: number
  /** Records and bytes of the segments that were read. */
  readonly records: number
  readonly bytes: number
  /** Damaged chunks, the first of them by name. */
  readonly damaged: readonly string[]
  readonly damaged_count: number
  /** Damaged records that are no chunks, and bytes in which no record can be made out. */
  readonly damaged_records: number
  readonly damaged_bytes: number
  /** Entries of the index that point to no record. */
  readonly missing: number
  /** Records that the index lacked or had wrong, put right. */
  readonly mended: number
  /** Segments of which nothing could be read. */
  readonly not_read: readonly number[]
  /** Objects by state at the end of the last round; null before there was one. */
  readonly objects: { readonly sound: number; readonly damaged: number } | null
  /** When the last whole round ended, in Unix milliseconds; null before the first. */
  readonly completed_at: number | null
}

/** A page of the objects of the service, in order of address. */
export async function list(connection: Connection, options: ListOptions = {}): Promise<ObjectPage> {
  const { cursor, limit = 100, signal } = options
  const from = cursor === undefined ? '' : `&cursor=${cursor}`
  const answer = await connection.ask(
    { method: 'GET', path: `admin/objects?limit=${limit}${from}`, idempotent: true, read: readFields },
    connection.operation(signal),
  )
  const { objects, cursor: next } = answer
  if (!Array.isArray(objects)) throw badAnswer('has no list of objects')
  return {
    objects: objects as ListedObject[],
    cursor: typeof next === 'string' ? parseAddress(next) : undefined,
  }
}

/** Drops the object: `NotFound` if there is none, `Conflict` if something holds it. Not retried: a second try would find nothing. */
export async function remove(connection: Connection, address: string, { signal }: AbortOptions = {}): Promise<void> {
  const path = `o/${parseAddress(address)}`
  await connection.ask(
    { method: 'DELETE', path, idempotent: false, read: async () => await Promise.resolve() },
    connection.operation(signal),
  )
}

/** Begins a round of the scrub, unless one is under way, and says what is known now. */
export async function scrub(connection: Connection, { signal }: AbortOptions = {}): Promise<ScrubReport> {
  const answer = await connection.ask(
    { method: 'POST', path: 'admin/scrub', idempotent: true, read: readFields },
    connection.operation(signal),
  )
  return reportIn(answer)
}

/** What is lost with a segment that is given up. */
export interface GiveUpReport {
  readonly segment: number
  readonly drive: string
  /** Nothing of it can be read, so that it is not known what it held. */
  readonly unreadable: boolean
  readonly damaged_bytes: number
  /** Records that could be read, and were copied. */
  readonly salvaged: number
  readonly lost: { readonly chunks: number; readonly objects: number; readonly holds: number; readonly deletes: number }
  /** Where its file is now; null if it was only asked what would be lost. */
  readonly kept_as: string | null
}

export interface GiveUpOptions extends AbortOptions {
  readonly segment: number
  readonly drive?: string | undefined
  /** Only say what would be lost. */
  readonly dryRun?: boolean
}

/** Gives up a segment that is damaged or unreadable, so that garbage can be collected again. */
export async function giveUpSegment(
  connection: Connection,
  { segment, drive, dryRun = false, signal }: GiveUpOptions,
): Promise<GiveUpReport> {
  const given = { segment, dry_run: dryRun, ...(drive === undefined ? {} : { drive }) }
  const body = new TextEncoder().encode(JSON.stringify(given))
  const headers = { 'content-type': 'application/json' }
  const answer = await connection.ask(
    { method: 'POST', path: 'admin/scrub/give-up', idempotent: false, body, headers, read: readFields },
    connection.operation(signal),
  )
  const { lost, drive: onDrive, kept_as: keptAs } = answer
  if (typeof lost !== 'object' || lost === null || typeof onDrive !== 'string')
    throw badAnswer('does not say what is lost')
  const counts: Partial<Record<string, unknown>> = { ...lost }
  return {
    segment,
    drive: onDrive,
    unreadable: answer['unreadable'] === true,
    damaged_bytes: countIn(answer['damaged_bytes']),
    salvaged: countIn(answer['salvaged']),
    lost: {
      chunks: countIn(counts['chunks']),
      objects: countIn(counts['objects']),
      holds: countIn(counts['holds']),
      deletes: countIn(counts['deletes']),
    },
    kept_as: typeof keptAs === 'string' ? keptAs : null,
  }
}

function countIn(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

export async function scrubReport(connection: Connection, { signal }: AbortOptions = {}): Promise<ScrubReport> {
  const answer = await connection.ask(
    { method: 'GET', path: 'admin/durability', idempotent: true, read: readFields },
    connection.operation(signal),
  )
  return reportIn(answer['scrub'])
}

function reportIn(value: unknown): ScrubReport {
  const fields = (value ?? {}) as Partial<Record<keyof ScrubReport, unknown>>
  const { state, damaged, not_read: notRead, completed_at: completedAt } = fields
  const isState = state === 'waiting' || state === 'reading'
  if (!isState || typeof fields.read !== 'number' || !Array.isArray(damaged))
    throw badAnswer('is not a report of the scrub')
  const count = (field: keyof ScrubReport): number => countIn(fields[field])
  return {
    state,
    coverage: count('coverage'),
    read: count('read'),
    records: count('records'),
    bytes: count('bytes'),
    damaged,
    damaged_count: Math.max(count('damaged_count'), damaged.length),
    damaged_records: count('damaged_records'),
    damaged_bytes: count('damaged_bytes'),
    missing: count('missing'),
    mended: count('mended'),
    not_read: Array.isArray(notRead) ? notRead : [],
    objects: objectsIn(fields.objects),
    completed_at: typeof completedAt === 'number' ? completedAt : null,
  }
}

function objectsIn(value: unknown): ScrubReport['objects'] {
  const { sound, damaged } = (value ?? {}) as { sound?: unknown; damaged?: unknown }
  return typeof sound === 'number' && typeof damaged === 'number' ? { sound, damaged } : null
}

/** How safe everything is, by what the service has looked at. */
export interface DurabilityReport {
  /** Copies each object should have. */
  readonly target_copies: number
  /** The fewest copies any object has that a scrub has read and proved; null before there was one. */
  readonly observed_copies: number | null
  /** Objects by how many copies they have, at the end of the last round of the planner; null with one target. */
  readonly copies: {
    readonly objects: number
    readonly full: number
    readonly under: number
    readonly single: number
    /** With fewer shards than it takes to read them. */
    readonly lost: number
    /** Repairs that this round had room to ask for. */
    readonly planned: number
  } | null
  /** Drives and peers; none named with one target. */
  readonly places: readonly {
    readonly id: string
    readonly kind: string
    readonly state: string
    readonly why: string
  }[]
  readonly repairs: { readonly pending: number }
}

export async function durability(connection: Connection, { signal }: AbortOptions = {}): Promise<DurabilityReport> {
  const answer = await connection.ask(
    { method: 'GET', path: 'admin/durability', idempotent: true, read: readFields },
    connection.operation(signal),
  )
  const { target_copies, observed_copies, copies, places, repairs } = answer
  if (typeof target_copies !== 'number' || typeof repairs !== 'object' || repairs === null)
    throw badAnswer('is not a report of durability')
  return {
    target_copies,
    observed_copies: typeof observed_copies === 'number' ? observed_copies : null,
    copies: (copies ?? null) as DurabilityReport['copies'],
    places: Array.isArray(places) ? (places as DurabilityReport['places']) : [],
    repairs: repairs as DurabilityReport['repairs'],
  }
}

/** Has repairs planned now: of one object, or of whatever is found. */
export async function repair(
  connection: Connection,
  address: string | undefined,
  { signal }: AbortOptions = {},
): Promise<void> {
  const body =
    address === undefined ? undefined : new TextEncoder().encode(JSON.stringify({ address: parseAddress(address) }))
  await connection.ask(
    {
      method: 'POST',
      path: 'admin/repair',
      idempotent: true,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
      read: async () => await Promise.resolve(),
    },
    connection.operation(signal),
  )
}
