/**
 * Reads everything, at its own pace, and proves it.
 *
 *     begin ─▶ chunk after chunk, in order ─▶ end of the round ─▶ waits for the next
 *                  └─ every 256 chunks the place is written down: a restart goes on from there
 *
 * It never says that something is sound that it did not read in this round.
 */
import { isKind, type TaskBody, TokenBucket, Watch } from '@cairn/kernel'
import { type Platform, readSmallFile, replaceSmallFile } from '@cairn/platform'
import type { Storage } from '@cairn/store'
import { type Address, parseAddress } from '@cairn/wire'
import { z } from 'zod'

const PAGE = 256
/** What one chunk costs the budget; most are this long. */
const CHUNK_COST = 64 * 1024
/** Between the end of a round and the next: everything is read about once a week. */
const ROUND_INTERVAL_MS = 7 * 24 * 60 * 60 * 1000

export interface ScrubReport {
  readonly state: 'waiting' | 'reading'
  /** Chunks of this round, or of the last one if none is under way. */
  readonly read: number
  readonly damaged: readonly string[]
  /** Unix milliseconds; null before the first round has ended. */
  readonly completed_at: number | null
  readonly cursor: string | null
}

const place = z.strictObject({
  cursor: z.string().nullable(),
  read: z.int().min(0),
  damaged: z.array(z.string()),
  completed_at: z.number().nullable(),
})

type Place = z.output<typeof place>

const START: Place = { cursor: null, read: 0, damaged: [], completed_at: null }

/** Damaged chunks that are named; the count goes on. */
const DAMAGED_NAMED_MAX = 100

export class Scrubber {
  readonly #platform: Platform
  readonly #storage: Storage
  readonly #path: string
  readonly #pace: TokenBucket
  /** How many rounds were asked for. */
  readonly #asked = new Watch(0)
  #place: Place = START
  #isReading = false

  constructor(
    platform: Platform,
    storage: Storage,
    options: { readonly directory: string; readonly bytesPerSecond: number },
  ) {
    this.#platform = platform
    this.#storage = storage
    this.#path = `${options.directory}/scrub.json`
    const burst = Math.max(CHUNK_COST, options.bytesPerSecond)
    this.#pace = new TokenBucket(platform.clock, { rate: options.bytesPerSecond, burst })
  }

  /** A round begins now, unless one is under way. */
  begin(): void {
    if (!this.#isReading) this.#asked.set(this.#asked.value + 1)
  }

  report(): ScrubReport {
    const { read, damaged, completed_at, cursor } = this.#place
    return { state: this.#isReading ? 'reading' : 'waiting', read, damaged, completed_at, cursor }
  }

  readonly run: TaskBody = async ({ draining }) => {
    this.#place = await this.#load()
    // A round that a stop cut off goes on where it was.
    let isDue = this.#place.cursor !== null
    for (;;) {
      if (!isDue) await this.#untilDue(draining)
      await this.#round(draining)
      isDue = false
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const seen = this.#asked.version
    const last = this.#place.completed_at
    const waitMs = last === null ? 0 : last + ROUND_INTERVAL_MS - this.#platform.clock.wall()
    if (waitMs <= 0) return
    const timer = this.#platform.clock.timer(waitMs, () => this.begin())
    try {
      await this.#asked.changed(seen, { signal })
    } finally {
      timer.cancel()
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    this.#isReading = true
    try {
      if (this.#place.cursor === null) this.#place = { ...START, completed_at: this.#place.completed_at }
      for (;;) {
        const after = this.#place.cursor === null ? undefined : parseAddress(this.#place.cursor)
        const ids = await this.#storage.chunks.list(after, PAGE)
        for (const id of ids) await this.#inspect(id, signal)
        const isEnd = ids.length < PAGE
        const completed = isEnd ? this.#platform.clock.wall() : this.#place.completed_at
        this.#place = { ...this.#place, cursor: isEnd ? null : (ids.at(-1) ?? null), completed_at: completed }
        await this.#save()
        if (isEnd) return
      }
    } finally {
      this.#isReading = false
    }
  }

  async #inspect(id: Address, signal: AbortSignal): Promise<void> {
    await this.#pace.take(CHUNK_COST, { signal })
    const { metrics, log } = this.#platform
    const { read, damaged } = this.#place
    try {
      const found = await this.#storage.chunks.inspect(id)
      if (found === 'absent') return
      metrics.count('scrub_chunks_total', { result: 'sound' })
      this.#place = { ...this.#place, read: read + 1 }
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      metrics.count('scrub_chunks_total', { result: 'damaged' })
      metrics.count('integrity_fail_total', { reason: 'checksum' })
      log.error({ chunk: id.slice(0, 11) }, 'a chunk is damaged')
      const named = damaged.length < DAMAGED_NAMED_MAX ? [...damaged, id] : damaged
      this.#place = { ...this.#place, read: read + 1, damaged: named }
    }
  }

  async #load(): Promise<Place> {
    const bytes = await readSmallFile(this.#platform.disk, this.#path)
    if (bytes === undefined) return START
    const parsed = place.safeParse(tryJson(bytes))
    // A place that cannot be read costs one round from the beginning, nothing else.
    return parsed.success ? parsed.data : START
  }

  async #save(): Promise<void> {
    await replaceSmallFile(this.#platform.disk, this.#path, new TextEncoder().encode(JSON.stringify(this.#place)))
  }
}

function tryJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}
