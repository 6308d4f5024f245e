import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Signal } from './process.ts'
import { RealProcess } from './real-process.ts'

test('hears the three signals until it stops listening, and leaves no listener', async () => {
  const before = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name))
  const host = new RealProcess()
  assert.equal(host.pid, process.pid)
  assert.equal(host.environment['PATH'], process.env['PATH'])
  const heard: Signal[] = []
  const stop = host.onSignal((signal) => heard.push(signal))
  for (const name of ['SIGHUP', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const arrived = once(process, name)
    process.kill(process.pid, name)
    await arrived
  }
  assert.deepEqual(heard, ['hangup', 'terminate', 'interrupt', 'hangup'])
  stop()
  stop()
  assert.deepEqual(
    ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name)),
    before,
  )
})
