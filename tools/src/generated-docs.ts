/** Every document rendered from the code. Add a row, then `npm run docs`. */
import { renderCommands } from '@cairn/cli'
import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS } from '@cairn/kernel'
import { renderErrors, renderMetrics } from '@cairn/kernel/testing'
import { configSchemas, SERVICES } from '@cairn/node'
import { NODE_TOPOLOGY } from '@cairn/node/testing'
import { renderConfigReference } from '@cairn/platform/testing'
import { renderAlerts } from './alerts.ts'
import { renderDashboard } from './dashboard.ts'
import { renderDependencies } from './dependencies.ts'
import type { GeneratedDoc } from './golden.ts'
import { API_FOREWORD, SERVICE_DOCS, topologyPage } from './service-docs.ts'

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

function configPage(): string {
  const intro = [
    'Flags are stronger than the environment, the environment than the file (`cairn.toml`), the file than the defaults.',
    'A key marked `live` takes effect on a reload (`cairn config reload`, SIGHUP), `rebind` moves the listener first,',
    '`restart` waits for the next start. In the environment a key is `CAIRN__` and its parts in capitals, joined by `__`:',
    '`storage.ingress.max_rps` is `CAIRN__STORAGE__INGRESS__MAX_RPS`. A secret may also be read from a file, which the',
    'same name with `_FILE` behind it names.',
  ].join(' ')
  return page('Configuration', intro, renderConfigReference(configSchemas(SERVICES)))
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
  { output: 'deploy/prometheus/alerts.yml', render: () => renderAlerts() },
  { output: 'deploy/grafana/cairn.json', render: renderDashboard },
  { output: 'docs/API/README.md', render: () => API_FOREWORD },
  ...SERVICE_DOCS,
]
