/** Our edge as an ordinary operator would run it in front of the origin: one upstream, its headers listed. */
import { EDGE_METRICS, edgeSection, startEdge } from '@cairn/edge'
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import {
  createPlatform,
  INGRESS_METRICS,
  NO_CAPABILITIES,
  nodeLookup,
  openWorkers,
  UndiciTransport,
} from '@cairn/platform'
import { headersOf, type SuiteTest } from './suite.ts'

/** What the suite's origin and client say beside what the tests declare. */
const REQUEST_HEADERS = ['test-id', 'test-name', 'req-num', 'cache-control', 'pragma']
const RESPONSE_HEADERS = [
  'server-base-url',
  'server-request-count',
  'client-request-count',
  'server-now',
  'request-numbers',
  'capability-seen',
]
const MEMORY_BYTES = 256 * 1024 * 1024

export interface Subject {
  readonly name: string
  readonly base: string
  stop(): Promise<void>
}

export async function startEdgeSubject(originPort: number, tests: readonly SuiteTest[]): Promise<Subject> {
  const runtime = systemRuntime(
    new MemoryLog(),
    new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...EDGE_METRICS }),
  )
  const workers = openWorkers(runtime)
  const transport = new UndiciTransport(runtime)
  const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup, memoryBytes: MEMORY_BYTES })
  const values = edgeSection.parse({
    bind_addr: '127.0.0.1:0',
    ingress: { max_rps: 0 },
    mode: 'live',
    allow: [`127.0.0.1:${originPort}`],
    dev_allow_loopback_http: true,
    routes: {
      tests: {
        upstream: `http://127.0.0.1:${originPort}/`,
        request_headers: [...REQUEST_HEADERS, ...headersOf(tests, 'request_headers')],
        response_headers: [...RESPONSE_HEADERS, ...headersOf(tests, 'response_headers')],
        pass_methods: ['POST', 'PUT', 'PATCH', 'DELETE', 'M-SEARCH'],
      },
    },
  })
  const { running } = await startEdge({
    platform,
    config: new Config({ values, origins: {} }),
    directory: 'edge',
    authorizer: NO_CAPABILITIES,
    version: {},
    metricsText: async () => await Promise.resolve(''),
    onFatal: (task) => void process.stderr.write(`${task} failed\n`),
    amnesiaBytes: MEMORY_BYTES,
  })
  const [url = ''] = running.urls
  return {
    name: 'cairn edge',
    base: `${url.replace(/\/$/, '')}/edge/assets/u/tests`,
    stop: async () => {
      await running.stop()
      await workers.close()
      await transport.close()
    },
  }
}
