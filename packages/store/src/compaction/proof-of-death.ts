/**
 * Whether a record may be left behind: only if the journal itself has a later one of the same kind and id.
 *
 *     record ─▶ index: where is the newest? ─┬─ here ─▶ it lives
 *                                            ├─ elsewhere ─▶ read its header there: same kind and id, that LSN ─▶ dead
 *                                            └─ nowhere, older, not there, not readable ─▶ kept, and the index is mended
 *
 * The index only says where to look. Whatever is wrong with it, the worst is that something dead is kept.
 */
import { isKind } from '@cairn/kernel'
import { equalBytes } from '@cairn/wire'
import type { IndexEntry } from '../index/keydir-core.ts'
import type { RecordHeader } from '../journal/format.ts'
import type { PlacedRecord } from '../journal/group.ts'
import { isSamePlace } from '../journal/segment.ts'
import type { Store } from '../store.ts'

/** `doubtful`: nothing proves that it is dead, and the index does not say that it lives. */
export type Fate = 'live' | 'dead' | 'doubtful'

const LOOKS_MAX = 2

export async function fateOf(store: Store, record: PlacedRecord): Promise<Fate> {
  const { index, keeper } = store
  const { kind, id, lsn, place } = record
  for (let look = 1; look <= LOOKS_MAX; look += 1) {
    const entry = index.get(kind, id)
    if (entry !== undefined && isSamePlace(entry.place, place) && entry.lsn === lsn) return 'live'
    if (entry === undefined || entry.lsn < lsn) {
      keeper.disagreed()
      index.apply(record)
      return index.get(kind, id)?.lsn === lsn ? 'live' : 'doubtful'
    }
    if (!isSamePlace(entry.place, place) && (await isProved(store, record, entry))) return 'dead'
    await keeper.mend(kind, id)
  }
  return 'doubtful'
}

async function isProved({ journal }: Store, record: PlacedRecord, { lsn, place }: IndexEntry): Promise<boolean> {
  try {
    // With the same LSN it is a copy, and nothing but this copy would be left: it must be whole.
    const later: RecordHeader = lsn === record.lsn ? await journal.read(place) : await journal.readHeader(place)
    return later.kind === record.kind && later.lsn === lsn && equalBytes(later.id, record.id)
  } catch (error) {
    if (isKind(error, 'Integrity') || isKind(error, 'NotFound')) return false
    throw error
  }
}
