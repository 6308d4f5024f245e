/**
 * Puts of the same chunk at the same time: one is written, the others join it.
 *
 *     put-1 ── write ──▶ [ line ] ─▶ write ─▶ sync ─▶ told: new
 *     put-2 ── joins ──────┘                    └───▶ told: present        if it fails, both are told so
 */
import { type Model, type Steps, step, type Task, wait } from '../model.ts'
import { Signal, waitIn } from '../models/shell.ts'
import type { Suite } from '../suite.ts'
import { createChunkShell, type Write } from './chunk-shell.ts'
import type { StoreCores } from './cores.ts'

interface Scene {
  readonly puts: number
  readonly failures: number
  /** A put that waits only for its bytes to be written, and syncs at the end of its stream. */
  readonly hasStream?: boolean
  /** The first put's caller may go away. */
  readonly mayLeave?: boolean
}

interface Told {
  readonly who: string
  readonly write: Write | undefined
  readonly outcome: string
}

function dedupe(cores: StoreCores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const shell = createChunkShell(cores, { isStored: false, failures: scene.failures })
    const told: Told[] = []
    const leaving = new Signal()

    function* finish(who: string, write: Write, signal?: Signal): Task {
      const outcome = yield* shell.durable(write, signal === undefined ? {} : { signal })
      told.push({ who, write, outcome })
    }

    function* put(who: string, signal?: Signal): Task {
      yield step('puts the chunk')
      const submitted = shell.submit(who)
      if (submitted === 'present') told.push({ who, write: undefined, outcome: 'durable' })
      else if (submitted === 'unready') told.push({ who, write: undefined, outcome: 'failed' })
      else yield* finish(who, submitted.write, signal)
    }

    function* written(write: Write): Steps<void> {
      if (write.state.tag !== 'queued' && write.state.tag !== 'writing') return
      yield* waitIn(write.untilWritten, { label: 'uses its buffer again', locals: write })
    }

    function* stream(): Task {
      yield step('streams the chunk')
      const submitted = shell.submit('stream', true)
      if (submitted === 'present' || submitted === 'unready') return
      yield* written(submitted.write)
      yield step('ends the stream', submitted.write)
      yield* finish('stream', submitted.write)
    }

    const tasks: Record<string, () => Task> = { appender: shell.appender }
    for (let count = 1; count <= scene.puts; count += 1) {
      const who = `put-${count}`
      tasks[who] = () => put(who, count === 1 && scene.mayLeave === true ? leaving : undefined)
    }
    if (scene.hasStream === true) tasks['stream'] = stream
    if (scene.mayLeave === true) {
      tasks['caller'] = function* () {
        yield wait('goes away', () => true)
        leaving.abort()
      }
    }

    const outcomesOf = (write: Write): Set<string> =>
      new Set(told.filter((each) => each.write === write && each.outcome !== 'canceled').map(({ outcome }) => outcome))
    return {
      state: { shell: shell.state, told, leaving },
      tasks,
      daemons: ['appender'],
      never: () => ({
        'acknowledged-before-durable': told.some(({ outcome }) => outcome === 'durable') && !shell.isOnDrive(),
        'exists-before-durable': shell.exists() && !shell.isOnDrive(),
        'outcome-not-shared': told.some(({ write }) => write !== undefined && outcomesOf(write).size > 1),
        'chunk-stored-twice': shell.isStoredTwice(),
      }),
      neverAtEnd: () => ({
        'failed-without-a-failure':
          shell.state.appender.losses === 0 && told.some(({ outcome }) => outcome === 'failed'),
      }),
      leaks: () => shell.leaks(),
      eventually: () => ({ 'the line is empty': shell.state.appender.commit.queue.length === 0 }),
    }
  }
  return { name, setup }
}

export const DEDUPE: Suite<StoreCores> = {
  name: 'a put of a chunk joins the one under way',
  smallest: (cores) => [
    dedupe(cores, 'dedupe: 2 puts', { puts: 2, failures: 0 }),
    dedupe(cores, 'dedupe: 2 puts, 1 failure', { puts: 2, failures: 1 }),
  ],
  larger: (cores) => [
    dedupe(cores, 'dedupe: 3 puts, 1 failure', { puts: 3, failures: 1 }),
    dedupe(cores, 'dedupe: 2 puts, 1 stream, 1 failure', { puts: 2, failures: 1, hasStream: true }),
    dedupe(cores, 'dedupe: 2 puts, the first may leave, 1 failure', { puts: 2, failures: 1, mayLeave: true }),
  ],
  mutants: [
    {
      name: 'a chunk on its way counts as present',
      file: 'chunk/presence-core.ts',
      find: "return underWay.tag === 'put' ? { tag: 'join', token: underWay.token } : { tag: 'write' }",
      replace: "return underWay.tag === 'put' ? { tag: 'present' } : { tag: 'write' }",
      expect: 'acknowledged-before-durable',
    },
    {
      name: 'a put does not join the one under way',
      file: 'chunk/presence-core.ts',
      find: "return underWay.tag === 'put' ? { tag: 'join', token: underWay.token } : { tag: 'write' }",
      replace: "return { tag: 'write' }",
      expect: 'chunk-stored-twice',
    },
    {
      name: 'a put that ended is still under way',
      file: 'chunk/presence-core.ts',
      find: 'if (presence.get(id)?.token === token) presence.delete(id)',
      replace: 'if (presence.get(id)?.token !== token) presence.delete(id)',
      expect: 'leak',
    },
    {
      name: 'written is taken for durable',
      file: 'journal/commit-core.ts',
      find: 'for (const entry of written) entry.untilWritten.wakeAll(undefined)',
      replace: 'for (const entry of written) entry.untilDurable.wakeAll(undefined)',
      expect: 'acknowledged-before-durable',
    },
    {
      name: 'a failure leaves out what was written and not yet synced',
      file: 'journal/commit-core.ts',
      find: 'const failed = [...core.unsynced, ...core.queue]',
      replace: 'const failed = [...core.queue]',
      expect: 'deadlock',
    },
    {
      name: 'nobody syncs because somebody waits',
      file: 'journal/commit-core.ts',
      find: '|| core.unsynced.some((each) => each.wantsSync)',
      replace: '',
      expect: 'deadlock',
    },
    {
      name: 'whoever failed is not told so',
      file: 'journal/commit-core.ts',
      find: "for (const entry of failed) entry.state = { tag: 'failed', error }",
      replace: "for (const entry of failed) entry.state = { tag: 'durable' }",
      expect: 'acknowledged-before-durable',
    },
  ],
}
