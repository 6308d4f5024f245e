/** Every sync in the store, taken out one at a time: each must be missed by the power-cut campaign. */
import type { Mutant } from '../model/mutant.ts'

type SyncMutant = Omit<Mutant, 'expect'>

export const SYNC_MUTANTS: readonly SyncMutant[] = [
  {
    name: 'a group is acknowledged without a sync',
    file: 'journal/appender.ts',
    find: 'await this.#start.directory.sync(active.file)',
    replace: '',
  },
  {
    name: 'the header of a new segment is not synced',
    file: 'journal/new-segment.ts',
    find: 'await directory.sync(file)',
    replace: '',
  },
  {
    name: 'the name of a new segment is not synced',
    file: 'journal/new-segment.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
  {
    name: 'what a killed process wrote counts without a sync',
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
    file: 'compaction/compactor.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
  {
    name: 'the removal of a segment is not synced',
    file: 'journal/journal.ts',
    find: 'await this.directory.syncNames()',
    replace: '',
  },
  {
    name: 'the name of the journal itself is not synced',
    file: 'journal/journal.ts',
    find: 'await makeDirectories(machine.disk, options.path)',
    replace: "for (const path of ['data', options.path]) await machine.disk.makeDirectory(path)",
  },
]
