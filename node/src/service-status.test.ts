import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError, Health, SystemClock } from '@cairn/kernel'
import { concernsIn, serviceStatus } from './service-status.ts'

const urls = ['http://127.0.0.1:4600']
const clock = new SystemClock()

/** A service whose `/readyz` says this. */
function saying(fields: object) {
  const body = JSON.stringify(fields)
  const ingress = { handle: async () => ({ status: 503, headers: ['Content-Type', 'application/json'], body }) }
  return { urls, health: new Health(['store_writable']), ingress }
}

test('a service says where it listens, what it waits for, and its line', async () => {
  const running = saying({ ready: false, missing: ['store_writable'], degraded: true })
  const status = await serviceStatus({ name: 'storage', running, summary: async () => '3 objects' }, clock)
  const missing = ['store_writable']
  assert.deepEqual(status, { name: 'storage', urls, ready: false, missing, concerns: [], summary: '3 objects' })
})

test('a service that drains is not ready, and says why', async () => {
  const running = saying({ ready: false, missing: [], detail: 'The service is shutting down.' })
  const status = await serviceStatus({ name: 'edge', running, summary: async () => '' }, clock)
  assert.deepEqual([status.ready, status.missing], [false, ['The service is shutting down.']])
})

test('a drive that cannot be read costs the line alone, and the line says so', async () => {
  const summary = async (): Promise<string> => {
    throw new CairnError('Internal', 'The disk could not read or write.')
  }
  const running = saying({ ready: false, missing: ['store_writable'] })
  const status = await serviceStatus({ name: 'storage', running, summary }, clock)
  assert.deepEqual(status.missing, ['store_writable'])
  assert.equal(status.summary, 'The disk could not read or write.')
})

test('a service that does not say whether it is ready is judged by its conditions', async () => {
  const handle = async () => ({ status: 200, headers: [], body: 'no JSON' })
  const running = { urls, health: new Health(['store_writable']), ingress: { handle } }
  const status = await serviceStatus({ name: 'storage', running, summary: async () => '' }, clock)
  assert.deepEqual([status.ready, status.missing], [false, ['store_writable']])
  assert.deepEqual(status.concerns, ['The answer is not JSON.'])
})

test('what /readyz calls degraded is a concern, with its reason', () => {
  const cases: [object, readonly string[]][] = [
    [{ ready: true }, []],
    [{ ready: true, degraded: true, log_problem: 'Entry 3: wrong.' }, ['Entry 3: wrong.']],
    [{ ready: true, degraded: true, write_problem: 'Full.', log_problem: 'Bad.' }, ['Full.', 'Bad.']],
    [
      {
        ready: true,
        degraded: true,
        neighbours: { storage: { ready: false, why: 'it is away' }, index: { ready: true } },
      },
      ['The storage cannot be worked with: it is away.'],
    ],
    [{ ready: true, registry: { status: 'refused', detail: 'It forked.' } }, ['The registry is refused: It forked.']],
    [{ ready: true, registry: { status: 'starting', detail: 'soon' } }, []],
    [{ ready: true, degraded: true }, ['It is degraded; its /readyz says how.']],
    [{ ready: false, degraded: true, missing: ['x'] }, []],
  ]
  for (const [fields, concerns] of cases) assert.deepEqual(concernsIn({ ...fields }), concerns, JSON.stringify(fields))
})

test('what harms nothing that is served is a notice, and there are none without one', async () => {
  const running = saying({ ready: true, collection_notice: 'No garbage is collected: a page is gone.' })
  const status = await serviceStatus({ name: 'storage', running, summary: async () => '' }, clock)
  assert.deepEqual([status.concerns, status.notices], [[], ['No garbage is collected: a page is gone.']])
  const well = await serviceStatus(
    { name: 'storage', running: saying({ ready: true }), summary: async () => '' },
    clock,
  )
  assert.equal('notices' in well, false)
})
