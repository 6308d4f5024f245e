/**
 * Removes chunks that nothing refers to: a round reads every live object, marks what it refers to, and removes the rest.
 *
 *     sweep ─▶ due? ─▶ begin ─▶ object records and their pages, some at a time ─▶ whole ─▶ candidates ─▶ over
 *                └─ no: nothing to do          └─ one cannot be read: blocked, and said why
 *
 * References are never stored, so none of them can be wrong. Memory: one bit for each record in the index.
 */
import { CairnError, type Clock, isKind, sleep, toCairnError } from '@cairn/kernel'
import { addressFromDigest } from '@cairn/wire'
import { expire } from '../chunk/lease-core.ts'
import type { SegmentChunkStore } from '../chunk/segment-chunk-store.ts'
import type { IndexEntry } from '../index/keydir-core.ts'
import type { Submission } from '../journal/appender.ts'
import { KIND, type RecordStore } from '../record-store.ts'
import * as core from './mark-core.ts'
import { decodeObject } from './object-record.ts'
import { inBatches, readReferences } from './references.ts'

export interface SweepReport {
  /** Objects read, or candidates looked at, in this call. */
  readonly seen: number
  readonly removed: number
  /** The round has ended, or none is due. */
  readonly isOver: boolean
}

export interface SweepFacts {
  /** Why nothing can be removed, in a sentence, until an operator acts. */
  readonly blockedBy: string | undefined
}

/** A round that was blocked is not worth repeating soon, unless something has changed. */
const LOOK_AGAIN_MS = 10 * 60_000
/** Marking reads every object: it may take a fifth of the time, not more. */
const PAUSE_PER_ROUND = 4
/** The longest one step blocks other tasks. */
const SLICE_MS = 5

interface SweepProgress {
  readonly seen: number
  readonly removed: number
}

export class Sweeper {
  readonly #store: RecordStore
  readonly #chunks: SegmentChunkStore
  #round: AsyncGenerator<SweepProgress, void> | undefined
  #notBefore = 0
  #deathsWhenBlocked: number | undefined
  /** Why the last round removed nothing, if the next will not either. */
  #stuckBy: string | undefined

  constructor(store: RecordStore, chunks: SegmentChunkStore) {
    this.#store = store
    this.#chunks = chunks
  }

  facts(): SweepFacts {
    const [unreadable] = this.#store.journal.unreadable
    return { blockedBy: unreadable === undefined ? this.#stuckBy : `Segment ${unreadable} cannot be read.` }
  }

  /** Goes on with the round under way, or begins one that is due; looks at about `limit` objects or chunks. One call at a time. */
  async sweep(limit: number, signal?: AbortSignal): Promise<SweepReport> {
    if (this.#round === undefined && !this.#isDue()) return { seen: 0, removed: 0, isOver: true }
    const round = (this.#round ??= this.#sweepOnce())
    let [seen, removed] = [0, 0]
    for (;;) {
      if (seen >= limit || signal?.aborted === true) return { seen, removed, isOver: false }
      const next = await this.#next(round)
      if (next.done === true) {
        this.#round = undefined
        return { seen, removed, isOver: true }
      }
      seen += next.value.seen
      removed += next.value.removed
    }
  }

  async #next(round: AsyncGenerator<SweepProgress, void>): Promise<IteratorResult<SweepProgress, void>> {
    try {
      return await round.next()
    } catch (error) {
      this.#round = undefined
      throw error
    }
  }

  #isDue(): boolean {
    const { leases, machine, marks, index } = this.#store
    const now = machine.clock.now()
    expire(leases, now)
    if (!index.isComplete || !core.isDue(marks, leases, now)) return false
    const isChanged = this.#deathsWhenBlocked !== undefined && this.#deathsWhenBlocked !== marks.deaths
    if (now < this.#notBefore && !isChanged) return false
    return true
  }

  async *#sweepOnce(): AsyncGenerator<SweepProgress, void> {
    const { marks, leases, index, machine } = this.#store
    const beganAt = machine.clock.now()
    core.beginRound(marks, leases, await this.#store.blindness())
    let isEnded = false
    try {
      if (marks.blockedBy === undefined) {
        await index.beginRound(breather(machine.clock))
        yield* this.#mark()
      }
      core.marked(marks)
      if (marks.phase === 'whole') yield* this.#remove()
      isEnded = true
    } finally {
      if (!isEnded) core.block(marks, CUT_OFF)
      core.endRound(marks)
      this.#ended(machine.clock.now() - beganAt)
    }
  }

  #ended(tookMs: number): void {
    const { marks, machine } = this.#store
    const { blockedBy } = marks
    const isStuck = blockedBy !== undefined && blockedBy !== MOVED && blockedBy !== CUT_OFF
    this.#stuckBy = isStuck ? blockedBy : undefined
    this.#deathsWhenBlocked = isStuck ? marks.deaths : undefined
    this.#notBefore = machine.clock.now() + (isStuck ? LOOK_AGAIN_MS : PAUSE_PER_ROUND * tookMs)
    if (isStuck) machine.log.warn({ why: blockedBy }, 'garbage collection is held back')
  }

  /** Reads every live object; stops at the first that cannot be read, since nothing can be removed then. */
  async *#mark(): AsyncGenerator<SweepProgress, void> {
    const { index, marks } = this.#store
    for (const batch of inBatches(index.live(KIND.object))) {
      await Promise.all(batch.map(async (entry) => await this.#markObject(entry)))
      if (marks.blockedBy !== undefined) return
      yield { seen: batch.length, removed: 0 }
    }
    const blindness = await this.#store.blindness()
    if (blindness !== undefined) core.block(marks, blindness)
  }

  async #markObject({ place, lsn }: IndexEntry): Promise<void> {
    const { index, journal, marks } = this.#store
    try {
      const record = await journal.read(place)
      if (record.kind !== KIND.object || record.lsn !== lsn) throw new CairnError('Integrity', DISAGREES)
      for await (const ids of readReferences(this.#chunks, record.id, decodeObject(record.payload)))
        for (const id of ids) index.mark(KIND.chunk, id)
    } catch (error) {
      // A record that moved or was deleted while it was read is met in the next round.
      if (isKind(error, 'NotFound')) core.block(marks, MOVED)
      else if (isKind(error, 'Integrity')) core.block(marks, `An object cannot be read: ${toCairnError(error).message}`)
      else throw error
    }
  }

  async *#remove(): AsyncGenerator<SweepProgress, void> {
    for (const batch of inBatches(this.#store.index.unmarked(KIND.chunk))) {
      const looks = await Promise.all(batch.map(async (entry) => await this.#condemn(entry)))
      const removals = looks.filter((removal) => removal !== undefined)
      await this.#settle(removals)
      yield { seen: batch.length, removed: removals.length }
    }
  }

  /** The index says that a chunk is here: its record must say so too, and whose it is. */
  async #condemn({ place, lsn }: IndexEntry): Promise<Submission | undefined> {
    const { journal, marks } = this.#store
    try {
      const record = await journal.readHeader(place)
      if (record.kind !== KIND.chunk || record.lsn !== lsn) throw new CairnError('Integrity', DISAGREES)
      return this.#chunks.tryCondemn(addressFromDigest(record.id), { place, lsn })
    } catch (error) {
      if (isKind(error, 'NotFound')) core.block(marks, MOVED)
      else if (isKind(error, 'Integrity')) core.block(marks, `A chunk cannot be read: ${toCairnError(error).message}`)
      else throw error
      return undefined
    }
  }

  async #settle(removals: readonly Submission[]): Promise<void> {
    try {
      for (const removal of removals) await removal.durable()
    } catch (error) {
      // What stays is garbage still: the round must not count as done.
      core.block(this.#store.marks, `A removal failed: ${toCairnError(error).message}`)
      throw error
    }
  }
}

const DISAGREES = 'The index points to a record that is not the one it says.'
/** Compaction comes between: the next round finds it. */
const MOVED = 'A record moved while it was read.'
/** By a stop, or by a drive that failed. */
const CUT_OFF = 'The round was cut off.'

/** Lets others run when work in one go has taken long enough to be felt. */
function breather(clock: Clock): () => Promise<void> {
  let since = clock.now()
  return async () => {
    if (clock.now() - since < SLICE_MS) return
    await sleep(clock, 0)
    since = clock.now()
  }
}
