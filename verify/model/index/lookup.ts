/**
 * A hedged lookup whose peers find, know nothing, fail or stay silent, each when it likes, and whose timers come when
 * they like: before an answer, after it, or after the end.
 *
 *     leg 1 … n ── found, nothing, failed ──▶ lookup ──▶ start, again, gather, end ──▶ leg 1 … n
 *     hedge delay, pauses, gathering, budget ──▶
 */
import type { LookupEnd, LookupShape, LookupStep } from '../../../services/index/src/domain/hedged-lookup-core.ts'
import { choose, type Model, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { IndexCores } from './cores.ts'

type Deed = 'finds' | 'knows nothing' | 'fails'

function looking(cores: IndexCores, name: string, shape: LookupShape, deeds: readonly Deed[]): Model {
  const { lookup: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const lookup = core.createLookup(shape)
    const legs = shape.sources.map(() => ({ asked: 0, done: 0, isPausing: false }))
    const history = { answered: [] as number[], isGathering: false, found: [] as number[], faults: [] as string[] }
    const ends: LookupEnd[] = []

    const follow = (steps: readonly LookupStep[]): void => {
      for (const each of steps) {
        if (ends.length > 0) history.faults.push(each.tag === 'end' ? 'ended-twice' : 'asked-after-the-end')
        if (each.tag === 'end') ends.push(each.end)
        if (each.tag === 'gather') history.isGathering = true
        if (each.tag === 'start' || each.tag === 'retry') note(each.leg, each.tag)
      }
    }

    const note = (at: number, tag: 'start' | 'retry'): void => {
      const leg = legs[at]
      if (leg === undefined) return
      if (history.found.length >= shape.quorum) history.faults.push('asked-though-found')
      if (leg.asked > leg.done) history.faults.push('asked-twice-at-once')
      if (tag === 'retry') leg.isPausing = true
      else leg.asked += 1
      if (leg.asked > shape.tries) history.faults.push('asked-too-often')
    }

    function* run(at: number): Task {
      const leg = legs[at]
      if (leg === undefined) return
      for (;;) {
        const next = yield select('waits to be asked', {
          asked: () => leg.asked > leg.done,
          paused: () => leg.isPausing,
          over: () => ends.length > 0,
        })
        if (next === 'over') return
        if (next === 'paused') {
          leg.isPausing = false
          follow(core.pauseOver(lookup, at))
          continue
        }
        const deed = yield choose('answers', [...deeds, 'stays silent'])
        leg.done += 1
        if (deed === 'stays silent') yield wait('is aborted', () => ends.length > 0)
        if (ends.length > 0) return
        if (deed === 'finds') {
          if (!history.found.includes(at)) history.found.push(at)
          follow(core.providerFound(lookup, at, true))
          yield step('has no more')
        }
        if (deed === 'fails') follow(core.legFailed(lookup, at, true))
        else {
          history.answered.push(at)
          follow(core.legAnswered(lookup, at))
        }
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (let at = 0; at < shape.sources.length; at += 1) tasks[`leg-${at + 1}`] = () => run(at)
    tasks['lookup'] = function* () {
      yield step('begins')
      follow(core.begin(lookup))
    }
    tasks['hedge'] = function* () {
      yield wait('has waited', () => lookup.legs.length > 0)
      follow(core.delayOver(lookup))
    }
    tasks['gathering'] = function* () {
      yield wait('is over', () => history.isGathering || ends.length > 0)
      follow(core.gatherOver(lookup))
    }
    tasks['budget'] = function* () {
      yield wait('is gone', () => lookup.legs.length > 0 || ends.length > 0)
      follow(core.budgetOver(lookup))
    }

    /** As a reader of the specification would count: a network by its ways, an index by itself. */
    const haveAllAnswered = (): boolean => {
      const names = [...new Set(shape.sources)]
      const done = names.filter((name) => {
        const ways = shape.sources.flatMap((source, at) => (source === name ? [at] : []))
        return ways.filter((at) => history.answered.includes(at)).length >= Math.min(shape.alpha, ways.length)
      })
      return done.length >= Math.min(shape.alpha + shape.beta, names.length)
    }
    return {
      state: { lookup, legs, history, ends },
      tasks,
      never: () => ({
        ...Object.fromEntries(history.faults.map((fault) => [fault, true])),
        'not-found-though-others-may-know': ends.includes('not-found') && !haveAllAnswered(),
        'not-found-though-found': ends.includes('not-found') && history.found.length > 0,
        'gave-up-with-ways-left': ends.includes('failed') && lookup.legs.length < shape.sources.length,
      }),
      neverAtEnd: () => ({ 'never-ended': ends.length === 0 }),
      eventually: () => ({ 'the lookup ends': ends.length > 0 }),
    }
  }
  return { name, setup }
}

const FILE = 'domain/hedged-lookup-core.ts'

export const LOOKUP: Suite<IndexCores> = {
  name: 'a hedged lookup',
  smallest: (cores) => [
    looking(
      cores,
      'lookup: 2 indexes, one of them hedged',
      { sources: ['a', 'b'], alpha: 1, beta: 1, quorum: 1, tries: 1 },
      ['finds', 'knows nothing'],
    ),
    looking(cores, 'lookup: 1 leg, 2 tries', { sources: ['a'], alpha: 1, beta: 0, quorum: 1, tries: 2 }, [
      'finds',
      'fails',
    ]),
  ],
  larger: (cores) => [
    looking(cores, 'lookup: 3 legs, 2 first', { sources: ['a', 'b', 'c'], alpha: 2, beta: 1, quorum: 1, tries: 1 }, [
      'finds',
      'fails',
    ]),
    looking(
      cores,
      'lookup: 3 ways into one network',
      { sources: ['a', 'a', 'a'], alpha: 2, beta: 1, quorum: 1, tries: 1 },
      ['finds', 'knows nothing'],
    ),
    looking(
      cores,
      'lookup: a network and an index',
      { sources: ['a', 'b', 'a'], alpha: 2, beta: 0, quorum: 1, tries: 1 },
      ['knows nothing', 'fails'],
    ),
    looking(cores, 'lookup: 2 legs, quorum of 2', { sources: ['a', 'b'], alpha: 2, beta: 0, quorum: 2, tries: 2 }, [
      'finds',
      'knows nothing',
      'fails',
    ]),
  ],
  mutants: [
    {
      name: 'the hedge goes out though somebody was found',
      file: FILE,
      find: "if (lookup.phase.tag !== 'asking' || lookup.isHedged) return []",
      replace: 'if (lookup.isHedged) return []',
      expect: 'asked-though-found',
    },
    {
      name: 'the first wave is enough to say not found',
      file: FILE,
      find: 'return done >= Math.min(alpha + beta, answers.size)',
      replace: 'return done >= Math.min(alpha, answers.size)',
      expect: 'not-found-though-others-may-know',
    },
    {
      name: 'one way into a network speaks for all of it',
      file: FILE,
      find: 'row.answered >= Math.min(alpha, row.legs)',
      replace: 'row.answered >= 1',
      expect: 'not-found-though-others-may-know',
    },
    {
      name: 'the second wave is not sent when the first knows nothing',
      file: FILE,
      find: "return more.length > 0 ? more : end(lookup, 'failed')",
      replace: "return end(lookup, 'failed')",
      expect: 'gave-up-with-ways-left',
    },
    {
      name: 'what was found is forgotten',
      file: FILE,
      find: "if (lookup.hasAny) return isBusy ? [] : end(lookup, 'found')",
      replace: '',
      expect: 'not-found-though-found',
    },
    {
      name: 'a leg is asked for ever',
      file: FILE,
      find: 'if (!isRetryable || failed.tries >= lookup.shape.tries) return judge(lookup)',
      replace: 'if (!isRetryable) return judge(lookup)',
      expect: 'asked-too-often',
    },
    {
      name: 'a pause that ends after the lookup asks again',
      file: FILE,
      find: "if (lookup.phase.tag !== 'asking' || pausing?.state !== 'pausing') return []",
      replace: "if (pausing?.state !== 'pausing') return []",
      expect: 'asked-after-the-end',
    },
  ],
}
