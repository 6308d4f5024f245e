/**
 * Lookups that hand their answers to the cache's one writer through a queue that is too small.
 *
 *     lookup ── found ──▶ answer                               every lookup is answered,
 *         └── keep ──▶ queue of 1 ──▶ janitor ──▶ cache ──▶ reader     and what is read is neither old nor pushed out
 */
import * as queues from '../../../packages/kernel/src/channel/queue-core.ts'
import type { CacheWrite, CacheWriteQueue } from '../../../services/index/src/domain/cache-core.ts'
import { type Model, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { IndexCores } from './cores.ts'

const TTL = 1

function keeping(cores: IndexCores, name: string, keys: readonly string[], entries: number): Model {
  const { cache: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const cache = core.createCache<string>()
    const writes = queues.createQueue<CacheWrite<string>>({ capacity: 1, overflow: 'reject' })
    const line: CacheWriteQueue<string> = { trySend: (write) => queues.trySend(writes, write, 'normal') }
    const clock = { now: 0 }
    const history = { answered: 0, lost: 0, isStale: false, isPushedOut: false, isWrong: false }
    const isPinned = (key: string): boolean => key.startsWith('pinned')

    function* lookup(key: string): Task {
      yield step('finds')
      const entry = { value: key, storedAt: clock.now, expiresAt: clock.now + TTL }
      if (core.leaveWrite(line, { key, entry }) === 'lost') history.lost += 1
      yield step('answers', entry)
      history.answered += 1
    }

    function* janitor(): Task {
      for (;;) {
        yield wait('has a write', () => queues.depth(writes) > 0)
        const next = queues.tryReceive(writes)
        if (next?.tag !== 'item') return
        const kept = [...cache.entries].filter(([key, { expiresAt }]) => isPinned(key) && clock.now < expiresAt)
        const { key, entry } = next.item
        if (entry === undefined) core.forgetEntry(cache, key)
        else core.writeEntry(cache, key, entry, { entries, isPinned })
        const isGone = kept.some(([each]) => each !== key && !cache.entries.has(each))
        history.isPushedOut ||= isGone || (entry !== undefined && !cache.entries.has(key))
      }
    }

    function* reader(): Task {
      for (let time = 0; time < 2; time += 1) {
        yield step('reads', time)
        for (const key of keys) {
          const entry = core.readEntry(cache, key, clock.now)
          if (entry === undefined) continue
          history.isStale ||= clock.now - entry.storedAt >= TTL
          history.isWrong ||= entry.value !== key
        }
      }
    }

    const tasks: Record<string, () => Task> = { janitor, reader }
    for (const [at, key] of keys.entries()) tasks[`lookup-${at + 1}`] = () => lookup(key)
    tasks['clock'] = function* () {
      yield select('passes', { now: () => true })
      clock.now += TTL
      core.sweepEntries(cache, clock.now)
    }
    return {
      state: {
        cache,
        clock,
        history,
        get queued() {
          return [...writes.normal]
        },
      },
      tasks,
      daemons: ['janitor'],
      never: () => ({
        'stale-answer': history.isStale,
        'answer-of-another-key': history.isWrong,
        'pushed-out': history.isPushedOut,
      }),
      neverAtEnd: () => ({
        'answer-lost': history.answered < keys.length,
        'write-neither-kept-nor-counted': writes.sent + history.lost !== keys.length,
      }),
      leaks: () => ({ queued: queues.depth(writes) }),
    }
  }
  return { name, setup }
}

export const CACHE: Suite<IndexCores> = {
  name: 'the cache and its one writer',
  smallest: (cores) => [keeping(cores, 'cache: 2 lookups, room for 1 write', ['a', 'b'], 2)],
  larger: (cores) => [
    keeping(cores, 'cache: 3 lookups, one pinned, room for 2', ['pinned', 'a', 'b'], 2),
    keeping(cores, 'cache: 3 lookups, two pinned, room for 2', ['pinned 1', 'pinned 2', 'a'], 2),
  ],
  mutants: [
    {
      name: 'a full queue fails the lookup',
      file: 'domain/cache-core.ts',
      find: "return line.trySend(write) === 'full' ? 'lost' : 'left'",
      replace: "if (line.trySend(write) === 'full') throw new Error('The queue is full.'); return 'left'",
      expect: 'exception',
    },
    {
      name: 'the lookup tries until there is room',
      file: 'domain/cache-core.ts',
      find: "return line.trySend(write) === 'full' ? 'lost' : 'left'",
      replace:
        "for (let n = 0; n < 9; n += 1) if (line.trySend(write) === 'sent') return 'left'; throw new Error('It hangs.')",
      expect: 'exception',
    },
    {
      name: 'a write that is lost counts as kept',
      file: 'domain/cache-core.ts',
      find: "return line.trySend(write) === 'full' ? 'lost' : 'left'",
      replace: "line.trySend(write); return 'left'",
      expect: 'write-neither-kept-nor-counted',
    },
    {
      name: 'an entry is read after it has expired',
      file: 'domain/cache-core.ts',
      find: 'return entry !== undefined && now < entry.expiresAt ? entry : undefined',
      replace: 'return entry',
      expect: 'stale-answer',
    },
    {
      name: 'what is pinned is pushed out',
      file: 'domain/cache-core.ts',
      find: 'if (oldest === key || limit.isPinned(oldest)) continue',
      replace: 'if (oldest === key) continue',
      expect: 'pushed-out',
    },
    {
      name: 'what was just written is pushed out',
      file: 'domain/cache-core.ts',
      find: 'if (oldest === key || limit.isPinned(oldest)) continue',
      replace: 'if (limit.isPinned(oldest)) continue',
      expect: 'pushed-out',
    },
  ],
}
