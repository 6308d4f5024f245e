/** Somebody else's client of IPFS Delegated Routing, over a real socket. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INGRESS_METRICS, NO_CAPABILITIES } from '@cairn/http'
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { createPlatform, nodeLookup, openWorkers, UndiciTransport } from '@cairn/platform'
import { addressOf, cidFromAddress } from '@cairn/wire'
import { delegatedRoutingV1HttpApiClient } from '@helia/delegated-routing-v1-http-api-client'
import { CID } from 'multiformats/cid'
import { type IndexConfig, indexSection } from '../src/config.ts'
import { startIndex } from '../src/main.ts'
import { INDEX_METRICS } from '../src/metrics.ts'
import { TestStorage } from './dependencies.ts'
import { seedOf } from './network.ts'

const HELD = addressOf(Buffer.from('an object we hold'))
const UNKNOWN = addressOf(Buffer.from('an object nobody holds'))

/** What the client calls a logger. */
const line = Object.assign(() => {}, { error: () => {}, trace: () => {}, enabled: false, newScope: () => line })
const SILENT = { forComponent: () => line }

async function realIndex() {
  const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...INDEX_METRICS })
  const runtime = systemRuntime(new MemoryLog(), metrics)
  const workers = openWorkers(runtime)
  const transport = new UndiciTransport(runtime)
  const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup, memoryBytes: 1024 * 1024 })
  const storage = new TestStorage()
  storage.objects.add(HELD)
  const { running } = await startIndex({
    platform,
    config: new Config<IndexConfig>({ values: indexSection.parse({ bind_addr: '127.0.0.1:0' }), origins: {} }),
    directory: 'data/index',
    authorizer: NO_CAPABILITIES,
    version: {},
    metricsText: async () => await Promise.resolve(''),
    onFatal: (task) => assert.fail(`${task} failed too often`),
    identitySeed: seedOf(1),
    storage: storage.client,
    selfUrls: () => ['https://storage.example.org'],
  })
  return {
    url: running.urls[0] ?? assert.fail('it listens nowhere'),
    [Symbol.asyncDispose]: async () => {
      await running.stop()
      await transport.close()
      await workers.close()
    },
  }
}

for (const [how, accept] of [
  ['line by line', 'application/x-ndjson'],
  ['as one document', 'application/json'],
] as const) {
  test(`a stock client finds who holds an object of ours, ${how}`, async () => {
    await using index = await realIndex()
    const fetched: string[] = []
    const client = delegatedRoutingV1HttpApiClient({ url: index.url, cacheTTL: 0 })({ logger: SILENT })
    const { fetch } = globalThis
    try {
      globalThis.fetch = async (input, init) => {
        const headers = new Headers(init?.headers)
        headers.set('accept', accept)
        const response = await fetch(input, { ...init, headers })
        fetched.push(response.headers.get('content-type') ?? '')
        return response
      }
      const found = []
      for await (const provider of client.getProviders(CID.parse(cidFromAddress(HELD)))) found.push(provider)
      assert.equal(found.length, 1)
      assert.match(String(found[0]?.ID), /^bafzaaj/, 'the CID of a peer id')
      assert.deepEqual(found[0]?.Addrs.map(String), ['/dns/storage.example.org/tcp/443/https'])
      assert.deepEqual(fetched, [accept])
      const nobody = []
      for await (const provider of client.getProviders(CID.parse(cidFromAddress(UNKNOWN)))) nobody.push(provider)
      assert.deepEqual(nobody, [])
    } finally {
      globalThis.fetch = fetch
    }
  })
}
