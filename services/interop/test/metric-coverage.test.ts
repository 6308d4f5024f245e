/**
 * Every metric of the kernel and of the ingress, each counted by a story that provokes it here; every bound, by the metric
 * that counts what went over it; every error the design notes name, by its metric. Those of interop alone are in
 * `codes.test.ts`.
 */
import { gzipSync } from 'node:zlib'
import { CairnError } from '@cairn/kernel'
import type { Transport } from '@cairn/transport'
import {
  largest,
  type MetricRow,
  type MetricScenario,
  metricCoverageSuite,
  readMetrics,
} from '../../../verify/virtual/metric-coverage-suite.ts'
import { INTEROP_TOPOLOGY } from '../src/topology.ts'
import { TestService, tokenFor } from './harness.ts'

const NONE = `/o/b3:${'0'.repeat(64)}`
const TARGET = 'https://receiver.example/hook'

/** What is refused before it reaches anything. */
const refusals: MetricScenario = async () => {
  const service = await TestService.start({
    config: { ingress: { max_rps: 100, burst: 20, max_rps_per_address: 100, burst_per_address: 100 } },
  })
  const gzip = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  await service.ask('POST', '/put', { body: gzipSync(Buffer.alloc(1024 * 1024)), headers: gzip })
  await service.ask('POST', '/put', { body: 'no gzip', headers: gzip })
  await service.ask('POST', '/put', { body: gzipSync(Buffer.from('{}')).subarray(0, -9), headers: gzip })
  await service.ask('POST', '/put', { body: { payload: 'A'.repeat(1024 * 1024) } })
  for (const token of [null, tokenFor(['audit:read'])]) await service.ask('POST', '/put', { body: {}, token })
  await service.ask('GET', NONE)
  for (let at = 0; at < 120; at += 1) await service.send('GET', '/nothing', { from: '192.0.2.9' })
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** More of everything than there is room for; then a stop that cannot wait. */
const overload: MetricScenario = async () => {
  const service = await TestService.start({
    config: { workers: 1, ingress: { max_rps: 0, max_inflight: 300, max_streams: 1, request_timeout: '60s' } },
  })
  using slow = service.parts.events.subscribe()
  service.storage.latencyMs = 50_000
  const put = async (): Promise<unknown> => await service.send('POST', '/put', { body: { payload: '' } })
  const waiting = Array.from({ length: 400 }, put)
  const webhooks = Array.from({ length: 600 }, async (_each, n) => {
    return await service.sendGithub(`{"n":${n}}`, { from: `10.0.${n >> 8}.${n & 255}` })
  })
  const bad = Array.from({ length: 700 }, async (_each, n) => {
    return await service.sendGithub('{}', { secret: 'wrong', from: `10.1.${n >> 8}.${n & 255}` })
  })
  const streams = [1, 2].map(async () => await service.begin('GET', '/events'))
  await service.sleep(1)
  slow.tryReceive()
  const reading = await readMetrics(service)
  const inflight = reading('inflight_requests', { route: '/put' })
  const stopping = service.running.stop()
  await service.world.run(Promise.all([...waiting, ...webhooks, ...bad]))
  for (const stream of await Promise.all(streams)) {
    if (typeof stream.body === 'object' && Symbol.asyncIterator in stream.body)
      await stream.body[Symbol.asyncIterator]().return?.()
  }
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  const stopped = await readMetrics(service)
  return (name, labels) => (name === 'inflight_requests' ? inflight : largest(reading, stopped)(name, labels))
}

/** A storage that is slow, a receiver that fails, and a task that a defect ends. */
const trouble: MetricScenario = async () => {
  const outside: Transport = {
    request: async () => await Promise.reject(new CairnError('Timeout', 'Nobody answers.', { code: 'unreachable' })),
    close: async () => await Promise.resolve(),
  }
  const service = await TestService.start({
    outside,
    config: {
      // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
      rules: [{ provider: 'github', event: 'push', then: `forward:${TARGET}` }],
      forward: { secrets: [{ env: 'FORWARD_SECRET' }] },
    },
  })
  const { mailbox } = service.parts
  const lease = mailbox.lease.bind(mailbox)
  let isDefective = true
  mailbox.lease = async (topic, options) => {
    if (topic !== '@forward' || !isDefective) return await lease(topic, options)
    isDefective = false
    throw new TypeError('a defect')
  }
  for (let n = 0; n < 20; n += 1) await service.github(`{"n":${n}}`)
  await service.sleep(60_000)
  service.storage.latencyMs = 2500
  await service.github('{"n":"slow"}')
  const reading = await readMetrics(service)
  await service.world.run(service.running.stop())
  await service.world.run(service.platform.workers.close())
  const stopped = await readMetrics(service)
  return largest(reading, stopped)
}

const METRIC_ROWS: readonly MetricRow[] = [
  ['http_requests_total', { route: '/put', method: 'POST', status: '401' }, refusals],
  ['request_latency_seconds', { route: '/put', method: 'POST' }, refusals],
  ['rejected_total', { reason: 'BODY_LIMIT' }, refusals],
  ['rejected_total', { reason: 'DECOMP_LIMIT' }, refusals],
  ['quota_exhaustions_total', { kind: 'body_bytes' }, refusals],
  ['quota_exhaustions_total', { kind: 'rps' }, refusals],
  ['quota_exhaustions_total', { kind: 'ip' }, refusals],
  ['auth_failures_total', { kind: 'macaroon' }, refusals],
  ['auth_failures_total', { kind: 'scope' }, refusals],
  ['decompress_reject_total', { reason: 'cap' }, refusals],
  ['decompress_reject_total', { reason: 'format' }, refusals],
  ['decompress_reject_total', { reason: 'truncated' }, refusals],
  ['tasks_spawned_total', { kind: 'worker' }, refusals],
  ['tasks_canceled_total', { kind: 'brownout-sentinel' }, trouble],
  ['inflight_requests', { route: '/put' }, overload],
  ['quota_exhaustions_total', { kind: 'inflight' }, overload],
  ['quota_exhaustions_total', { kind: 'streams' }, overload],
  ['busy_rejections_total', { endpoint: '/put' }, overload],
  ['busy_rejections_total', { endpoint: '/webhooks/:provider' }, overload],
  ['rejected_total', { reason: 'BACKPRESSURE' }, overload],
  ['queue_depth', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'work' }, overload],
  ['queue_dropped_total', { queue: 'audit' }, overload],
  ['queue_dropped_total', { queue: 'events' }, overload],
  ['bus_lagged_total', { topic: 'events', consumer: 'listener' }, overload],
  ['tasks_aborted_total', { kind: 'worker' }, overload],
  ['tasks_aborted_total', { kind: 'request' }, overload],
  ['tasks_panicked_total', { kind: 'forwarder' }, trouble],
  ['service_restarts_total', { kind: 'forwarder' }, trouble],
  ['backoff_retries_total', { op: 'forward', result: 'failed' }, trouble],
  ['io_timeouts_total', { op: 'request' }, trouble],
  ['breaker_open_total', { target: 'https://receiver.example' }, trouble],
  ['breaker_state', { target: 'https://receiver.example', state: 'open' }, trouble],
]

metricCoverageSuite({
  metrics: {},
  topology: INTEROP_TOPOLOGY,
  errors: ['Busy', 'Timeout', 'Canceled', 'Lagging', 'Backpressure'],
  rows: METRIC_ROWS,
})
