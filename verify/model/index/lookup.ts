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
    const legs = Array.from({ length: shape.legs }, () => ({ asked: 0, done: 0, isPausing: false }))
    const book = { answered: 0, isGathering: false, found: [] as number[], faults: [] as string[] }
    const ends: LookupEnd[] = []

    const follow = (steps: readonly LookupStep[]): void => {
      for (const each of steps) {
        if (ends.length > 0) book.faults.push(each.tag === 'end' ? 'ended-twice' : 'asked-after-the-end')
        if (each.tag === 'end') ends.push(each.end)
        if (each.tag === 'gather') book.isGathering = true
        if (each.tag === 'start' || each.tag === 'retry') note(each.leg, each.tag)
      }
    }

    const note = (at: number, tag: 'start' | 'retry'): void => {
      const leg = legs[at]
      if (leg === undefined) return
      if (book.found.length >= shape.quorum) book.faults.push('asked-though-found')
      if (leg.asked > leg.done) book.faults.push('asked-twice-at-once')
      if (tag === 'retry') leg.isPausing = true
      else leg.asked += 1
      if (leg.asked > shape.tries) book.faults.push('asked-too-often')
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
          if (!book.found.includes(at)) book.found.push(at)
          follow(core.providerFound(lookup, at, `peer-${at}`, true))
          yield step('has no more')
        }
        if (deed === 'fails') follow(core.legFailed(lookup, at, true))
        else {
          book.answered += 1
          follow(core.legAnswered(lookup, at))
        }
      }
    }

    const tasks: Record<string, () => Task> = {}
    for (let at = 0; at < shape.legs; at += 1) tasks[`leg-${at + 1}`] = () => run(at)
    tasks['lookup'] = function* () {
      yield step('begins')
      follow(core.begin(lookup))
    }
    tasks['hedge'] = function* () {
      yield wait('has waited', () => lookup.legs.length > 0)
      follow(core.delayOver(lookup))
    }
    tasks['gathering'] = function* () {
      yield wait('is over', () => book.isGathering || ends.length > 0)
      follow(core.gatherOver(lookup))
    }
    tasks['budget'] = function* () {
      yield wait('is gone', () => lookup.legs.length > 0 || ends.length > 0)
      follow(core.budgetOver(lookup))
    }

    const needed = Math.min(shape.alpha, shape.legs)
    return {
      state: { lookup, legs, book, ends },
      tasks,
      never: () => ({
        ...Object.fromEntries(book.faults.map((fault) => [fault, true])),
        'nobody-though-too-few-answered': ends.includes('nobody') && book.answered < needed,
        'nobody-though-found': ends.includes('nobody') && book.found.length > 0,
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
    looking(cores, 'lookup: 2 legs, one of them hedged', { legs: 2, alpha: 1, beta: 1, quorum: 1, tries: 1 }, [
      'finds',
    ]),
    looking(cores, 'lookup: 1 leg, 2 tries', { legs: 1, alpha: 1, beta: 0, quorum: 1, tries: 2 }, ['finds', 'fails']),
  ],
  larger: (cores) => [
    looking(cores, 'lookup: 3 legs, 2 first', { legs: 3, alpha: 2, beta: 1, quorum: 1, tries: 1 }, ['finds', 'fails']),
    looking(cores, 'lookup: 2 legs, quorum of 2', { legs: 2, alpha: 2, beta: 0, quorum: 2, tries: 2 }, [
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
      name: 'one answer is enough to say that nobody has it',
      file: FILE,
      find: 'const isAnswered = answered >= Math.min(shape.alpha, shape.legs)',
      replace: 'const isAnswered = answered >= 1',
      expect: 'nobody-though-too-few-answered',
    },
    {
      name: 'what was found is forgotten',
      file: FILE,
      find: "if (lookup.hasAny) return isBusy ? [] : end(lookup, 'found')",
      replace: '',
      expect: 'nobody-though-found',
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
