/** Every sync there is, taken out one at a time, and some lies: each must be missed, or found out, by a campaign. */
import type { Mutant } from '../model/mutant.ts'

/** What is changed; what the campaign then says is its own affair. */
export interface SyncMutant extends Omit<Mutant, 'expect'> {
  /** The seed that showed it first, to be tried before the others. */
  readonly seed?: number
  /** Which states alone can show it, where those are few. */
  readonly fates?: RegExp
}

/** The syncs of `packages/store/src`. */
export const STORE_SYNCS: readonly SyncMutant[] = [
  {
    name: 'a group is acknowledged without a sync',
    file: 'journal/appender.ts',
    find: 'await this.#start.directory.sync(active.file)',
    replace: '',
  },
  {
    name: 'the header of a new segment is not synced',
    seed: 2,
    file: 'journal/segment-files.ts',
    find: 'await directory.sync(file)',
    replace: '',
  },
  {
    name: 'the name of a new segment is not synced',
    file: 'journal/segment-files.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
  {
    name: 'what a killed process wrote counts without a sync',
    seed: 3,
    file: 'journal/recovery.ts',
    find: 'await directory.sync(file)',
    replace: '',
  },
  {
    name: 'the names a killed process made count without a sync',
    file: 'journal/recovery.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
  {
    name: 'a compacted segment is not synced',
    file: 'compaction/compactor.ts',
    find: 'await directory.sync(file)',
    replace: '',
  },
  {
    name: 'the name of a compacted segment is not synced',
    seed: 2,
    file: 'compaction/compactor.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
  {
    name: 'the removal of a segment is not synced',
    seed: 2,
    file: 'journal/journal.ts',
    find: 'await this.directory.syncNames()',
    replace: '',
  },
  {
    name: 'the removal of a side file is not synced before that of its segment',
    fates: /unlink lost,.* unlink kept/,
    file: 'journal/journal.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
  {
    name: 'the name of the journal itself is not synced',
    file: 'journal/journal.ts',
    find: 'await makeDirectories(machine.disk, options.path)',
    replace: "for (const path of ['data', options.path]) await machine.disk.makeDirectory(path)",
  },
]

/** Promises of `packages/store/src` that are given too early, or not written down at all. */
export const STORE_LIES: readonly SyncMutant[] = [
  {
    name: 'a group is acknowledged while its sync is under way',
    file: 'journal/appender.ts',
    find: 'await this.#start.directory.sync(active.file)',
    replace: 'this.#start.directory.sync(active.file).catch(() => undefined)',
  },
  {
    name: 'a sync counts for what is being written when it begins',
    file: 'journal/appender.ts',
    find: 'const { offset, lsn } = active.written',
    replace: 'const { offset, lsn } = { offset: active.segment.size, lsn: this.#nextLsn - 1 }',
  },
  {
    name: 'a sync counts for what was written while it ran',
    file: 'journal/commit-core.ts',
    find: 'const durable = core.syncing',
    replace: 'const durable = [...core.syncing, ...core.unsynced.splice(0)]',
  },
  {
    name: 'a cut of what may have been acknowledged is not reported',
    file: 'journal/recovery-core.ts',
    find: 'return { end: from, lastLsn: after, damage, cut }',
    replace: 'return { end: from, lastLsn: after, damage, cut: undefined }',
  },
  {
    name: 'what the note knows to be durable is cut',
    file: 'journal/recovery-core.ts',
    find: 'isAbout(note, header) ? note : undefined',
    replace: 'undefined',
  },
  {
    name: 'the index learns of a group before it is synced',
    seed: 3,
    file: 'journal/appender.ts',
    find: 'core.wrote(this.#core)',
    replace: 'core.wrote(this.#core); this.#start.sink(records, { segment: segment.number, offset: segment.size })',
  },
  {
    name: 'the removal of a chunk is not written',
    file: 'chunk/segment-chunk-store.ts',
    find: 'const removal = this.#store.submit([draft],',
    replace: 'const removal = this.#store.submit([],',
  },
  {
    name: 'a tombstone goes before what it covers',
    file: 'compaction/compaction-core.ts',
    find: 'return rules.oldestLsnElsewhere > tombstone.lsn',
    replace: 'return true',
  },
  {
    name: 'a hold is not written',
    file: 'object/holds.ts',
    find: 'const write = this.#store.submit([draft],',
    replace: 'const write = this.#store.submit([],',
  },
]

/** The syncs of `packages/platform/src`: those of keys, markers and the directories above them. */
export const PLATFORM_SYNCS: readonly SyncMutant[] = [
  {
    name: 'a small file is not synced',
    file: 'disk/durable-file.ts',
    find: 'await file.sync()',
    replace: '',
  },
  {
    name: 'the name of a small file is not synced',
    file: 'disk/durable-file.ts',
    find: 'await disk.syncDirectory(dirname(path))',
    replace: '',
  },
  {
    name: 'the name of a directory is not synced',
    file: 'disk/durable-file.ts',
    find: 'await disk.syncDirectory(parent)',
    replace: '',
  },
  {
    name: 'the name of the directory of the keys is not synced',
    file: 'data/data-directory.ts',
    find: 'await disk.syncDirectory(path)',
    replace: '',
  },
  {
    name: 'the name of a key that a killed start left is not synced',
    file: 'data/data-directory.ts',
    find: 'await disk.syncDirectory(`${path}/keys`)',
    replace: '',
  },
]
