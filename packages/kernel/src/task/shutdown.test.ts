import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCairnError } from '../errors.ts'
import { Shutdown } from './shutdown.ts'
import * as core from './shutdown-core.ts'

const busy = (): boolean => true

test('a service without tasks stops as soon as it is told to', () => {
  for (const end of [core.drain, core.abort]) {
    const shutdown = core.createShutdown()
    end(shutdown, busy)
    assert.equal(shutdown.phase, 'stopped')
  }
})

test('phases only move forward, and each names who it caught', () => {
  const shutdown = core.createShutdown()
  assert.deepEqual([core.taskStarted(shutdown, 'a'), core.taskStarted(shutdown, 'b')], [true, true])
  core.taskEnded(shutdown, 'b')
  core.abandon(shutdown)
  assert.equal(shutdown.phase, 'running')
  core.drain(shutdown)
  assert.deepEqual([shutdown.phase, core.taskStarted(shutdown, 'c')], ['draining', false])
  core.abort(shutdown, busy)
  core.drain(shutdown)
  assert.deepEqual([shutdown.phase, shutdown.aborted], ['aborting', ['a']])
  core.abandon(shutdown)
  assert.deepEqual([shutdown.phase, shutdown.abandoned, shutdown.tasks.size], ['stopped', ['a'], 0])
  core.abort(shutdown, busy)
  core.drain(shutdown)
  assert.deepEqual([shutdown.phase, shutdown.aborted], ['stopped', ['a']])
})

test('a phase is announced once, and both signals say that it was us who stopped', () => {
  const shutdown = new Shutdown()
  shutdown.taskStarted('a')
  shutdown.taskStarted('b')
  shutdown.taskEnded('b')
  assert.deepEqual([shutdown.phase.version, shutdown.draining.aborted], [0, false])
  shutdown.drain()
  shutdown.drain()
  assert.deepEqual([shutdown.phase.version, shutdown.draining.aborted, shutdown.aborting.aborted], [1, true, false])
  const { kind, code } = toCairnError(shutdown.draining.reason)
  assert.deepEqual([kind, code], ['Canceled', 'draining'])
  shutdown.abort()
  assert.deepEqual([shutdown.phase.value, toCairnError(shutdown.aborting.reason).kind], ['aborting', 'Canceled'])
  shutdown.abandon()
  assert.deepEqual([shutdown.phase.value, shutdown.aborted, shutdown.abandoned], ['stopped', ['a'], ['a']])
})

test('only tasks with work in hand count as aborted', () => {
  const shutdown = new Shutdown()
  for (const task of ['idle', 'busy', 'silent']) shutdown.taskStarted(task)
  shutdown.busyWhen('idle', () => false)
  shutdown.busyWhen('busy', () => true)
  shutdown.drain()
  shutdown.abort()
  assert.deepEqual(shutdown.aborted, ['busy', 'silent'])
})

test('while it drains a service serves those in front of it and nobody else, until they are done', () => {
  const shutdown = new Shutdown()
  shutdown.taskStarted('listener')
  shutdown.dependentStarted('front')
  assert.deepEqual([shutdown.takesWork('outside'), shutdown.takesWork('dependent')], [true, true])
  shutdown.drain()
  assert.deepEqual([shutdown.takesWork('outside'), shutdown.takesWork('dependent')], [false, true])
  assert.equal(shutdown.closedToWork.value, false)
  shutdown.dependentDone('front')
  assert.deepEqual([shutdown.takesWork('dependent'), shutdown.closedToWork.value], [false, true])
})

test('an abort ends the service of those in front too', () => {
  const shutdown = new Shutdown()
  shutdown.taskStarted('listener')
  shutdown.dependentStarted('front')
  shutdown.drain()
  shutdown.abort()
  assert.deepEqual([shutdown.takesWork('dependent'), shutdown.closedToWork.value], [false, true])
  shutdown.dependentStarted('late')
  assert.equal(shutdown.takesWork('dependent'), false)
})
