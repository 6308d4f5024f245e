/** Every document rendered from the code. Add a row, then `npm run docs`. */
import { renderCommands } from '@cairn/cli'
import {
  KERNEL_METRICS,
  type MetricTable,
  renderErrors,
  renderMetrics,
  renderTopology,
  type Topology,
} from '@cairn/kernel'
import { configSchemas, NODE_TOPOLOGY, SERVICES } from '@cairn/node'
import { INGRESS_METRICS, renderConfigReference } from '@cairn/platform'
import { REGISTRY_METRICS, REGISTRY_TOPOLOGY } from '@cairn/registry'
import { STORAGE_METRICS, STORAGE_TOPOLOGY } from '@cairn/storage'
import { renderDependencies } from './dependencies.ts'
import type { GeneratedDoc } from './golden.ts'
import { registryApiPage, registryOpenApi } from './registry-api.ts'
import { storageApiPage, storageOpenApi } from './storage-api.ts'

function page(title: string, intro: string, body: string): string {
  return `# ${title}\n\n${intro}\n\n${body}`
}

function errorsPage(): string {
  return page(
    'Errors',
    'Every way work can fail, from `packages/kernel/src/errors.ts`. A service refines the code, never the status class.',
    renderErrors(),
  )
}

function kernelMetricsPage(): string {
  return page(
    'Metrics of the kernel',
    'Every service has these, with the constant label `service`. From `packages/kernel/src/observe/metrics.ts`.',
    renderMetrics(KERNEL_METRICS),
  )
}

function serviceMetricsPage(service: string, metrics: MetricTable): string {
  const intro = `Beside those of [the kernel](kernel-metrics.md) and of the ingress. From \`services/${service}/src/metrics.ts\`.`
  return page(`Metrics of ${service}`, intro, renderMetrics(metrics))
}

function configPage(): string {
  const intro = [
    'Flags are stronger than the environment, the environment than the file (`cairn.toml`), the file than the defaults.',
    'A key marked `live` takes effect on a reload (`cairn config reload`, SIGHUP), `rebind` moves the listener first,',
    '`restart` waits for the next start.',
  ].join(' ')
  return page('Configuration', intro, renderConfigReference(configSchemas(SERVICES)))
}

/** The part of a concurrency document that its service's `topology.ts` says. */
function topologyPage(topology: Topology): string {
  const intro = `Generated from the declaration in \`topology.ts\`; the code opens its channels from the same one.`
  return page(`Topology of ${topology.service}`, intro, renderTopology(topology))
}

export const GENERATED_DOCS: readonly GeneratedDoc[] = [
  { output: 'docs/dependencies.md', render: renderDependencies },
  { output: 'docs/ERRORS.md', render: errorsPage },
  { output: 'docs/CONFIG.md', render: configPage },
  { output: 'docs/COMMANDS.md', render: () => page('Commands', 'From `cli/src/table.ts`.', renderCommands()) },
  { output: 'docs/generated/kernel-metrics.md', render: kernelMetricsPage },
  {
    output: 'docs/generated/ingress-metrics.md',
    render: () => page('Metrics of the ingress', 'Every service has these.', renderMetrics(INGRESS_METRICS)),
  },
  { output: 'docs/generated/topology-node.md', render: () => topologyPage(NODE_TOPOLOGY) },
  { output: 'docs/generated/topology-storage.md', render: () => topologyPage(STORAGE_TOPOLOGY) },
  { output: 'docs/generated/metrics-storage.md', render: () => serviceMetricsPage('storage', STORAGE_METRICS) },
  { output: 'docs/API/storage.md', render: storageApiPage },
  { output: 'docs/generated/openapi-storage.json', render: storageOpenApi },
  { output: 'docs/generated/topology-registry.md', render: () => topologyPage(REGISTRY_TOPOLOGY) },
  { output: 'docs/generated/metrics-registry.md', render: () => serviceMetricsPage('registry', REGISTRY_METRICS) },
  { output: 'docs/API/registry.md', render: registryApiPage },
  { output: 'docs/generated/openapi-registry.json', render: registryOpenApi },
]
