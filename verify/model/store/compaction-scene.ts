/**
 * A compactor takes a segment away while others read from it and delete what it holds.
 *
 *     1 │ x† │ y │ z │     2 │ tombstone of x │ a │ b† │ c† │ d† │     3 │ tombstones of b, c, d │     4 │ active │
 *                              └──── the victim: below half live ────┘
 *     compactor:  sort ─▶ copy into 5 ─▶ compare-and-set of the index ─▶ retire ─▶ drained ─▶ unlink
 *     reader:     look up ─▶ pin ─▶ read ─▶ unpin                 † dead
 *
 * The index may be wrong: an entry is gone, or points to another record. Nothing is left behind because of it.
 *
 * What the drive would say after a power cut is computed in every state: the highest LSN of each id wins.
 */
import { choose, type Model, type Steps, step, type Task } from '../model.ts'
import { waitIn } from '../models/shell.ts'
import type { StoreCores } from './cores.ts'
import {
  ACTIVE,
  createShelf,
  mendIndex,
  type Place,
  type Shelf,
  type StoredRecord,
  type StoredSegment,
} from './segment-shelf.ts'

export interface CompactionScene {
  /** Prompt readers pin in the step in which they look up; late ones, who read a second time, in a later one. */
  readonly readers: readonly ('prompt' | 'late')[]
  /** Somebody deletes `a` meanwhile. */
  readonly hasDeleter: boolean
  /** How often the victim cannot be unlinked. */
  readonly unlinkFailures: number
  /** The entry of `a` or of the tombstone of `x` goes wrong at some time. */
  readonly hasRot?: boolean
}

const LOOKS_MAX = 3
/** Of the compactor, at one record. */
const PROOFS_MAX = 2
/** Where the tombstone of `b` lies. */
const ELSEWHERE: Place = { segment: 3, offset: 0 }
const LATER_LSN = 9

type Kept = readonly [StoredRecord, Place][]

/** As `findFate` of the compactor. */
function* isDead(
  { compaction }: StoreCores,
  shelf: Shelf,
  [record, place]: readonly [StoredRecord, Place],
  kept: Kept,
): Steps<boolean> {
  for (let look = 1; look <= PROOFS_MAX; look += 1) {
    const claim = shelf.claimOf(record, place)
    const entry = shelf.index.get(record.id)
    const answer = compaction.readAnswer(record.lsn, claim)
    if (answer === 'here') return false
    if (entry === undefined || claim === undefined || answer === 'behind') {
      mendIndex(shelf, record.id)
      continue
    }
    yield step('reads where the index points to', [kept, record, place, look, claim, entry])
    const found = shelf.segments.get(entry.place.segment)?.records[entry.place.offset]
    const isSameId = found?.id === record.id
    if (compaction.isProofOfDeath(claim, found && { lsn: found.lsn, isSameId })) return true
    mendIndex(shelf, record.id)
  }
  return false
}

function* sort(cores: StoreCores, shelf: Shelf, victim: StoredSegment): Steps<Kept> {
  const kept: [StoredRecord, Place][] = []
  for (const [offset, record] of victim.records.entries()) {
    yield step('asks the index about a record', [victim.number, kept, offset])
    const place = { segment: victim.number, offset }
    if (!(yield* isDead(cores, shelf, [record, place], kept))) kept.push([record, place])
  }
  return kept
}

function* rot({ index }: Shelf): Task {
  const id = yield choose('an entry goes wrong', ['a', 'x'])
  const how = yield choose('in which way', id === 'a' ? ['gone', 'elsewhere', 'elsewhere and later'] : ['gone'], id)
  const entry = index.get(id)
  if (entry === undefined) return
  if (how === 'gone') index.delete(id)
  else index.set(id, { ...entry, lsn: how === 'elsewhere' ? entry.lsn : LATER_LSN, place: ELSEWHERE })
}

export function compactionRace(cores: StoreCores, name: string, scene: CompactionScene): Model {
  const { pins, compaction } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const shelf = createShelf(cores)
    const { segments, index, ledger, putOff } = shelf
    const history = { misread: false, gaveUp: false, missed: false, reads: 0, unlinkFailuresLeft: scene.unlinkFailures }

    function* copy(live: readonly [StoredRecord, Place][]): Steps<void> {
      if (live.length === 0) return
      yield step('copies what is live, and syncs', live)
      const copied = shelf.addSegment(Math.max(...segments.keys()) + 1, Math.min(...live.map(([record]) => record.lsn)))
      copied.records.push(...live.map(([record]) => record))
      yield step('points the index to the copies', [copied.number, live])
      for (const [at, [record, from]] of live.entries()) {
        if (shelf.isAt(record, from)) index.set(record.id, { ...record, place: { segment: copied.number, offset: at } })
      }
    }

    function* remove(victim: StoredSegment): Task {
      yield step('retires the victim', victim)
      if (!pins.retire(victim.pins)) yield* waitIn(victim.pins.drained, { label: 'is drained', locals: victim })
      const options = history.unlinkFailuresLeft > 0 ? ['well', 'badly'] : ['well']
      const how = yield choose('unlinks the victim', options, victim)
      if (how === 'badly') {
        history.unlinkFailuresLeft -= 1
        pins.unretire(victim.pins)
        return
      }
      victim.isLinked = false
      yield step('has the directory synced', victim)
      segments.delete(victim.number)
    }

    function* compactor(): Task {
      for (;;) {
        yield step('picks a victim')
        const victim = shelf.pickVictim()
        if (victim === undefined) return
        const live = yield* sort(cores, shelf, victim)
        const dropped = live.filter(([record]) => shelf.mayDrop(record, victim))
        if (live.length > 0 && !compaction.isWorthCopying(live.length - dropped.length, victim.records.length)) {
          putOff.add(victim.number)
          continue
        }
        yield* copy(live.filter((each) => !dropped.includes(each)))
        for (const [record, place] of dropped) if (shelf.isAt(record, place)) index.delete(record.id)
        yield* remove(victim)
      }
    }

    function* readAt(place: Place): Steps<boolean> {
      const segment = segments.get(place.segment)
      if (segment === undefined || !pins.pin(segment.pins)) return false
      yield step('reads and lets go', [segment, place])
      if (!segment.isLinked || segment.records[place.offset]?.id !== 'a') history.misread = true
      pins.unpin(segment.pins)
      return true
    }

    function* reader(kind: 'prompt' | 'late'): Task {
      for (let look = 1; look <= LOOKS_MAX; look += 1) {
        yield step('looks it up', look)
        const entry = index.get('a')
        if (entry === undefined || entry.isTombstone) {
          if (ledger['a'] === 'there') history.missed = true
          return
        }
        if (kind === 'late') yield step('goes there', [look, entry.place])
        if (yield* readAt(entry.place)) {
          history.reads += 1
          return
        }
      }
      history.gaveUp = true
    }

    const tasks: Record<string, () => Task> = { compactor }
    if (scene.hasRot === true) tasks['rot'] = () => rot(shelf)
    for (const [at, kind] of scene.readers.entries()) tasks[`reader-${at + 1}`] = () => reader(kind)
    if (scene.hasDeleter) {
      tasks['deleter'] = function* () {
        yield step('deletes a')
        const active = segments.get(ACTIVE)
        if (active === undefined) throw new Error('The active segment is gone.')
        shelf.append(active, 'A')
      }
    }

    return {
      state: { segments, index, ledger, putOff, history },
      tasks,
      never: () => ({
        ...shelf.faults(),
        'wrong-bytes-read': history.misread,
        'read-gave-up': history.gaveUp,
        'live-record-not-found': history.missed,
      }),
      neverAtEnd: () => ({ 'space-not-given-back': segments.has(2) }),
      leaks: () => ({ pins: [...segments.values()].reduce((sum, each) => sum + each.pins.count, 0) }),
      eventually: () => ({ 'the victim goes': !segments.has(2) }),
    }
  }
  return { name, setup }
}
