/** The API of the registry, from the table of routes it serves: opened in memory, asked for its table, and closed. */
import { Config, KERNEL_METRICS, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import {
  createPlatform,
  nodeLookup,
  openApi,
  openWorkers,
  type RouteTable,
  renderRoutes,
  UndiciTransport,
} from '@cairn/platform'
import { openParts, REGISTRY_CODES, REGISTRY_METRICS, registryRoutes, registrySection } from '@cairn/registry'

/** The reserve of its journal alone is two segments. */
const MEMORY_BYTES = 64 * 1024 * 1024

async function withRoutes<T>(render: (routes: RouteTable) => T): Promise<T> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics({ ...KERNEL_METRICS, ...REGISTRY_METRICS }))
  const workers = openWorkers(runtime)
  const transport = new UndiciTransport(runtime)
  const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup, memoryBytes: MEMORY_BYTES })
  const config = new Config({ values: registrySection.parse({}), origins: {} })
  const parts = await openParts({ platform, config, directory: 'registry' })
  try {
    return render(registryRoutes(parts))
  } finally {
    await parts.close()
    await workers.close()
    await transport.close()
  }
}

const INTRO = `Names and descriptors, proposed, approved by M of N signers, committed to a provable log. Reads are open; every write
asks for a scope of its own, and an approval for a signature besides. Every answer that is not 2xx or 3xx is
\`application/problem+json\` with one of the codes below; 429 and 503 say when to come back. Bodies of writes are JSON or
CBOR of a said length. The operator's routes \`/healthz\`, \`/readyz\`, \`/metrics\`, \`/version\` and \`/debug/topology\` are the
same in every service; \`/readyz\` is 200 with \`write_ready: false\` while only reads are served.`

export async function registryApiPage(): Promise<string> {
  return await withRoutes((routes) => `# API of registry\n\n${INTRO}\n\n${renderRoutes(routes, REGISTRY_CODES)}`)
}

export async function registryOpenApi(): Promise<string> {
  const info = { title: 'cairn registry', version: '1', description: 'Names with a provable history.' }
  return await withRoutes((routes) => `${JSON.stringify(openApi(info, routes, REGISTRY_CODES), undefined, 2)}\n`)
}
