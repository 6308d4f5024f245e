import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exploreHashed } from './hashed.ts'
import { type Model, type Setup, select, step, type Task, wait } from './model.ts'
import { faultNames, scheduleOf } from './outcome.ts'
import { replay } from './replay.ts'

function model(setup: () => Setup): Model {
  return { name: 'toy', setup }
}

/** A task that goes round for ever, beside one that finishes when the scheduler lets it. */
const beside = model(() => {
  const state = { isOn: false, isDone: false }
  return {
    state,
    tasks: {
      *spinner(): Task {
        while (!state.isDone) {
          yield step('switches')
          state.isOn = !state.isOn
        }
      },
      *worker(): Task {
        yield step('finishes')
        state.isDone = true
      },
    },
    eventually: () => ({ 'the work is done': state.isDone }),
  }
})

test('a loop that starves a task which could always move is not fair, and does not count', () => {
  assert.deepEqual(faultNames(exploreHashed(beside)), [])
})

test('a task that can move only now and then may be starved by a fair loop', () => {
  const blinking = model(() => {
    const state = { isOn: false, isDone: false }
    return {
      state,
      tasks: {
        *spinner(): Task {
          while (!state.isDone) {
            yield step('switches')
            state.isOn = !state.isOn
          }
        },
        *worker(): Task {
          yield wait('finishes', () => state.isOn)
          state.isDone = true
        },
      },
      eventually: () => ({ 'the work is done': state.isDone }),
    }
  })
  const outcome = exploreHashed(blinking)
  const failure = outcome.failures.get('the work is done')
  assert.ok(failure)
  assert.equal(scheduleOf(outcome, failure), '(aa)')
  assert.deepEqual(faultNames(replay(blinking, '(aa)')), ['the work is done'])
  assert.throws(() => replay(blinking, '(a)'), /does not end where it began/)
})

test('two tasks that undo each other go round fairly for ever', () => {
  const quarrel = model(() => {
    const state = { light: 'off' }
    function* want(light: string): Task {
      for (;;) {
        yield wait(`turns it ${light}`, () => state.light !== light)
        state.light = light
      }
    }
    return {
      state,
      tasks: { owl: () => want('off'), lark: () => want('on') },
      eventually: () => ({ 'they agree': state.light === 'dim' }),
    }
  })
  const outcome = exploreHashed(quarrel)
  assert.deepEqual(faultNames(outcome), ['they agree'])
  assert.equal(outcome.failures.get('they agree')?.schedule.loop.length, 2)
})

test('a run that stops short of its goal fails without a loop', () => {
  const short = model(() => {
    const state = { reached: 0 }
    return {
      state,
      tasks: {
        *walker(): Task {
          if ((yield select('walks', { on: () => true, home: () => true })) === 'on') state.reached = 1
        },
      },
      eventually: () => ({ 'the goal is reached': state.reached === 1 }),
    }
  })
  const outcome = exploreHashed(short)
  const failure = outcome.failures.get('the goal is reached')
  assert.ok(failure)
  assert.equal(scheduleOf(outcome, failure), 'a1')
  assert.deepEqual(faultNames(replay(short, 'a1')), ['the goal is reached'])
})
