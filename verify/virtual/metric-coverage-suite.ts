/**
 * Everything a service counts, each metric moved by a story that provokes it. Every service gives its tables; a metric, a
 * queue or an error without a row fails.
 *
 *     story ──▶ a service in virtual time ──▶ reading ──▶ row: this metric, with these labels, is above zero
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { INGRESS_METRICS } from '@cairn/http'
import { ERRORS, type ErrorKind, KERNEL_METRICS, type Labels, type MetricTable } from '@cairn/kernel'
import { PrometheusMetrics } from '@cairn/platform'
import type { VirtualService } from './virtual-service.ts'

/** The value of a series at the end of a story; of a histogram, how often it was observed. */
export type Reading = (name: string, labels: Labels) => number

/** Runs once, however many rows ask for it. */
export type MetricScenario = () => Promise<Reading>

export type MetricRow = readonly [metric: string, labels: Labels, story: MetricScenario]

/** What is counted as it happens, and what is read from the queues when somebody scrapes. */
export async function readMetrics(
  service: Pick<VirtualService<never, unknown>, 'running' | 'platform' | 'metric'>,
): Promise<Reading> {
  service.running.ingress.updateMetrics()
  const scraped = new PrometheusMetrics('any', KERNEL_METRICS)
  scraped.readQueues(service.platform.topology)
  const text = await scraped.exposition()
  return (name, labels) => {
    const pairs = Object.entries({ ...labels, service: 'any' }).map(([label, value]) => `${label}="${value}"`)
    const line = text.split('\n').find((row) => row.startsWith(`${name}{${pairs.join(',')}} `))
    const counted = service.metric(name, labels) + service.metric(`${name}_count`, labels)
    return Math.max(counted, Number(line?.split(' ').at(-1) ?? 0))
  }
}

export function largest(...readings: readonly Reading[]): Reading {
  return (name, labels) => Math.max(...readings.map((reading) => reading(name, labels)))
}

/** What no service can be made to count in virtual time, and the test of the layer below that does. */
const COUNTED_BELOW = {
  tasks_abandoned_total: 'packages/kernel/src/task/supervisor.test.ts',
  internal_errors_total: 'packages/http/src/response/responder.test.ts',
  open_connections: 'node/test/storage-curl.test.ts',
  connections_refused_total: 'packages/http/src/connection/connections.test.ts',
  tls_handshake_failures_total: 'packages/http/src/connection/node-listener.test.ts',
}

/** Of a service that retries nothing and has no breakers of its own. */
export const RETRIED_BELOW = {
  backoff_retries_total: 'packages/kernel/src/policy/retry.test.ts',
}

export const BROKEN_BELOW = {
  breaker_open_total: 'packages/kernel/src/policy/breaker.test.ts',
  breaker_state: 'packages/kernel/src/policy/breaker.test.ts',
}

export interface CoveredService {
  /** Its own. */
  readonly metrics: MetricTable
  readonly topology: { readonly queues: object; readonly broadcasts: object }
  /** The errors the design notes name for it. */
  readonly errors: readonly ErrorKind[]
  readonly rows: readonly MetricRow[]
  /** What it cannot be made to count by itself in virtual time, and the test that provokes it. */
  readonly elsewhere?: Readonly<Record<string, string>>
}

export function metricCoverageSuite(service: CoveredService): void {
  const { rows } = service
  const elsewhere: Readonly<Record<string, string>> = { ...COUNTED_BELOW, ...service.elsewhere }
  metricRowsSuite(rows)

  test('every metric has a story, or a test where it is counted', () => {
    const all = Object.keys({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...service.metrics })
    const missing = all.filter((name) => !hasRow(rows, name) && !(name in elsewhere))
    assert.deepEqual(missing, [])
    for (const [name, file] of Object.entries(elsewhere)) {
      assert.ok(all.includes(name), `${name} is no metric`)
      assert.ok(!hasRow(rows, name), `${name} has a story here`)
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
      assert.ok(text.includes(name), `${file} does not mention ${name}`)
    }
  })

  test('every queue and broadcast is filled until it loses something', () => {
    const { queues, broadcasts } = service.topology
    // The queues of breakers are the kernel's; `packages/kernel/src/policy/breaker.test.ts` fills one.
    const own = Object.keys({ ...queues, ...broadcasts }).filter((name) => !name.endsWith('-outcomes'))
    for (const queue of own) assert.ok(hasRow(rows, 'queue_dropped_total', { queue }), queue)
  })

  test('every error the design notes name is triggered', () => {
    for (const kind of service.errors) assert.ok(hasRow(rows, ERRORS[kind].metric), `${kind}: ${ERRORS[kind].metric}`)
  })
}

/** A test for each row. */
export function metricRowsSuite(rows: readonly MetricRow[]): void {
  const told = new Map<MetricScenario, Promise<Reading>>()
  describe('what a story provokes is counted', () => {
    for (const [name, labels, scenario] of rows) {
      const shown = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
      test(`${name} ${shown.join(' ')}`, async () => {
        const reading = told.get(scenario) ?? scenario()
        told.set(scenario, reading)
        assert.ok((await reading)(name, labels) > 0)
      })
    }
  })
}

/** Whether a row has this metric with, among others, these labels. */
export function hasRow(rows: readonly MetricRow[], name: string, labels: Labels = {}): boolean {
  return rows.some(
    ([each, own]) => each === name && Object.entries(labels).every(([label, value]) => own[label] === value),
  )
}
