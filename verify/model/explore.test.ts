import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exploreDepthFirst } from './depth-first.ts'
import { exploreHashed } from './hashed.ts'
import { choose, type Model, type Setup, select, step, type Task, wait } from './model.ts'
import { faultNames, type Outcome, scheduleOf } from './outcome.ts'
import { explorePct } from './pct.ts'
import { replay } from './replay.ts'
import { assertAgreement } from './suite.ts'

function model(setup: () => Setup): Model {
  return { name: 'toy', setup }
}

/** Two tasks read a counter and later write what they read plus one: the classic lost update. */
const lostUpdate = model(() => {
  const state = { counter: 0 }
  function* increment(): Task {
    yield step('reads')
    const seen = state.counter
    yield step('writes', seen)
    state.counter = seen + 1
  }
  return {
    state,
    tasks: { left: increment, right: increment },
    neverAtEnd: () => ({ 'update-lost': state.counter !== 2 }),
  }
})

function shortest(outcome: Outcome, fault: string): string {
  const failure = outcome.failures.get(fault)
  assert.ok(failure, `${fault} was not found`)
  return scheduleOf(outcome, failure)
}

test('depth-first runs every interleaving and hashed visits every state once', () => {
  const independent = model(() => {
    const state = { left: 0, right: 0 }
    function* count(side: 'left' | 'right'): Task {
      yield step('counts to one')
      state[side] = 1
      yield step('counts to two')
      state[side] = 2
    }
    return { state, tasks: { left: () => count('left'), right: () => count('right') } }
  })
  assert.equal(exploreDepthFirst(independent).runs, 6)
  assert.equal(exploreHashed(independent).states, 9)
})

test('all strategies find a lost update, and the hashed one by a shortest schedule', () => {
  const hashed = exploreHashed(lostUpdate)
  assert.equal(shortest(hashed, 'update-lost'), 'abab')
  assert.equal(exploreDepthFirst(lostUpdate).failures.get('update-lost')?.count, 4)
  assert.ok(explorePct(lostUpdate, { seed: 1 }).failures.has('update-lost'))
})

test('a schedule string replays its failure, and another schedule does not', () => {
  assert.deepEqual(faultNames(replay(lostUpdate, 'abab')), ['update-lost'])
  assert.deepEqual(faultNames(replay(lostUpdate, 'aabb')), [])
  assert.throws(() => replay(lostUpdate, 'aaa'), /cannot move here/)
  assert.throws(() => replay(lostUpdate, 'a-b'), /not a schedule/)
})

test('a deadlock names who waits, and daemons may wait', () => {
  const stuck = (daemons: string[]): Model =>
    model(() => {
      function* waiter(): Task {
        yield wait('waits for Godot', () => false)
      }
      return { state: {}, tasks: { vladimir: waiter }, daemons }
    })
  const outcome = exploreHashed(stuck([]))
  assert.equal(outcome.failures.get('deadlock')?.fault.detail, 'vladimir waits: waits for Godot')
  assert.deepEqual(faultNames(exploreHashed(stuck(['vladimir']))), [])
})

test('a leak at the end is counted and named', () => {
  const leaking = model(() => ({ state: {}, tasks: {}, leaks: () => ({ waiters: 2, timers: 0 }) }))
  assert.equal(exploreHashed(leaking).failures.get('leak')?.fault.detail, '2 waiters left')
})

/** Two clients of one permit that nobody guards, after as much noise as the scheduler likes. */
const brief = model(() => {
  const state = { noise: 0, holders: 0 }
  function* hold(): Task {
    yield step('takes')
    state.holders += 1
    yield step('gives back')
    state.holders -= 1
  }
  return {
    state,
    tasks: {
      *noise(): Task {
        while (state.noise < 5) {
          yield step('makes noise')
          state.noise += 1
        }
      },
      left: hold,
      right: hold,
    },
    never: () => ({ 'two-holders': state.holders > 1 }),
  }
})

test('a fault that must never show is found in the middle of a run', () => {
  assert.equal(shortest(exploreHashed(brief), 'two-holders'), 'bc')
})

test('strategies that do not look for short schedules leave out the steps that do not matter', () => {
  assert.equal(shortest(exploreDepthFirst(brief), 'two-holders'), 'bc')
  assert.equal(shortest(explorePct(brief, { seed: 7 }), 'two-holders').length, 2)
})

test('what a task throws is a fault of its schedule', () => {
  const throwing = model(() => ({
    state: {},
    tasks: {
      *careless(): Task {
        if ((yield choose('gambles', ['wins', 'loses'])) === 'loses') throw new Error('out of luck')
      },
    },
  }))
  const outcome = assertAgreement(throwing)
  assert.equal(outcome.failures.get('exception')?.fault.detail, 'careless threw Error: out of luck')
  assert.equal(shortest(outcome, 'exception'), 'a1')
})

test('a select offers only the branches that are ready', () => {
  const choosy = model(() => {
    const state = { ready: false, took: '' }
    return {
      state,
      tasks: {
        *opener(): Task {
          yield step('opens')
          state.ready = true
        },
        *chooser(): Task {
          state.took = yield select('takes', { late: () => state.ready, early: () => !state.ready })
        },
      },
    }
  })
  const outcome = assertAgreement(choosy)
  assert.equal(outcome.runs, 2)
  assert.equal(outcome.terminals.size, 2)
})

test('a model that is not deterministic is refused', () => {
  let executions = 0
  const restless = model(() => {
    executions += 1
    const state = { executions }
    return {
      state,
      tasks: {
        *task(): Task {
          yield step('moves')
        },
      },
    }
  })
  assert.throws(() => exploreHashed(restless), /not deterministic/)
})

/** A listener that remembers what it heard and does not say so. */
function forgetful(listen: (heard: number, state: { bell: number; answer: number }) => Task): Model {
  return model(() => {
    const state = { bell: 0, answer: 0 }
    return {
      state,
      tasks: {
        *ringer(): Task {
          for (const bell of [1, 0]) {
            yield step(`sets the bell to ${bell}`)
            state.bell = bell
          }
        },
        *listener(): Task {
          yield step('listens')
          yield* listen(state.bell, state)
        },
        *passer(): Task {
          for (const street of [1, 2, 3, 4]) yield step(`walks street ${street}`)
        },
      },
      daemons: ['listener'],
    }
  })
}

test('a missing local that decides who can move is noticed', () => {
  const model = forgetful(function* (heard) {
    yield wait('answers', () => heard === 1)
  })
  assert.throws(() => exploreHashed(model), /two ways into one state have different futures/)
})

test('a missing local that decides what a step does is noticed', () => {
  const model = forgetful(function* (heard, state) {
    yield step('answers')
    state.answer = heard
  })
  assert.throws(() => exploreHashed(model), /two ways into one state have different futures/)
})

test('limits stop a model that does not end', () => {
  const counting = model(() => {
    const state = { count: 0 }
    return {
      state,
      tasks: {
        *counter(): Task {
          for (;;) {
            yield step('counts')
            state.count += 1
          }
        },
      },
    }
  })
  assert.throws(() => exploreHashed(counting, { maxStates: 100 }), /more than 100 states/)
  assert.throws(() => exploreDepthFirst(counting), /more than 200 steps/)
  assert.throws(() => exploreDepthFirst(lostUpdate, { maxSchedules: 3 }), /more than 3 schedules/)
})

test('the same seed runs the same random schedules', () => {
  const [one, two] = [explorePct(lostUpdate, { seed: 7 }), explorePct(lostUpdate, { seed: 7 })]
  assert.deepEqual([...one.failures], [...two.failures])
})
