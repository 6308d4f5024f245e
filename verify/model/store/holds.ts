/**
 * A delete races a hold, its release, and a start that has not read every hold yet.
 *
 *     holder   ── hold in line ─▶ durable, told ── release in line ─▶ durable
 *     deleter  ── held? ── no: tombstone in line, in the same step ─▶ durable
 *     loader   ── the segment with the hold of an earlier life is read
 *
 * The log is the judge: no object is gone in it that was held when its tombstone was written.
 */
import { type Faults, type Model, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { StoreCores } from './cores.ts'

interface Scene {
  /** Somebody holds the object from before the start, and the index has yet to read it. */
  readonly isHeldBefore: boolean
  /** What is done meanwhile, in this order. */
  readonly holder: readonly ('hold' | 'release')[]
  /** How often the drive may refuse what was in line. */
  readonly failures: number
}

const OBJECT = 'o'
type LogRecord = 'hold' | 'release' | 'deletion'

interface Queued {
  readonly record: LogRecord
  readonly onSettled: (isDurable: boolean) => void
}

function holdsRace(cores: StoreCores, name: string, scene: Scene): Model {
  const { holds } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const core = holds.createHolds()
    const log: LogRecord[] = scene.isHeldBefore ? ['hold'] : []
    const state = { line: [] as Queued[], durable: 0, isGone: false, isComplete: !scene.isHeldBefore, failures: 0 }
    const submit = (record: LogRecord, settle = (): void => undefined): { outcome: string } => {
      const told = { outcome: 'waits' }
      const onSettled = (isDurable: boolean): void => {
        settle()
        told.outcome = isDurable ? 'durable' : 'failed'
      }
      state.line.push({ record, onSettled })
      return told
    }
    const taken = (record: LogRecord): void => {
      log.push(record)
      if (record === 'deletion') state.isGone = true
      else state.durable = record === 'hold' ? 1 : 0
    }

    function* appender(): Task {
      for (;;) {
        yield wait('syncs what is in line', () => state.line.length > 0)
        for (const { record, onSettled } of state.line.splice(0)) {
          taken(record)
          onSettled(true)
        }
      }
    }

    function* drive(): Task {
      while (state.failures < scene.failures) {
        yield wait('refuses what is in line', () => state.line.length > 0)
        state.failures += 1
        for (const { onSettled } of state.line.splice(0)) onSettled(false)
      }
    }

    function* loader(): Task {
      yield step('reads the segment with the hold of before')
      if (scene.isHeldBefore && !log.includes('release')) state.durable = 1
      state.isComplete = true
    }

    function* holder(): Task {
      for (const what of scene.holder) {
        yield step(what === 'hold' ? 'holds the object' : 'releases it')
        const isGoing = state.isGone || state.line.some(({ record }) => record === 'deletion')
        if (isGoing || (what === 'release' && state.durable === 0)) return
        const turn = what === 'hold' ? holds.begin(core, OBJECT, ['someone']) : 0
        const told = submit(what, () => holds.settle(core, OBJECT, turn))
        yield wait('hears of it', () => told.outcome !== 'waits', told)
        if (told.outcome === 'failed') return
      }
    }

    function* deleter(): Task {
      yield step('deletes the object')
      const verdict = holds.judge(core, OBJECT, { durable: state.durable, isComplete: state.isComplete })
      if (verdict !== 'free') return
      const told = submit('deletion')
      yield wait('hears that it is gone', () => told.outcome !== 'waits', told)
    }

    return {
      state: { core, log, shell: state },
      tasks: { appender, drive, loader, holder, deleter },
      daemons: ['appender', 'drive'],
      never: () => faultsOf(log),
      leaks: () => ({ 'holds in line': core.coming.size }),
      eventually: () => ({ 'the line is empty': state.line.length === 0 }),
    }
  }
  return { name, setup }
}

function faultsOf(log: readonly LogRecord[]): Faults {
  const gone = log.indexOf('deletion')
  const before = log.slice(0, Math.max(0, gone)).findLast((record) => record !== 'deletion')
  return {
    'held-object-deleted': gone >= 0 && before === 'hold',
    'hold-of-nothing': gone >= 0 && log.slice(gone).includes('hold'),
  }
}

export const HOLDS: Suite<StoreCores> = {
  name: 'a delete races holds',
  smallest: (cores) => [
    holdsRace(cores, 'holds: one is taken', { isHeldBefore: false, holder: ['hold'], failures: 0 }),
    holdsRace(cores, 'holds: one of before is not read yet', { isHeldBefore: true, holder: [], failures: 0 }),
  ],
  larger: (cores) => [
    holdsRace(cores, 'holds: taken and released', { isHeldBefore: false, holder: ['hold', 'release'], failures: 1 }),
    holdsRace(cores, 'holds: one of before is released and taken again', {
      isHeldBefore: true,
      holder: ['release', 'hold'],
      failures: 1,
    }),
  ],
  mutants: [
    {
      name: 'a delete trusts holds that were not all read',
      file: 'object/holds-core.ts',
      find: "return isComplete ? 'free' : 'unknown'",
      replace: "return 'free'",
      expect: 'held-object-deleted',
    },
    {
      name: 'a hold in line does not count',
      file: 'object/holds-core.ts',
      find: "if (core.coming.has(object)) return 'held'",
      replace: '',
      expect: 'held-object-deleted',
    },
    {
      name: 'a hold counts only while it is in line',
      file: 'object/holds-core.ts',
      find: "if (durable > 0) return 'held'",
      replace: '',
      expect: 'held-object-deleted',
    },
    {
      name: 'a hold that failed counts for ever',
      file: 'object/holds-core.ts',
      find: 'if (coming?.size === 0) core.coming.delete(object)',
      replace: '',
      expect: 'leak',
    },
  ],
}
