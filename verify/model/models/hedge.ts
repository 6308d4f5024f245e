/**
 * A hedged lookup: first legs, a delay, second legs. One winner, everybody else aborted, and no error wins
 * while somebody may still answer.
 */
import type { HedgeStep } from '../../../packages/kernel/src/policy/hedge-core.ts'
import { type Model, select, step, type Task } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

interface LegState {
  started: boolean
  ended: boolean
  aborted: boolean
}

function hedgedLookup(cores: KernelCores, name: string, { first, second }: { first: number; second: number }): Model {
  const { hedge: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const hedge = core.createHedge(first, second)
    const legs: LegState[] = Array.from({ length: first + second }, (_, leg) => ({
      started: leg < first,
      ended: false,
      aborted: false,
    }))
    const history = { verdicts: 0, isSecondLate: false, isErrorHasty: false }

    const apply = (decision: HedgeStep): void => {
      if (decision === 'start-second') {
        history.isSecondLate ||= history.verdicts > 0
        for (const leg of legs.slice(first)) leg.started = true
      }
      if (decision === 'lost') history.isErrorHasty ||= legs.some((leg) => !leg.ended)
      if (decision === 'won' || decision === 'lost') history.verdicts += 1
      if (decision === 'won' && hedge.state.tag === 'won') {
        for (const loser of hedge.state.losers) Object.assign(legs[loser] ?? {}, { aborted: true })
      }
    }

    function* leg(self: number): Task {
      const state = legs[self]
      if (state === undefined) return
      const runs = (): boolean => state.started && !state.aborted
      const isOver = (): boolean => state.aborted || (!state.started && history.verdicts > 0)
      const how = yield select('asks its peer', { answers: runs, fails: runs, 'is aborted': isOver })
      state.ended = true
      if (how === 'answers') apply(core.legSatisfied(hedge, self))
      if (how === 'fails') apply(core.legFailed(hedge, self))
    }

    const tasks: Record<string, () => Task> = {}
    for (const self of legs.keys())
      tasks[self < first ? `first-${self + 1}` : `second-${self - first + 1}`] = () => leg(self)
    tasks['timer'] = function* () {
      yield step('the delay is over')
      apply(core.delayOver(hedge))
    }

    return {
      state: { hedge, legs, history },
      tasks,
      never: () => ({
        'two-verdicts': history.verdicts > 1,
        'second-after-verdict': history.isSecondLate,
        'error-beats-pending-leg': history.isErrorHasty,
        'loser-not-aborted':
          history.verdicts > 0 && legs.some(({ started, ended, aborted }) => started && !ended && !aborted),
      }),
      neverAtEnd: () => ({ 'no-verdict': history.verdicts === 0 }),
    }
  }
  return { name, setup }
}

export const HEDGE: Suite<KernelCores> = {
  name: 'hedged lookup',
  smallest: (cores) => [
    hedgedLookup(cores, 'hedge: 1 first leg, 1 second', { first: 1, second: 1 }),
    hedgedLookup(cores, 'hedge: 2 first legs, 1 second', { first: 2, second: 1 }),
  ],
  larger: (cores) => [hedgedLookup(cores, 'hedge: 3 first legs, 2 second', { first: 3, second: 2 })],
  mutants: [
    {
      name: 'a loser is forgotten',
      file: 'policy/hedge-core.ts',
      find: 'filter((other) => other !== leg)',
      replace: 'filter((other) => other < leg)',
      expect: 'loser-not-aborted',
    },
    {
      name: 'an error wins over the last pending leg',
      file: 'policy/hedge-core.ts',
      find: 'if (pending.size > 0) {',
      replace: 'if (pending.size > 1) {',
      expect: 'error-beats-pending-leg',
    },
    {
      name: 'a late timer starts the second legs',
      file: 'policy/hedge-core.ts',
      find: "if (hedge.state.tag !== 'first' || hedge.second === 0) return 'ignore'",
      replace: "if (hedge.second === 0) return 'ignore'",
      expect: 'second-after-verdict',
    },
  ],
}
