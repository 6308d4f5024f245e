import type { Suite } from '../suite.ts'
import type { StoreCores } from './cores.ts'
import { recoveredLog } from './recovery-scene.ts'

const PLAIN = { overlapsSync: false, noteFailures: 0, hasForeignNote: false }

export const RECOVERY: Suite<StoreCores> = {
  name: 'a log is written, noted, ended and recovered',
  smallest: (cores) => [recoveredLog(cores, 'recovery: 1 group', { ...PLAIN, groups: 1 })],
  larger: (cores) => [
    recoveredLog(cores, 'recovery: 3 groups, a note fails', { ...PLAIN, groups: 3, noteFailures: 1 }),
    recoveredLog(cores, 'recovery: 3 groups, writes overlap syncs', { ...PLAIN, groups: 3, overlapsSync: true }),
    recoveredLog(cores, 'recovery: 2 groups, writes overlap syncs, a note fails', {
      ...PLAIN,
      groups: 2,
      overlapsSync: true,
      noteFailures: 1,
    }),
    recoveredLog(cores, 'recovery: 2 groups, a note about another segment', {
      ...PLAIN,
      groups: 2,
      overlapsSync: true,
      hasForeignNote: true,
    }),
  ],
  mutants: [
    {
      name: 'recovery does not look at the note',
      file: 'journal/recovery-core.ts',
      find: 'isAbout(note, header) ? note : undefined',
      replace: 'undefined',
      expect: 'known-record-cut',
    },
    {
      name: 'what a later record knows to be durable is cut',
      file: 'journal/recovery-core.ts',
      find: 'if (from >= durableEnd && tail.syncedLsn <= after) {',
      replace: 'if (from >= durableEnd) {',
      expect: 'known-record-cut',
    },
    {
      name: 'a cut is not reported',
      file: 'journal/recovery-core.ts',
      find: 'return { end: from, lastLsn: after, damage, cut }',
      replace: 'return { end: from, lastLsn: after, damage, cut: undefined }',
      expect: 'silent-cut',
    },
    {
      name: 'damage before the end is not reported',
      file: 'journal/recovery-core.ts',
      find: 'damage.push({ from, to })',
      replace: '',
      expect: 'damage-not-said',
    },
    {
      name: 'a note about another segment of this number counts',
      file: 'journal/recovery-core.ts',
      find: 'equalBytes(note.store, store) && equalBytes(note.salt, salt)',
      replace: 'equalBytes(note.store, store)',
      expect: 'false-alarm',
    },
    {
      name: 'the file that holds the newest note is begun anew',
      file: 'journal/synced-note-core.ts',
      find: 'file: newest === 0 ? 1 : 0',
      replace: 'file: newest ?? 0',
      expect: 'known-record-cut',
    },
    {
      name: 'a file that failed is written to again',
      file: 'journal/synced-note-core.ts',
      find: 'core.appended = 0',
      replace: '',
      expect: 'note-behind',
    },
  ],
}
