/** What the code says of each service: topology, metrics, routes. The routes are those it serves: opened in memory, asked for its table, and closed. */
import * as edge from '@cairn/edge'
import * as edgeTesting from '@cairn/edge/testing'
import type { RouteTable } from '@cairn/http'
import { openApi, renderRoutes } from '@cairn/http/testing'
import * as index from '@cairn/index'
import * as indexTesting from '@cairn/index/testing'
import * as interop from '@cairn/interop'
import * as interopTesting from '@cairn/interop/testing'
import { Bus, Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, type MetricTable, systemRuntime } from '@cairn/kernel'
import { renderMetrics, renderTopology, type Topology } from '@cairn/kernel/testing'
import { NODE_ABOUT, NODE_TOPOLOGY, type NodeControl, nodeRoutes } from '@cairn/node/testing'
import { createPlatform, nodeLookup, openWorkers, type Platform, UndiciTransport } from '@cairn/platform'
import * as registry from '@cairn/registry'
import * as registryTesting from '@cairn/registry/testing'
import * as storage from '@cairn/storage'
import * as storageTesting from '@cairn/storage/testing'
import type { z } from 'zod'
import type { GeneratedDoc } from './golden.ts'

interface Closing {
  readonly close: () => Promise<void>
}

/** A service as its documents need it. */
interface Described {
  readonly name: string
  readonly about: string
  readonly intro: string
  readonly topology: Topology
  readonly metrics: MetricTable
  readonly codes: Parameters<typeof openApi>[2]
  routes(platform: Platform): Promise<{ readonly table: RouteTable } & Closing>
}

/** The reserve of a journal alone is two segments. */
const MEMORY_BYTES = 256 * 1024 * 1024

export const API_FOREWORD = `# API

Of [storage](storage.md), [registry](registry.md), [index](index.md), [edge](edge.md), [interop](interop.md) and the [node](node.md).

Every answer that is not 2xx or 3xx is \`application/problem+json\` with one of the codes below; 429 and 503 say when to come
back, and 401 and 403 by their codes what is wrong with the token. What is asked of no route is answered 400 if its path is
not in plain form, 404, or 405 for a method the path does not have. The operator's routes \`/healthz\`, \`/readyz\`, \`/metrics\`, \`/version\`, \`/openapi.json\` and \`/debug/topology\` are the same in every service. A route of no lane runs at once, on the request.
`

const SERVICES: readonly Described[] = [
  {
    name: 'storage',
    about: storage.STORAGE.about,
    intro: `Objects by the hash of their bytes. Reads are open unless \`storage.auth.read_requires_capability\` is set: then \`/o\`,
\`/c\` and \`/m\` ask for \`storage:write\`, which a \`method\` caveat narrows to reading.`,
    topology: storageTesting.STORAGE_TOPOLOGY,
    metrics: storageTesting.STORAGE_METRICS,
    codes: storageTesting.STORAGE_CODES,
    routes: async (platform) =>
      described(
        await storageTesting.openParts({
          ...hostOf(platform, storageTesting.storageSection),
          identitySeed: new Uint8Array(32),
        }),
        storageTesting.storageRoutes,
      ),
  },
  {
    name: 'registry',
    about: registry.REGISTRY.about,
    intro: `Names and descriptors, proposed, approved by M of N signers, committed to a provable log. Reads are open; every write
asks for a scope of its own, and an approval for a signature besides. Bodies of writes are JSON or CBOR of a said length.
\`/readyz\` is 200 with \`write_ready: false\` while only reads are served.`,
    topology: registryTesting.REGISTRY_TOPOLOGY,
    metrics: registryTesting.REGISTRY_METRICS,
    codes: registryTesting.REGISTRY_CODES,
    routes: async (platform) =>
      described(await registry.openParts(hostOf(platform, registry.registrySection)), registryTesting.registryRoutes),
  },
  {
    name: 'index',
    about: index.INDEX.about,
    intro: `What a name means, with its proof, and who holds an address, best first. A question is answered within its budget or
refused in time. Reads are open; what changes anything asks for a scope of its own.`,
    topology: indexTesting.INDEX_TOPOLOGY,
    metrics: indexTesting.INDEX_METRICS,
    codes: indexTesting.INDEX_CODES,
    routes: async (platform) => {
      const identitySeed = new Uint8Array(32)
      return described(
        await indexTesting.openParts({ ...hostOf(platform, indexTesting.indexSection), identitySeed }),
        indexTesting.indexRoutes,
      )
    },
  },
  {
    name: 'edge',
    about: edge.EDGE.about,
    intro: `Objects, names as websites, tile packs and allow-listed upstreams, with ranges, validators and caching. Everything is GET or
HEAD and open, save the administration of packs.`,
    topology: edgeTesting.EDGE_TOPOLOGY,
    metrics: edgeTesting.EDGE_METRICS,
    codes: edgeTesting.EDGE_CODES,
    routes: async (platform) =>
      described(await edgeTesting.openParts(hostOf(platform, edgeTesting.edgeSection)), edgeTesting.edgeRoutes),
  },
  {
    name: 'interop',
    about: interop.INTEROP.about,
    intro: `Webhooks are judged on their exact bytes; 202 means durable. Mailboxes hand messages out at least once, in order for each
key. What is put by \`/put\` is an ordinary object.`,
    topology: interopTesting.INTEROP_TOPOLOGY,
    metrics: interopTesting.INTEROP_METRICS,
    codes: interopTesting.INTEROP_CODES,
    routes: async (platform) =>
      described(
        await interopTesting.openParts(hostOf(platform, interopTesting.interopSection)),
        interopTesting.interopRoutes,
      ),
  },
]

/** Of each service, by its name. */
export const SERVICE_METRICS: Readonly<Record<string, MetricTable>> = Object.fromEntries(
  SERVICES.map(({ name, metrics }) => [name, metrics]),
)

/** The same order. */
export const SERVICE_TOPOLOGIES: readonly Topology[] = SERVICES.map(({ topology }) => topology)

/** The node, of which only the table of routes is wanted: nobody calls its handlers. */
const NODE: Described = {
  name: 'node',
  about: NODE_ABOUT,
  intro: `The process itself: what runs in it, its configuration, its keys. Everything but the API reference and the
console asks for \`node:admin\`. The command line asks through the socket in the data directory; a page of the console shows
its session, which two halves open: a cookie, and the header \`X-Cairn-Session\`.`,
  topology: NODE_TOPOLOGY,
  metrics: {},
  codes: {},
  routes: async (platform) => {
    const uncalled = (): never => {
      throw new TypeError('Only the table is wanted.')
    }
    const control: NodeControl = {
      status: uncalled,
      requestStop: uncalled,
      reload: uncalled,
      config: uncalled,
      api: uncalled,
      rotateKeys: uncalled,
      keys: { mint: uncalled, describe: uncalled, revoke: uncalled },
      backupLocks: { hold: uncalled, release: uncalled },
      console: {
        page: { document: uncalled, file: uncalled },
        sessions: {
          mintCode: uncalled,
          signIn: uncalled,
          of: uncalled,
          list: uncalled,
          revoke: uncalled,
          facts: uncalled,
        },
        live: { stream: uncalled },
        url: uncalled,
        target: uncalled,
      },
    }
    const events = new Bus(platform, NODE_TOPOLOGY)
    const table = nodeRoutes(control, platform.clock, events)
    return await Promise.resolve({ table, close: async () => await Promise.resolve(events.close()) })
  },
}

function hostOf<C>(
  platform: Platform,
  section: z.ZodType<C>,
): { readonly platform: Platform; readonly config: Config<C>; readonly directory: string } {
  const config = new Config({ values: section.parse({}), origins: {} })
  return { platform, config, directory: 'service' }
}

function described<Parts extends Closing>(
  parts: Parts,
  routes: (parts: Parts) => RouteTable,
): { readonly table: RouteTable } & Closing {
  return { table: routes(parts), close: parts.close }
}

async function withRoutes<T>(service: Described, render: (table: RouteTable) => T): Promise<T> {
  const { metrics } = service
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics({ ...KERNEL_METRICS, ...metrics }))
  const workers = openWorkers(runtime)
  const transport = new UndiciTransport(runtime)
  const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup, memoryBytes: MEMORY_BYTES })
  const opened = await service.routes(platform)
  try {
    return render(opened.table)
  } finally {
    await opened.close()
    await workers.close()
    await transport.close()
  }
}

/** The part of a concurrency document that a `topology.ts` says. */
export function topologyPage(topology: Topology): string {
  const intro = 'Generated from the declaration in `topology.ts`; the code opens its channels from the same one.'
  return `# Topology of ${topology.service}\n\n${intro}\n\n${renderTopology(topology)}`
}

function metricsPage({ name, metrics }: Described): string {
  const intro = `Beside those of [the kernel](kernel-metrics.md) and of the ingress. From \`services/${name}/src/metrics.ts\`.`
  return `# Metrics of ${name}\n\n${intro}\n\n${renderMetrics(metrics)}`
}

async function apiPage(service: Described): Promise<string> {
  const { name, intro, codes } = service
  return await withRoutes(
    service,
    (table) => `# API of ${name}\n\n${intro} [Common to all](README.md).\n\n${renderRoutes(table, codes)}`,
  )
}

async function openApiPage(service: Described): Promise<string> {
  const { name, about: description, codes } = service
  const info = { title: `cairn ${name}`, version: '1', description }
  return await withRoutes(service, (table) => `${JSON.stringify(openApi(info, table, codes), undefined, 2)}\n`)
}

export const SERVICE_DOCS: readonly GeneratedDoc[] = [
  ...SERVICES.flatMap((service) => [
    { output: `docs/generated/topology-${service.name}.md`, render: () => topologyPage(service.topology) },
    { output: `docs/generated/metrics-${service.name}.md`, render: () => metricsPage(service) },
  ]),
  ...[...SERVICES, NODE].flatMap((service) => [
    { output: `docs/API/${service.name}.md`, render: async () => await apiPage(service) },
    { output: `docs/generated/openapi-${service.name}.json`, render: async () => await openApiPage(service) },
  ]),
]
