import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exploreDepthFirst } from '../depth-first.ts'
import { exploreHashed } from '../hashed.ts'
import { faultNames, scheduleOf } from '../outcome.ts'
import { explorePct } from '../pct.ts'
import { replay } from '../replay.ts'
import { diagram, report, summarize } from '../report.ts'
import { assertAgreement } from '../suite.ts'
import { SAMPLES, SVC_EDGE } from './workers.ts'

describe('the design notes’ copy-paste workers', () => {
  for (const { model, expect, schedules } of SAMPLES) {
    test(`${model.name} shows ${expect.join(', ') || 'no fault'}`, (t) => {
      const outcome = exploreHashed(model)
      t.diagnostic(summarize(outcome))
      assert.deepEqual(faultNames(outcome), expect)
      for (const failure of outcome.failures.values()) {
        assert.ok(faultNames(replay(model, scheduleOf(outcome, failure))).includes(failure.fault.name))
      }
    })

    test(`${model.name}: all ${schedules.total} schedules, counted`, (t) => {
      const outcome = assertAgreement(model)
      t.diagnostic(summarize(outcome))
      const count = (fault: string): number => outcome.failures.get(fault)?.count ?? 0
      assert.deepEqual(
        {
          total: outcome.runs,
          lost: count('lost-shutdown'),
          interrupted: count('interrupted-job'),
          stranded: count('stranded-job'),
        },
        schedules,
      )
    })
  }

  test('svc-edge loses the shutdown within 10 steps, and the schedule string replays it', (t) => {
    const outcome = exploreHashed(SVC_EDGE.model)
    const failure = outcome.failures.get('lost-shutdown')
    assert.ok(failure)
    t.diagnostic(`${report(outcome, failure)}\n${diagram(outcome, failure)}`)
    assert.ok(failure.schedule.choices.length <= 10)
    const again = replay(SVC_EDGE.model, scheduleOf(outcome, failure))
    assert.deepEqual(again.failures.get('lost-shutdown')?.schedule, failure.schedule)
  })

  test('the other strategies find the lost shutdown too, in few steps that replay', () => {
    for (const outcome of [explorePct(SVC_EDGE.model, { seed: 1, runs: 200 }), exploreDepthFirst(SVC_EDGE.model)]) {
      const failure = outcome.failures.get('lost-shutdown')
      assert.ok(failure)
      assert.ok(failure.schedule.choices.length <= 7)
      assert.ok(replay(SVC_EDGE.model, scheduleOf(outcome, failure)).failures.has('lost-shutdown'))
    }
  })
})
