import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HostProcess, Signal } from '@cairn/platform'
import { SignalRelay } from './signal-relay.ts'

const INTERRUPTED = 130

function scene() {
  const happened: string[] = []
  const ears = new Set<(signal: Signal) => void>()
  const host: HostProcess = {
    pid: 1,
    environment: {},
    onSignal: (hear) => {
      ears.add(hear)
      return () => ears.delete(hear)
    },
    exit: (code) => {
      happened.push(`exit ${code}`)
      throw new Error('gone')
    },
  }
  const node = { requestStop: () => happened.push('stop'), requestReload: () => happened.push('reload') }
  const send = (signal: Signal): void => {
    for (const hear of ears) hear(signal)
  }
  return { happened, ears, relay: new SignalRelay(host, INTERRUPTED), node, send }
}

test('what comes before there is a node is passed on, in order, once there is', () => {
  const { happened, relay, node, send } = scene()
  send('hangup')
  send('terminate')
  send('hangup')
  assert.deepEqual(happened, [])
  relay.pass(node)
  assert.deepEqual(happened, ['reload', 'stop', 'reload'])
  send('interrupt')
  assert.deepEqual(happened.slice(3), ['stop'])
})

test('who is told to stop twice before there is a node leaves at once', () => {
  const { happened, send } = scene()
  send('interrupt')
  assert.throws(() => send('terminate'))
  assert.deepEqual(happened, [`exit ${INTERRUPTED}`])
})

test('once disposed, it hears nothing', () => {
  const { ears, relay } = scene()
  assert.equal(ears.size, 1)
  relay[Symbol.dispose]()
  assert.equal(ears.size, 0)
})
