/** A service as it is, its whole pipeline included, in the simulator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  INGRESS_METRICS,
  ingressSection,
  json,
  listenKeys,
  type RunningService,
  route,
  runService,
  type ServiceConfig,
} from '@cairn/http'
import { Config, Deadline, KERNEL_METRICS, sleep } from '@cairn/kernel'
import { section } from '@cairn/platform'
import type { VirtualPlatform } from './machine.ts'
import { virtualListen } from './network/virtual-listen.ts'
import { simulate } from './simulate.ts'

async function start(platform: VirtualPlatform): Promise<RunningService<ServiceConfig>> {
  const shared = section({ ...listenKeys(7071), ingress: ingressSection() }).parse({
    lame_duck: 0,
    ingress: { hosts: ['node'] },
  })
  return await runService<ServiceConfig>({
    runtime: platform,
    config: new Config<ServiceConfig>({ values: { ...shared, drain_deadline: 2000 }, origins: {} }),
    authorizer: { authorize: () => ({ kind: 'denied', reason: 'token_unknown_key' }) },
    conditions: [],
    version: { service: 'test' },
    metricsText: () => '',
    listen: virtualListen(platform),
    build: async () => {
      const slow = route({
        method: 'GET',
        path: '/slow',
        lane: 'inline',
        summary: 'Takes a second.',
        responses: { 200: { description: 'It took a second.' } },
        handler: async () => {
          await sleep(platform.clock, 1000)
          return json(200, { slow: true })
        },
      })
      return await Promise.resolve({ routes: [slow] })
    },
  })
}

async function status(client: VirtualPlatform, path: string, host = 'node:7071'): Promise<number> {
  const deadline = Deadline.after(client.clock, 5000)
  const url = new URL(`http://${host}${path}`)
  const response = await client.transport.request({ method: 'GET', url, headers: {}, deadline })
  for await (const _part of response.body);
  return response.status
}

test('a service starts, answers, drains and stops in virtual time, the same for the same seed', async () => {
  const run = async (seed: number): Promise<string> => {
    const { traceHash } = await simulate(seed, async (world) => {
      const platform = world.machine('node').start({ metrics: { ...KERNEL_METRICS, ...INGRESS_METRICS } })
      const client = world.machine('client').start()
      const service = await start(platform)
      assert.equal(await status(client, '/readyz'), 200)
      assert.equal(await status(client, '/nothing'), 404)
      assert.equal(await status(client, '/readyz', `${world.network.addressOf('node')}:7071`), 421, 'a foreign host')
      const underWay = status(client, '/slow')
      await world.sleep(100)
      const stopping = service.stop()
      assert.equal(await status(client, '/readyz'), 503)
      assert.equal(await status(client, '/slow'), 503)
      assert.equal(await underWay, 200, 'what was accepted is finished')
      assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
      await assert.rejects(status(client, '/readyz'), { code: 'unreachable' })
      for (const { workers } of [platform, client]) await workers.close()
    })
    return traceHash
  }
  const first = await run(1)
  assert.equal(await run(1), first)
  assert.notEqual(await run(2), first)
})
