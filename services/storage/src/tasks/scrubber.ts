/**
 * Reads everything on one drive, at its own pace, and proves it.
 *
 *     begin ─▶ segment after segment, record by record ─▶ objects counted ─▶ end of the round ─▶ waits for the next
 *                  └─ every 16 MiB the place is written down: a restart goes on from there
 *
 * It never says that something is sound that it did not read in this round.
 */
import { isKind, sleep, type TaskBody, TokenBucket, Watch } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import type { DriveStore, ScrubCursor, ScrubFinding } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { RepairQueue } from '../repair/repair-queue.ts'
import {
  coverageAt,
  readScrubProgress,
  SCRUB_START,
  type ScrubProgress,
  type ScrubStatus,
  withFinding,
  writeScrubProgress,
} from '../repair/scrub-progress.ts'
import type { LocalDrive } from '../targets/local-drive.ts'
import { canWait } from './rounds.ts'

const CENSUS_PAGE = 256

export interface Census {
  readonly sound: number
  /** The chunks that each damaged object has lost; the object itself if its record or its list of chunks is. */
  readonly damaged: ReadonlyMap<Address, Set<Address>>
}

/** Objects by state: one is sound if its record and its lists can be read and every chunk of it is here, none found damaged. */
async function takeCensus({ objects, check }: DriveStore, damaged: ReadonlySet<string>): Promise<Census> {
  const found = new Map<Address, Set<Address>>()
  let sound = 0
  let after: Address | undefined
  for (;;) {
    const ids = await objects.list(after, CENSUS_PAGE)
    for (const id of ids) {
      const lost = await check.lost(id, damaged)
      if (lost === undefined) continue
      if (lost.size > 0) found.set(id, new Set(lost))
      else sound += 1
    }
    after = ids.at(-1)
    if (ids.length < CENSUS_PAGE) return { sound, damaged: found }
  }
}

/** What is read between two payments from the budget. */
const TURN_BYTES = 64 * 1024
/** What is read between two times the place is written down. */
const SAVE_BYTES = 16 * 1024 * 1024
/** Between the end of a round and the next: everything is read about once a week. */
const ROUND_INTERVAL_MS = 7 * 24 * 60 * 60 * 1000
/** Before the drive is asked again after it failed. */
const RETRY_MS = 5000
/** What all scrubs of the node may read together. */
export function scrubPace({ clock }: Platform, bytesPerSecond: number): TokenBucket {
  return new TokenBucket(clock, { rate: bytesPerSecond, burst: Math.max(TURN_BYTES, bytesPerSecond) })
}

/** What the last round that began and ended in this life has read. */
interface ScrubProof {
  /** Of a drive that went and came back, nothing is proved. */
  readonly storage: DriveStore
  /** Records up to here were on the drive when it began. */
  readonly upToLsn: number
  /** Objects it found damaged, and the chunks that are to be healed. */
  readonly damaged: ReadonlyMap<Address, Set<Address>>
}

export class Scrubber {
  readonly #platform: Platform
  readonly #drive: LocalDrive
  readonly #repairs: RepairQueue
  readonly #path: string
  readonly #pace: TokenBucket
  /** How many rounds were asked for, and up to which of them a whole round has been made. */
  readonly #asked = new Watch(0)
  #answered = this.#asked.version
  #place: ScrubProgress = SCRUB_START
  #isReading = false
  /** Where the journal was when the round under way began; absent if an earlier life began it. */
  #beganAtLsn: number | undefined
  #proof: ScrubProof | undefined

  constructor(platform: Platform, drive: LocalDrive, repairs: RepairQueue, pace: TokenBucket) {
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

  report(): ScrubStatus {
    const { completed_at: completedAt, up_to_lsn: _upToLsn, ...place } = this.#place
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
    this.#place = await readScrubProgress(this.#platform.disk, this.#path)
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
      if (this.#place.cursor === null) this.#begin(storage)
      await this.#read(storage, signal)
      await this.#complete()
      this.#answered = asked
    } finally {
      this.#isReading = false
      // Cut off by a stop or by the drive: what was read need not be read again.
      if (this.#place.cursor !== null) await this.#save()
    }
  }

  #begin(storage: DriveStore): void {
    const { objects, completed_at: completedAt } = this.#place
    this.#beganAtLsn = storage.facts().syncedLsn
    const round = { up_to_lsn: this.#beganAtLsn, total_bytes: storage.scrub.bytes }
    this.#place = { ...SCRUB_START, ...round, objects, completed_at: completedAt }
  }

  async #read({ scrub }: DriveStore, signal: AbortSignal): Promise<void> {
    const { cursor, up_to_lsn: upToLsn } = this.#place
    const from = cursor === null ? undefined : { ...cursor, liveBytes: cursor.live_bytes }
    let [turnBytes, unsavedBytes] = [0, 0]
    await this.#pace.take(TURN_BYTES, { signal })
    for await (const step of scrub.read({ from, upToLsn })) {
      this.#found(step.findings)
      const { records, bytes } = this.#place
      this.#place = {
        ...this.#place,
        records: records + step.records,
        bytes: bytes + step.bytes,
        cursor: cursorOf(step.cursor),
      }
      turnBytes += step.bytes
      unsavedBytes += step.bytes
      if (turnBytes < TURN_BYTES) continue
      if (unsavedBytes >= SAVE_BYTES) {
        await this.#save()
        unsavedBytes = 0
      }
      // A turn ends with a whole record, which may be longer than the bucket is deep.
      for (; turnBytes > 0; turnBytes -= TURN_BYTES) await this.#pace.take(Math.min(turnBytes, TURN_BYTES), { signal })
      turnBytes = 0
    }
    this.#place = { ...this.#place, not_read: [...scrub.unreadable] }
  }

  #found(findings: readonly ScrubFinding[]): void {
    const { metrics } = this.#platform
    for (const finding of findings) {
      this.#place = withFinding(this.#place, finding)
      if (finding.tag === 'mended') metrics.count('scrub_mended_total', {})
      if (finding.tag !== 'chunk') continue
      metrics.count('scrub_chunks_total', { result: finding.isSound ? 'sound' : 'damaged' })
      if (!finding.isSound) this.#repairs.damaged(finding.id, this.#drive.id)
    }
  }

  async #complete(): Promise<void> {
    const { storage } = this.#drive.contents
    const { sound, damaged } = await takeCensus(storage, new Set(this.#place.damaged))
    const objects = { sound, damaged: damaged.size }
    if (this.#beganAtLsn !== undefined) this.#proof = { storage, upToLsn: this.#beganAtLsn, damaged }
    this.#place = { ...this.#place, cursor: null, objects, completed_at: this.#platform.clock.wall() }
    // From this step on whoever asks wants another one, also while this one is written down.
    this.#isReading = false
    await this.#save()
  }

  /** A place that cannot be written costs some chunks read twice after a restart, nothing else. */
  async #save(): Promise<void> {
    try {
      await writeScrubProgress(this.#platform.disk, this.#path, this.#place)
    } catch (error) {
      this.#platform.log.warn({ error }, 'the place of the scrub was not written down')
    }
  }
}

function cursorOf({ segment, offset, liveBytes }: ScrubCursor): ScrubProgress['cursor'] {
  return { segment, offset, live_bytes: liveBytes }
}
