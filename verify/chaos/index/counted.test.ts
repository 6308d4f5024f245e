/** What only a real registry or a real DHT makes the index count: every label of each metric. */
import { Deadline } from '@cairn/kernel'
import { type Address, addressOf } from '@cairn/wire'
import { Peer } from '../../../packages/routing/test/peer.ts'
import { type MetricRow, type MetricScenario, metricRowsSuite } from '../../virtual/metric-coverage-suite.ts'
import { fork } from './lying-registry.ts'
import { scene } from './scene.ts'

const object = (count: number): Address => addressOf(Buffer.from(`object ${count}`))

/** A registry that goes on, stays as it is, cannot be asked, and lies. */
const following: MetricScenario = async () => {
  const { registry, viewing } = await scene()
  await viewing.sleep(6000)
  registry.isGone = true
  await viewing.sleep(20_000)
  registry.isGone = false
  registry.show(fork(['site@1.0', 'other@1', 'more@1']))
  await viewing.sleep(60_000)
  const { metrics } = viewing.platform
  await viewing.stop()
  return (name, labels) => metrics.value(name, labels)
}

/** A DHT of three, on the real clock: told, asked, asked in vain and too often; and one of nobody. */
const dht: MetricScenario = async () => {
  const { signal } = new AbortController()
  const [alone, middle, asker] = [900, 901, 903].map((number) => new Peer({ number }))
  const holder = new Peer({ number: 902, isFrozen: true })
  if (alone === undefined || middle === undefined || asker === undefined) throw new Error('Nobody is there.')
  const first = middle.kad({ transport: 'tcp' })
  const options = { transport: 'tcp', bootstrap: await first.start({ signal }) } as const
  const [held, asking, nobody] = [holder.kad(options), asker.kad(options), alone.kad({ transport: 'tcp' })]
  await nobody.provide([alone.hold(object(1))], { signal }).catch(() => undefined)
  for (const at of [1, 2]) await held.provide([holder.hold(object(at))], { signal })
  holder.held.delete(object(2))
  await asking.join({ signal })
  const find = async (cid: Address): Promise<void> => {
    const deadline = Deadline.after(asker.runtime.clock, 5000)
    for (const leg of asking.legs(cid, 1)) await leg.find(cid, { deadline, signal, onProvider: () => undefined })
  }
  // On a busy machine the first connection may take longer than the second a record may take.
  const isFound = (): boolean => holder.metrics.value('provider_requests_total', { result: 'found' }) > 0
  for (let time = 0; time < 20 && !isFound(); time += 1) await find(object(1)).catch(() => undefined)
  // The holder's time does not pass: a hundred questions are answered, and no more.
  for (let time = 0; time < 15; time += 1)
    await Promise.allSettled(Array.from({ length: 8 }, async (_, at) => await find(object(1 + (at % 2)))))
  await Promise.all([first, held, asking, nobody].map(async (kad) => await kad.close()))
  const all = [alone, holder, asker].map(({ metrics }) => metrics)
  return (name, labels) =>
    Math.max(...all.map((metrics) => metrics.value(name, labels) + metrics.value(`${name}_count`, labels)))
}

const METRIC_ROWS: readonly MetricRow[] = [
  ['index_registry_checks_total', { outcome: 'advanced' }, following],
  ['index_registry_checks_total', { outcome: 'unchanged' }, following],
  ['index_registry_checks_total', { outcome: 'unreachable' }, following],
  ['index_registry_checks_total', { outcome: 'refused' }, following],
  ['index_registry_refused_total', { reason: 'forked' }, following],
  ['index_registry_version', {}, following],
  ['index_registry_entries', {}, following],
  ['provider_republish_total', { result: 'ok' }, dht],
  ['provider_republish_total', { result: 'failed' }, dht],
  ['provider_requests_total', { result: 'found' }, dht],
  ['provider_requests_total', { result: 'none' }, dht],
  ['provider_requests_total', { result: 'rate_limited' }, dht],
  ['dht_lookup_hops_histogram', { op: 'find_providers' }, dht],
]

metricRowsSuite(METRIC_ROWS)
