/** The task: when it asks, what it does when it may not, and when it is not there at all. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KERNEL_METRICS, type TaskBody, type TaskContext } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk } from '@cairn/platform'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { INTEROP_METRICS } from '../../src/metrics.ts'
import { providersSection } from '../../src/providers/config.ts'
import { openReconciler } from '../../src/reconcile/reconciler.ts'

const HOOK = 'orgs/octo/hooks/7'
const NONE = { status: 200, headers: {}, text: '[]' }

class ScriptedTransport implements Transport {
  readonly requests: OutgoingRequest[] = []
  next: { status: number; headers: Readonly<Record<string, string>>; text: string } = NONE

  async request(request: OutgoingRequest): Promise<IncomingResponse> {
    this.requests.push(request)
    const { status, headers, text } = this.next
    async function* body() {
      yield await Promise.resolve(Buffer.from(text))
    }
    return await Promise.resolve({ status, headers, body: Object.assign(body(), { cancel: () => {} }) })
  }

  async close(): Promise<void> {
    await Promise.resolve()
  }
}

function world() {
  const runtime = virtualRuntime(1, { ...KERNEL_METRICS, ...INTEROP_METRICS })
  const transport = new ScriptedTransport()
  const none = (): never => assert.fail('not asked for')
  const process = { pid: 1, environment: { TOKEN: 'ghp_x' }, onSignal: none, exit: none }
  return { ...runtime, transport, process, disk: new MemoryDisk(runtime, 1024) }
}

const github = (reconcile: object, enabled = true) => providersSection.parse({ github: { enabled, reconcile } }).github

async function passing(clock: ReturnType<typeof world>['clock'], ms: number): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
  clock.advance(ms)
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
}

test('without a hook, without a token, or with GitHub off there is no task', async () => {
  const token = { env: 'TOKEN' }
  assert.equal(await openReconciler(world(), github({})), undefined)
  assert.equal(await openReconciler(world(), github({ hook: HOOK })), undefined)
  assert.equal(await openReconciler(world(), github({ token })), undefined)
  assert.equal(await openReconciler(world(), github({ hook: HOOK, token }, false)), undefined)
  await assert.rejects(openReconciler(world(), github({ hook: HOOK, token: { env: 'GONE' } })), /env:GONE/)
})

test('it asks every five minutes, later where GitHub asks to wait, and ends with the service', async () => {
  const machine = world()
  const { clock, transport, log } = machine
  const task: TaskBody | undefined = await openReconciler(machine, github({ hook: HOOK, token: { env: 'TOKEN' } }))
  const draining = new AbortController()
  const ended = assert.rejects(async () => await task!({ draining: draining.signal } as TaskContext))
  await passing(clock, 0)
  assert.equal(transport.requests.length, 1)
  assert.equal(transport.requests[0]!.url.href, `https://api.github.com/${HOOK}/deliveries?per_page=100`)
  transport.next = { ...NONE, status: 429, headers: { 'retry-after': '900' } }
  await passing(clock, 300_000)
  assert.equal(transport.requests.length, 2)
  transport.next = { ...NONE, status: 500 }
  await passing(clock, 899_000)
  assert.equal(transport.requests.length, 2, 'it was asked to wait for fifteen minutes')
  await passing(clock, 1000)
  assert.equal(transport.requests.length, 3)
  await passing(clock, 300_000)
  assert.equal(transport.requests.length, 4, 'a failure is no reason to wait longer')
  assert.equal(
    log.lines.some((line) => JSON.stringify(line).includes('ghp_x')),
    false,
  )
  draining.abort(new Error('the service ends'))
  await ended
  assert.equal(clock.pending(), 0)
})
