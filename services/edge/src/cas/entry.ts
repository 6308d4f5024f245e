/** What the cache keeps: bodies as chunks, and what was said about them. */
import type { Address } from '@cairn/wire'
import type { Selecting } from '../caching/reuse.ts'
import { type Freshness, freshnessOf, type HeaderMap } from '../caching/stored-response.ts'

/** Bytes that are here, cut into chunks of `CHUNK_BYTES`; the last is shorter. */
export interface StoredBody {
  readonly address: Address
  readonly size: number
  readonly chunks: readonly Address[]
}

export interface StoredEntry {
  /** What was asked for; several entries of one key differ in what they were selected by. */
  readonly key: string
  readonly status: number
  readonly headers: HeaderMap
  readonly selecting: Selecting
  readonly requestedAt: number
  readonly receivedAt: number
  readonly body: StoredBody
  /** Worked out once from the rest. */
  readonly freshness: Freshness
}

export const CHUNK_BYTES = 64 * 1024

export function makeEntry(facts: Omit<StoredEntry, 'freshness'>): StoredEntry {
  return { ...facts, freshness: freshnessOf(facts) }
}

/** One entry of the table is one id. */
export function entryId({ key, selecting }: Pick<StoredEntry, 'key' | 'selecting'>): string {
  return `${key}\n${JSON.stringify(selecting)}`
}

export function encodeEntry({ freshness: _freshness, ...facts }: StoredEntry): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(facts))
}

/** Nothing if it is not what `encodeEntry` writes: a cache forgets what it cannot read. */
export function decodeEntry(bytes: Uint8Array): StoredEntry | undefined {
  try {
    const facts: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isFacts(facts) ? makeEntry(facts) : undefined
  } catch {
    return undefined
  }
}

function isFacts(value: unknown): value is Omit<StoredEntry, 'freshness'> {
  if (typeof value !== 'object' || value === null) return false
  const { key, status, headers, selecting, requestedAt, receivedAt, body }: Partial<Record<string, unknown>> = {
    ...value,
  }
  const areNumbers = [status, requestedAt, receivedAt].every((each) => typeof each === 'number')
  if (typeof key !== 'string' || !areNumbers || !Array.isArray(selecting)) return false
  if (typeof headers !== 'object' || headers === null || typeof body !== 'object' || body === null) return false
  const { address, size, chunks }: Partial<Record<string, unknown>> = { ...body }
  return typeof address === 'string' && typeof size === 'number' && Array.isArray(chunks)
}
