/**
 * Writes of several callers, in groups that overlap the syncs before them.
 *
 *     writer-1, writer-2, writer-3 ─▶ queue ─▶ write ─▶ sync ─▶ told
 *                                              write ─┘          a segment takes two of them; a full disk takes deletes only
 */
import type { CommitEntry } from '../../../packages/store/src/journal/commit-core.ts'
import { type Model, step, type Task } from '../model.ts'
import { waitIn } from '../models/shell.ts'
import type { Suite } from '../suite.ts'
import { createAppenderShell } from './appender-shell.ts'
import type { StoreCores } from './cores.ts'

interface Scene {
  readonly writers: number
  readonly failures: number
  /** Frees space, so that a full disk does not refuse it. */
  readonly hasDelete?: boolean
  /** So many of them do not wait for the sync. */
  readonly lazy?: number
}

const LIMITS = { queueBytesMax: 9, queueEntriesMax: 9, groupBytesMax: 1, groupEntriesMax: 9, unsyncedBytesMax: 9 }
const SEGMENT_BYTES = 2

interface Told {
  readonly number: number
  readonly outcome: 'durable' | 'failed'
}

function overlap(cores: StoreCores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const told: Told[] = []
    const indexed: number[] = []
    const settled: number[] = []
    const { state, appender, advance } = createAppenderShell<number, number>(cores, {
      limits: LIMITS,
      segmentBytes: SEGMENT_BYTES,
      failures: scene.failures,
      before: [],
      landed: (number) => number,
      sink: (numbers) => void indexed.push(...numbers),
      onSettled: (numbers) => void settled.push(...numbers),
    })

    const count = { submitted: 0 }
    function* writer({ freesSpace, isLazy }: { freesSpace: boolean; isLazy: boolean }): Task {
      yield step('writes')
      if (state.commit.state.tag !== 'ready') return
      count.submitted += 1
      const item = count.submitted
      const entry = cores.commit.submit(state.commit, { item, bytes: 1, freesSpace, wantsSync: !isLazy })
      if (entry === 'full') throw new Error('The queue is long enough for all writers.')
      advance()
      if (isLazy) return
      yield* untilTold(entry)
      told.push({ number: item, outcome: entry.state.tag === 'failed' ? 'failed' : 'durable' })
    }

    function* untilTold(entry: CommitEntry<number>): Task {
      if (entry.state.tag === 'durable' || entry.state.tag === 'failed') return
      yield* waitIn(entry.untilDurable, { label: 'hears of it', locals: entry })
    }

    const tasks: Record<string, () => Task> = { appender }
    for (let at = 1; at <= scene.writers; at += 1) {
      const how = { freesSpace: scene.hasDelete === true && at === 1, isLazy: at <= (scene.lazy ?? 0) }
      tasks[`writer-${at}`] = () => writer(how)
    }
    return {
      state: { appender: state, told, indexed, settled, count },
      tasks,
      daemons: ['appender'],
      never: () => ({
        'segment-left-or-taken-twice': state.overlapFaults > 0,
        'acknowledged-before-durable': told.some(
          ({ number, outcome }) => outcome === 'durable' && !state.drive.durable.includes(number),
        ),
        'indexed-before-durable': indexed.some((number) => !state.drive.durable.includes(number)),
        'settled-out-of-turn': settled.some(
          (number, at) => number < Math.max(0, ...settled.slice(0, at)) && scene.hasDelete !== true,
        ),
        'settled-twice': new Set(settled).size < settled.length,
      }),
      neverAtEnd: () => ({
        'failed-without-a-failure': state.losses === 0 && told.some(({ outcome }) => outcome === 'failed'),
        'durable-and-told-otherwise': told.some(
          ({ number, outcome }) => outcome === 'failed' && state.drive.durable.includes(number),
        ),
      }),
      leaks: () => ({ entries: state.commit.queue.length + state.commit.writing.length + state.commit.syncing.length }),
      eventually: () => ({ 'the queue is empty': state.commit.queue.length === 0 }),
    }
  }
  return { name, setup }
}

export const COMMIT: Suite<StoreCores> = {
  name: 'a group is written while the one before it is synced',
  smallest: (cores) => [
    overlap(cores, 'commit: 2 writers', { writers: 2, failures: 0 }),
    overlap(cores, 'commit: 2 writers, 1 failure', { writers: 2, failures: 1 }),
  ],
  larger: (cores) => [
    overlap(cores, 'commit: 3 writers, 1 failure', { writers: 3, failures: 1 }),
    overlap(cores, 'commit: 4 writers', { writers: 4, failures: 0 }),
    overlap(cores, 'commit: 3 writers, 2 of them lazy', { writers: 3, failures: 0, lazy: 2 }),
    overlap(cores, 'commit: 3 writers, one of them deletes, 2 failures', { writers: 3, failures: 2, hasDelete: true }),
  ],
  mutants: [
    {
      name: 'a sync counts what was written while it ran',
      file: 'journal/commit-core.ts',
      find: 'const durable = core.syncing',
      replace: 'const durable = [...core.syncing, ...core.unsynced.splice(0)]',
      expect: 'indexed-before-durable',
    },
    {
      name: 'a sync that failed leaves out its own epoch',
      file: 'journal/commit-core.ts',
      find: 'core.unsynced.unshift(...core.syncing)',
      replace: '',
      expect: 'deadlock',
    },
    {
      name: 'a sync that failed does not wait for the write in flight',
      file: 'journal/commit-core.ts',
      find: "if (core.state.tag !== 'failing' || core.writing.length > 0 || core.syncing.length > 0) return undefined",
      replace: "if (core.state.tag !== 'failing' || core.syncing.length > 0) return undefined",
      expect: 'segment-left-or-taken-twice',
    },
    {
      name: 'a write that failed does not wait for the sync in flight',
      file: 'journal/commit-core.ts',
      find: "if (core.state.tag !== 'failing' || core.writing.length > 0 || core.syncing.length > 0) return undefined",
      replace: "if (core.state.tag !== 'failing' || core.writing.length > 0) return undefined",
      expect: 'segment-left-or-taken-twice',
    },
    {
      name: 'a second group is written while the first is in flight',
      file: 'journal/commit-core.ts',
      find: 'if (first === undefined || core.writing.length > 0) return',
      replace: 'if (first === undefined) return',
      expect: 'segment-left-or-taken-twice',
    },
    {
      name: 'a second sync begins while the first is in flight',
      file: 'journal/commit-core.ts',
      find: 'if (core.syncing.length === 0 && core.unsynced.length > 0 && isPressing(core, room)) {',
      replace: 'if (core.unsynced.length > 0 && isPressing(core, room)) {',
      expect: 'segment-left-or-taken-twice',
    },
    {
      name: 'a segment is left while a sync of it is in flight',
      file: 'journal/commit-core.ts',
      find: 'if (core.unsynced.length > 0 || core.syncing.length > 0) return',
      replace: 'if (core.unsynced.length > 0) return',
      expect: 'segment-left-or-taken-twice',
    },
    {
      name: 'a group is refused before those ahead of it have their outcome',
      file: 'journal/commit-core.ts',
      find: "return core.unsynced.length + core.syncing.length > 0 ? { tag: 'idle' } : { tag: 'refuse' }",
      replace: "return { tag: 'refuse' }",
      expect: 'segment-left-or-taken-twice',
    },
    {
      name: 'a full segment is not synced for what waits behind it',
      file: 'journal/commit-core.ts',
      find: 'return first !== undefined && first.bytes > room && core.writing.length === 0',
      replace: 'return false',
      model: 'commit: 3 writers, 2 of them lazy',
      expect: 'deadlock',
    },
  ],
}
