import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService } from './harness.ts'

const BROKEN = new CairnError('StorageBusy', 'The drive does not answer.', { code: 'drive_stalled' })

/** What is asked in a brownout, and the answer. */
async function asked(service: TestService, round: number): Promise<Record<string, string>> {
  const put = await service.ask('POST', '/put', { body: { payload: 'Zm9vYmFy' } })
  const stripe = await service.stripe(`evt_${round}`)
  const github = await service.github(`{"round":${round}}`)
  const read = await service.ask('GET', `/o/b3:${'0'.repeat(64)}`)
  const lease = await service.ask('POST', '/mailbox/github/lease')
  const [overall, bridge, reading] = await Promise.all(
    ['/readyz', '/readyz?class=bridge', '/readyz?class=read'].map(async (path) => await service.ask('GET', path)),
  )
  const text = ({ status, code }: { status: number; code: string | undefined }): string =>
    `${status} ${code ?? ''}`.trim()
  return {
    put: text(put),
    stripe: text(stripe),
    github: text(github),
    read: text(read),
    lease: text(lease),
    ready: `${overall!.status} ${bridge!.status} ${reading!.status}`,
  }
}

const SHED = {
  put: '503 BACKPRESSURE',
  stripe: '503 BACKPRESSURE',
  github: '202',
  read: '404 not_found',
  lease: '200',
  ready: '503 503 200',
}
const SERVED = { put: '202', stripe: '202', github: '202', read: '404 not_found', lease: '200', ready: '200 200 200' }

test('failures of ours begin a brownout: puts and senders that come again are shed, GitHub and reads are not', async () => {
  const service = await TestService.start()
  assert.deepEqual(await asked(service, 0), SERVED)
  service.storage.failure = BROKEN
  for (let n = 0; n < 100; n += 1) assert.equal((await service.github(`{"n":${n}}`)).status, 503)
  service.storage.failure = undefined
  await service.sleep(1100)
  assert.deepEqual(await asked(service, 1), SHED)
  assert.match(String((await service.ask('GET', '/readyz')).fields()['detail']), /^Not ready: brownout_bridge\.$/)
  assert.equal(service.metric('brownout_active', { component: 'bridge' }), 1)
  assert.equal(service.metric('rejected_total', { reason: 'BACKPRESSURE' }), 2)
  const { brownout } = (await service.ask('GET', '/readyz')).fields()
  assert.deepEqual(brownout, ['error_rate'])
  await service.sleep(345_000)
  assert.deepEqual(await asked(service, 2), SERVED)
  assert.equal(service.metric('brownout_active', { component: 'bridge' }), 0)
  await service.stop()
})

test('what is shed and what clients do wrong never counts as a failure of ours', async () => {
  const service = await TestService.start()
  for (let n = 0; n < 300; n += 1) {
    if (n % 2 === 0) isProblem(await service.github(`{"n":${n}}`, { secret: 'wrong' }), 401, 'UNAUTH')
    else isProblem(await service.ask('GET', `/o/b3:${'0'.repeat(64)}`), 404, 'not_found')
  }
  await service.sleep(2000)
  assert.equal(service.parts.pressure.isBrown, false)
  await service.stop()
})

test('slow calls to other services begin a brownout, and it ends when they are fast again', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 600
  for (let n = 0; n < 24; n += 1) assert.equal((await service.github(`{"n":${n}}`)).status, 202)
  await service.sleep(1100)
  service.storage.latencyMs = 0
  assert.equal(service.parts.pressure.isBrown, true)
  assert.deepEqual(await asked(service, 1), SHED)
  await service.sleep(110_000)
  assert.deepEqual(await asked(service, 2), SERVED)
  await service.stop()
})

test('a queue that stays full begins a brownout; it says so on the bus', async () => {
  const service = await TestService.start({ config: { workers: 1, ingress: { max_rps: 0, request_timeout: '300s' } } })
  const heard = service.parts.events.subscribe()
  service.storage.latencyMs = 200_000
  const waiting = Array.from({ length: 470 }, async (_each, n) => {
    return await service.sendGithub(`{"n":${n}}`, { from: `10.0.${n >> 8}.${n & 255}` })
  })
  await service.sleep(62_500)
  assert.equal(service.parts.pressure.isBrown, true)
  const events: unknown[] = []
  for (;;) {
    const next = await service.world.run(heard.recv())
    if (next.tag !== 'value') continue
    if (next.value.topic === 'interop.brownout') events.push(next.value.body)
    if (events.length === 1) break
  }
  assert.deepEqual(events, [{ active: true, reasons: ['queue_pressure'] }])
  await service.world.run(Promise.all(waiting))
  await service.world.run(service.running.stop())
})
