/**
 * Gives up a segment that is damaged or cannot be read, so that collecting garbage can go on without it.
 *
 *     what can be read of it and lives ─▶ copied ─▶ index: copies ─▶ file set aside ─▶ what else lay in it is forgotten
 *
 * Its file is kept under another name for a repair by hand. Deletes that only it recorded may come undone.
 */
import { CairnError } from '@cairn/kernel'
import type { Compactor } from '../compaction/compactor.ts'
import type { Segment } from '../journal/segment.ts'
import { died } from '../object/mark-core.ts'
import { KIND, type RecordStore } from '../record-store.ts'

export interface SegmentLossReport {
  readonly segment: number
  /** Nothing of it can be read: what it held is unknown. */
  readonly isUnreadable: boolean
  /** Of the stretches that cannot be read. */
  readonly damagedBytes: number
  readonly salvaged: number
  /** Records that were in it, by what the index knew, and are lost. */
  readonly lost: { readonly chunks: number; readonly objects: number; readonly holds: number; readonly deletes: number }
  /** Where its file is now; nothing if it was only asked what would be lost. */
  readonly keptAs: string | undefined
}

const NOTHING = { chunks: 0, objects: 0, holds: 0, deletes: 0 }

/** Says what is known to be lost if the segment is given up. `Conflict` if nothing is wrong with it. */
export function wouldLose(store: RecordStore, number: number): SegmentLossReport {
  const segment = damagedSegment(store, number)
  return {
    segment: number,
    isUnreadable: segment === undefined,
    damagedBytes: segment === undefined ? 0 : segment.damage.reduce((sum, { from, to }) => sum + to - from, 0),
    salvaged: 0,
    lost: segment === undefined ? NOTHING : lostIn(store, segment),
    keptAs: undefined,
  }
}

export async function giveUp(store: RecordStore, compactor: Compactor, number: number): Promise<SegmentLossReport> {
  store.mustBeComplete()
  const report = wouldLose(store, number)
  const segment = damagedSegment(store, number)
  const salvaged = segment === undefined ? 0 : await compactor.salvage(segment)
  const keptAs = await store.journal.giveUp(number)
  const lost = { ...NOTHING }
  store.index.forgetAll(number, (kind, isTombstone) => {
    if (isTombstone) lost.deletes += 1
    else if (kind === KIND.chunk) lost.chunks += 1
    else if (kind === KIND.object) lost.objects += 1
    else if (kind === KIND.hold) lost.holds += 1
  })
  store.keeper.forgetSegment(number)
  // What only lost objects needed is garbage now.
  died(store.marks)
  store.machine.log.warn({ segment: number, keptAs, salvaged, ...lost }, 'a segment was given up')
  return { ...report, salvaged, lost, keptAs }
}

/** Nothing for one that cannot be read at all. */
function damagedSegment({ journal }: RecordStore, number: number): Segment | undefined {
  if (journal.unreadable.includes(number)) return undefined
  const segment = journal.segments().find((each) => each.number === number)
  if (segment === undefined) throw new CairnError('NotFound', `There is no segment ${number} here.`)
  if (number === journal.activeNumber) {
    const detail = `Segment ${number} is being written to; restart the node, then give it up.`
    throw new CairnError('Conflict', detail, { code: 'segment_active' })
  }
  if (segment.damage.length > 0) return segment
  const detail = `Nothing is known to be wrong with segment ${number}; only a damaged one can be given up.`
  throw new CairnError('Conflict', detail, { code: 'segment_sound' })
}

/** What the index knows to lie in the damaged stretches; of deletes it is known once the rest was copied. */
function lostIn({ index }: RecordStore, { number, damage }: Segment): SegmentLossReport['lost'] {
  const isLost = (offset: number): boolean => damage.some(({ from, to }) => offset >= from && offset < to)
  const count = (kind: number): number => {
    let lost = 0
    for (const slice of index.live(kind))
      lost += slice.filter(({ place }) => place.segment === number && isLost(place.offset)).length
    return lost
  }
  return { chunks: count(KIND.chunk), objects: count(KIND.object), holds: count(KIND.hold), deletes: 0 }
}
