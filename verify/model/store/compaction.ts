import type { Suite } from '../suite.ts'
import { compactionRace } from './compaction-scene.ts'
import type { StoreCores } from './cores.ts'

export const COMPACTION_AND_READS: Suite<StoreCores> = {
  name: 'compaction races reads',
  smallest: (cores) => [
    compactionRace(cores, 'compaction: 1 reader', { readers: ['prompt'], hasDeleter: false, unlinkFailures: 0 }),
    compactionRace(cores, 'compaction: 1 late reader', { readers: ['late'], hasDeleter: false, unlinkFailures: 0 }),
  ],
  larger: (cores) => [
    compactionRace(cores, 'compaction: 2 readers, a late one, a deletion', {
      readers: ['prompt', 'late'],
      hasDeleter: true,
      unlinkFailures: 0,
    }),
    compactionRace(cores, 'compaction: 2 readers, the victim stays once', {
      readers: ['prompt', 'late'],
      hasDeleter: false,
      unlinkFailures: 1,
    }),
    compactionRace(cores, 'compaction: a wrong index, a deletion', {
      readers: [],
      hasDeleter: true,
      unlinkFailures: 0,
      hasRot: true,
    }),
  ],
  mutants: [
    {
      name: 'the compactor trusts the index',
      file: 'compaction/compaction-core.ts',
      find: 'if (entry.isHere || found === undefined) return false',
      replace: 'return true',
      expect: 'acknowledged-record-lost',
    },
    {
      name: 'whatever lies where the index points to is a proof',
      file: 'compaction/compaction-core.ts',
      find: 'return found.isSameId && found.lsn === entry.lsn',
      replace: 'return true',
      expect: 'acknowledged-record-lost',
    },
    {
      name: 'a segment that is going lets readers in',
      file: 'journal/pins-core.ts',
      find: 'if (pins.isRetiring) return false',
      replace: '',
      expect: 'segment-removed-under-a-reader',
    },
    {
      name: 'a segment goes although somebody reads it',
      file: 'journal/pins-core.ts',
      find: 'return pins.count === 0',
      replace: 'return true',
      expect: 'segment-removed-under-a-reader',
    },
    {
      name: 'the last but one reader lets the segment go',
      file: 'journal/pins-core.ts',
      find: 'if (pins.count === 0) pins.drained.wakeAll(undefined)',
      replace: 'if (pins.count <= 1) pins.drained.wakeAll(undefined)',
      expect: 'segment-removed-under-a-reader',
    },
    {
      name: 'the last reader tells nobody',
      file: 'journal/pins-core.ts',
      find: 'if (pins.count === 0) pins.drained.wakeAll(undefined)',
      replace: '',
      expect: 'space-not-given-back',
    },
    {
      name: 'a segment that could not go is never tried again',
      file: 'journal/pins-core.ts',
      find: 'pins.isRetiring = false',
      replace: '',
      expect: 'space-not-given-back',
    },
    {
      name: 'the active segment may be the victim',
      file: 'compaction/compaction-core.ts',
      find: 'if (!segment.isSettled || segment.isPutOff || segment.isDamaged) return false',
      replace: 'if (segment.isPutOff || segment.isDamaged) return false',
      expect: 'deleted-record-back',
    },
    {
      name: 'a tombstone goes before what it covers',
      file: 'compaction/compaction-core.ts',
      find: 'return rules.oldestLsnElsewhere > tombstone.lsn',
      replace: 'return true',
      expect: 'deleted-record-back',
    },
  ],
}
