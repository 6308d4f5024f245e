import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { RealProcess, type Signal } from './process.ts'

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
  // What came before the signal is read first: it is heard a moment later.
  assert.equal(heard.length < 4, true)
  while (heard.length < 4) await setImmediate()
  assert.deepEqual(heard, ['hangup', 'terminate', 'interrupt', 'hangup'])
  const late = once(process, 'SIGTERM')
  process.kill(process.pid, 'SIGTERM')
  await late
  stop()
  stop()
  assert.deepEqual(
    ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name)),
    before,
  )
  const begunAt = performance.now()
  while (performance.now() < begunAt + 100) await setImmediate()
  assert.equal(heard.length, 4, 'it was told of a signal after it stopped listening')
})
