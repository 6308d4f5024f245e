/** The API of storage, from the table of routes it serves: opened in memory, asked for its table, and closed. */
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
import { openParts, STORAGE_CODES, STORAGE_METRICS, storageRoutes, storageSection } from '@cairn/storage'

const MEMORY_BYTES = 1024 * 1024

async function withRoutes<T>(render: (routes: RouteTable) => T): Promise<T> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics({ ...KERNEL_METRICS, ...STORAGE_METRICS }))
  const workers = openWorkers(runtime)
  const transport = new UndiciTransport(runtime)
  const platform = createPlatform(runtime, { workers, transport, lookup: nodeLookup, memoryBytes: MEMORY_BYTES })
  const config = new Config({ values: storageSection.parse({}), origins: {} })
  const parts = await openParts({ platform, config, directory: 'storage' })
  try {
    return render(storageRoutes(parts))
  } finally {
    await parts.close()
    await workers.close()
    await transport.close()
  }
}

const INTRO = `Objects by the hash of their bytes. Every answer that is not 2xx or 3xx is \`application/problem+json\` with one of
the codes below; 429 and 503 say when to come back. Reads are open unless \`storage.auth.read_requires_capability\` is
set: then \`/o\`, \`/c\` and \`/m\` ask for \`storage:write\`, which a \`method\` caveat narrows to reading. The operator's
routes \`/healthz\`, \`/readyz\`, \`/metrics\`, \`/version\` and \`/debug/topology\` are the same in every service.`

export async function storageApiPage(): Promise<string> {
  return await withRoutes((routes) => `# API of storage\n\n${INTRO}\n\n${renderRoutes(routes, STORAGE_CODES)}`)
}

export async function storageOpenApi(): Promise<string> {
  const info = { title: 'cairn storage', version: '1', description: 'Objects by the hash of their bytes.' }
  return await withRoutes((routes) => `${JSON.stringify(openApi(info, routes, STORAGE_CODES), undefined, 2)}\n`)
}
