/**
 * Reads everything on one drive, at its own pace, and proves it.
 *
 *     begin ─▶ chunk after chunk, in order ─▶ objects counted ─▶ end of the round ─▶ waits for the next
 *                  └─ every 256 chunks the place is written down: a restart goes on from there
 *
 * It never says that something is sound that it did not read in this round.
 */
import { isKind, sleep, type TaskBody, TokenBucket, Watch } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { Storage } from '@cairn/store'
import { type Address, parseAddress } from '@cairn/wire'
import { takeCensus } from '../domain/object-census.ts'
import type { Repairs } from '../domain/repairs.ts'
import { coverageAt, type Place, readPlace, type ScrubReport, START, writePlace } from '../domain/scrub-place.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import { canWait } from './round.ts'

const PAGE = 256
/** What one chunk costs the budget; most are this long. */
const CHUNK_COST = 64 * 1024
/** Between the end of a round and the next: everything is read about once a week. */
const ROUND_INTERVAL_MS = 7 * 24 * 60 * 60 * 1000
/** Before the drive is asked again after it failed. */
const RETRY_MS = 5000
/** Damaged chunks that are remembered; the count goes on. */
const DAMAGED_NAMED_MAX = 1000

/** What all scrubs of the node may read together. */
export function scrubPace({ clock }: Platform, bytesPerSecond: number): TokenBucket {
  return new TokenBucket(clock, { rate: bytesPerSecond, burst: Math.max(CHUNK_COST, bytesPerSecond) })
}

/** What the last round that began and ended in this life has read. */
interface Proof {
  /** Of a drive that went and came back, nothing is proved. */
  readonly storage: Storage
  /** Records up to here were on the drive when it began. */
  readonly upToLsn: number
  /** Objects it found damaged, and the chunks that are to be healed. */
  readonly damaged: ReadonlyMap<Address, Set<Address>>
}

export class Scrubber {
  readonly #platform: Platform
  readonly #drive: LocalDrive
  readonly #repairs: Repairs
  readonly #path: string
  readonly #pace: TokenBucket
  /** How many rounds were asked for, and up to which of them a whole round has been made. */
  readonly #asked = new Watch(0)
  #answered = this.#asked.version
  #place: Place = START
  #isReading = false
  /** Where the journal was when the round under way began; absent if an earlier life began it. */
  #beganAtLsn: number | undefined
  #proof: Proof | undefined

  constructor(platform: Platform, drive: LocalDrive, repairs: Repairs, pace: TokenBucket) {
    this.#platform = platform
    this.#drive = drive
    this.#repairs = repairs
    this.#path = `${drive.path}/scrub.json`
    this.#pace = pace
  }

  /** Whether this record of the object, and every chunk of it, was read and hashed in this life. */
  proves(id: Address, lsn: number): boolean {
    const { state } = this.#drive
    if (this.#proof === undefined || state.tag === 'failed' || state.storage !== this.#proof.storage) return false
    return lsn <= this.#proof.upToLsn && !this.#proof.damaged.has(id)
  }

  /** A chunk that was damaged was hashed and written again. */
  healed(chunk: Address): void {
    const left = new Map<Address, Set<Address>>()
    for (const [object, chunks] of this.#proof?.damaged ?? []) {
      const others = chunks.difference(new Set([chunk]))
      if (others.size > 0) left.set(object, others)
    }
    if (this.#proof !== undefined) this.#proof = { ...this.#proof, damaged: left }
  }

  /** A round begins now, unless one is under way. */
  begin(): void {
    if (!this.#isReading) this.#asked.set(this.#asked.value + 1)
  }

  report(): ScrubReport {
    const { completed_at: completedAt, ...place } = this.#place
    return {
      ...place,
      state: this.#isReading ? 'reading' : 'waiting',
      coverage: coverageAt(this.#place, this.#isReading),
      completed_at: completedAt,
      age_ms: completedAt === null ? null : this.#platform.clock.wall() - completedAt,
    }
  }

  /** Copies that were read and proved in the last whole round; nothing before there was one. */
  observedCopies(): number | undefined {
    const { objects } = this.#place
    // An empty round proved nothing.
    if (objects === null || objects.sound + objects.damaged === 0) return undefined
    return objects.damaged === 0 ? 1 : 0
  }

  readonly run: TaskBody = async ({ draining }) => {
    while (this.#drive.state.tag === 'failed') await sleep(this.#platform.clock, RETRY_MS, { signal: draining })
    this.#place = await readPlace(this.#platform.disk, this.#path)
    for (;;) {
      // A round that a stop or a failing drive cut off goes on where it was.
      if (this.#place.cursor === null) await this.#untilDue(draining)
      try {
        await this.#round(draining)
      } catch (error) {
        if (!canWait(error) && !isKind(error, 'Internal')) throw error
        this.#platform.log.warn({ error }, 'the scrub waits for the drive')
        await sleep(this.#platform.clock, RETRY_MS, { signal: draining })
      }
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const last = this.#place.completed_at
    const waitMs = last === null ? 0 : last + ROUND_INTERVAL_MS - this.#platform.clock.wall()
    if (waitMs <= 0) return
    const timer = this.#platform.clock.timer(waitMs, () => this.begin())
    try {
      await this.#asked.changed(this.#answered, { signal })
    } finally {
      timer.cancel()
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    this.#isReading = true
    const asked = this.#asked.version
    try {
      const { storage } = this.#drive.contents
      if (this.#place.cursor === null) {
        this.#place = { ...START, objects: this.#place.objects, completed_at: this.#place.completed_at }
        this.#beganAtLsn = storage.facts().syncedLsn
      }
      for (;;) {
        const after = this.#place.cursor === null ? undefined : parseAddress(this.#place.cursor)
        const ids = await storage.chunks.list(after, PAGE)
        for (const id of ids) await this.#inspect(id, signal)
        if (ids.length < PAGE) {
          await this.#complete()
          this.#answered = asked
          return
        }
        this.#place = { ...this.#place, cursor: ids.at(-1) ?? null }
        await this.#save()
      }
    } finally {
      this.#isReading = false
    }
  }

  async #complete(): Promise<void> {
    const { storage, reader } = this.#drive.contents
    const { sound, damaged } = await takeCensus(storage, reader, new Set(this.#place.damaged))
    const objects = { sound, damaged: damaged.size }
    // More were damaged than are remembered: then nothing is proved until the next round.
    const isKnown = this.#place.damaged_count === this.#place.damaged.length
    if (this.#beganAtLsn !== undefined && isKnown) this.#proof = { storage, upToLsn: this.#beganAtLsn, damaged }
    this.#place = { ...this.#place, cursor: null, objects, completed_at: this.#platform.clock.wall() }
    // From this step on whoever asks wants another one, also while this one is written down.
    this.#isReading = false
    await this.#save()
  }

  async #inspect(id: Address, signal: AbortSignal): Promise<void> {
    await this.#pace.take(CHUNK_COST, { signal })
    const { metrics } = this.#platform
    try {
      if ((await this.#drive.contents.storage.chunks.inspect(id)) === 'absent') return
      metrics.count('scrub_chunks_total', { result: 'sound' })
      this.#place = { ...this.#place, read: this.#place.read + 1 }
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      metrics.count('scrub_chunks_total', { result: 'damaged' })
      this.#repairs.damaged(id, this.#drive.id)
      const { read, damaged, damaged_count: count } = this.#place
      const named = damaged.length < DAMAGED_NAMED_MAX ? [...damaged, id] : damaged
      this.#place = { ...this.#place, read: read + 1, damaged: named, damaged_count: count + 1 }
    }
  }

  /** A place that cannot be written costs some chunks read twice after a restart, nothing else. */
  async #save(): Promise<void> {
    try {
      await writePlace(this.#platform.disk, this.#path, this.#place)
    } catch (error) {
      this.#platform.log.warn({ error }, 'the place of the scrub was not written down')
    }
  }
}
