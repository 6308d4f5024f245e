import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exploreHashed } from './hashed.ts'
import { type Model, select, step, type Task } from './model.ts'
import { diagram, report, summarize } from './report.ts'

const toy: Model = {
  name: 'a bell nobody answers',
  setup() {
    const state = { bell: false, isAnswered: false }
    return {
      state,
      tasks: {
        *ringer(): Task {
          yield step('rings')
          state.bell = true
        },
        *sleeper(): Task {
          state.isAnswered =
            (yield select('wakes up', { answers: () => state.bell, 'turns over': () => state.bell })) === 'answers'
        },
      },
      neverAtEnd: () => ({ unanswered: !state.isAnswered }),
    }
  },
}

test('a failure is told in one line per step, with the string that replays it', () => {
  const outcome = exploreHashed(toy)
  const failure = outcome.failures.get('unanswered')
  assert.ok(failure)
  assert.equal(
    report(outcome, failure),
    [
      'a bell nobody answers: unanswered after 2 steps (no task can move any more)',
      '   1  ringer   rings',
      '   2  sleeper  wakes up: turns over',
      '  replay: ab1',
    ].join('\n'),
  )
})

test('the diagram draws an arrow where a step lets another task move', () => {
  const outcome = exploreHashed(toy)
  const failure = outcome.failures.get('unanswered')
  assert.ok(failure)
  assert.equal(
    diagram(outcome, failure),
    [
      'sequenceDiagram',
      '  autonumber',
      '  participant T0 as ringer',
      '  participant T1 as sleeper',
      '  T0->>T1: rings',
      '  Note over T1: wakes up: turns over',
      '  Note over T0,T1: unanswered',
    ].join('\n'),
  )
})

test('the summary says how much there was and what came out', () => {
  assert.match(
    summarize(exploreHashed(toy)),
    /^a bell nobody answers +hashed +4 states +3 moves +\d+ ms {2}unanswered \(1\)$/,
  )
})
