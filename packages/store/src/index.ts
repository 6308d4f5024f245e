export { BufferPool, type ChunkBytes } from './cache/chunk-bytes.ts'
export { CHUNK_BYTES_MAX, type ChunkPut, type ChunkStore } from './chunk/chunk-store.ts'
export { MemoryChunkStore } from './chunk/memory-chunk-store.ts'
export type { SegmentChunkStore } from './chunk/segment-chunk-store.ts'
export type { CompactionReport, Compactor } from './compaction/compactor.ts'
export { laterOf, type Submission, type SubmitOptions } from './journal/appender.ts'
export { TOMBSTONE } from './journal/format.ts'
export type { Draft, PlacedRecord } from './journal/group.ts'
export { Journal, type JournalOptions, type ReplayEvent } from './journal/journal.ts'
export type { Watermark } from './journal/recovery.ts'
export type { Place, Position } from './journal/segment.ts'
export type { JournalMachine, StoreMachine } from './machine.ts'
export { referenced } from './object/holds.ts'
export type { KnownVersion, ObjectCopies, VersionRow } from './object/object-copies.ts'
export {
  chunksOf,
  digestsOf,
  type ObjectFacts,
  PAGE_CHUNKS,
  PAGE_DIGESTS,
  pagesOf,
  type StripeFacts,
} from './object/object-record.ts'
export type { ObjectCommit, ObjectStore, StripeCommit } from './object/object-store.ts'
export type { Sweeper, SweepFacts, SweepReport } from './object/sweeper.ts'
export type { GiveUpReport } from './scrub/give-up.ts'
export type { ScrubCursor, ScrubFinding, SegmentScrub } from './scrub/segment-scrub.ts'
export { Storage, type StorageOptions } from './storage.ts'
export { KIND, type StoreFacts } from './store.ts'
export type { TableChange } from './table/record-table.ts'
