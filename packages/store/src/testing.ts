/** What tests and tools use and the product does not. */
export { type ChunkPut, type ChunkStore } from './chunk/chunk-store.ts'
export type { StoreMachine } from './drive/drive.ts'
export { TOMBSTONE } from './journal/format.ts'
export { type JournalOptions } from './journal/journal.ts'
