export { type ChunkBytes } from './chunk/chunk-cache.ts'
export { CHUNK_BYTES_MAX } from './chunk/chunk-store.ts'
export type { SegmentChunkStore } from './chunk/segment-chunk-store.ts'
export type { CompactionReport, Compactor } from './compaction/compactor.ts'
export type { JournalMachine } from './drive/drive.ts'
export { DriveStore, type DriveStoreOptions } from './drive-store.ts'
export { laterOf, type Submission, type SubmitOptions } from './journal/appender.ts'
export { Journal, type ReplayEvent } from './journal/journal.ts'
export type { Watermark } from './journal/recovery.ts'
export type { Draft, PlacedRecord, Position, RecordPlace } from './journal/segment.ts'
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
export type { HoldCounts, ObjectCommit, ObjectStore, StripeCommit } from './object/object-store.ts'
export type { Sweeper, SweepFacts, SweepReport } from './object/sweeper.ts'
export { KIND, type StoreFacts } from './record-store.ts'
export type { SegmentLossReport } from './scrub/give-up.ts'
export type { ScrubCursor, ScrubFinding, SegmentScrub } from './scrub/segment-scrub.ts'
export type { TableChange } from './table/record-table.ts'
