/** What an owner of objects does beside putting and getting them. */
import { type Address, parseAddress } from '@cairn/wire'
import { type Connection, readFields } from './connection.ts'
import { badAnswer } from './response-bytes.ts'

export interface AskOptions {
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

export interface ListOptions extends AskOptions {
  readonly cursor?: Address | undefined
  /** Objects in a page, 1 to 1000. */
  readonly limit?: number
}

/** What the scrub of the service has read, and what it found; it knows nothing about the rest. */
export interface ScrubReport {
  readonly state: 'waiting' | 'reading'
  /** Chunks read in this round, or in the last one if none is under way. */
  readonly read: number
  readonly damaged: readonly string[]
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
export async function remove(connection: Connection, address: string, { signal }: AskOptions = {}): Promise<void> {
  const path = `o/${parseAddress(address)}`
  await connection.ask(
    { method: 'DELETE', path, idempotent: false, read: async () => await Promise.resolve() },
    connection.operation(signal),
  )
}

/** Begins a round of the scrub, unless one is under way, and says what is known now. */
export async function scrub(connection: Connection, { signal }: AskOptions = {}): Promise<ScrubReport> {
  const answer = await connection.ask(
    { method: 'POST', path: 'admin/scrub', idempotent: true, read: readFields },
    connection.operation(signal),
  )
  return reportIn(answer)
}

export async function scrubReport(connection: Connection, { signal }: AskOptions = {}): Promise<ScrubReport> {
  const answer = await connection.ask(
    { method: 'GET', path: 'admin/durability', idempotent: true, read: readFields },
    connection.operation(signal),
  )
  return reportIn(answer['scrub'])
}

function reportIn(value: unknown): ScrubReport {
  const { state, read, damaged, completed_at } = (value ?? {}) as Partial<Record<keyof ScrubReport, unknown>>
  const isState = state === 'waiting' || state === 'reading'
  if (!isState || typeof read !== 'number' || !Array.isArray(damaged)) throw badAnswer('is not a report of the scrub')
  return { state, read, damaged, completed_at: typeof completed_at === 'number' ? completed_at : null }
}
