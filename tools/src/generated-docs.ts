/** Every document rendered from the code. Add a row, then `npm run docs`. */
import { KERNEL_METRICS, renderErrors, renderMetrics, renderTopology, type Topology } from '@cairn/kernel'
import { NODE_TOPOLOGY } from '@cairn/node'
import { renderDependencies } from './dependencies.ts'
import type { GeneratedDoc } from './golden.ts'

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

/** The part of a concurrency document that its service's `topology.ts` says. */
function topologyPage(topology: Topology): string {
  const intro = `Generated from the declaration in \`topology.ts\`; the code opens its channels from the same one.`
  return page(`Topology of ${topology.service}`, intro, renderTopology(topology))
}

export const GENERATED_DOCS: readonly GeneratedDoc[] = [
  { output: 'docs/dependencies.md', render: renderDependencies },
  { output: 'docs/ERRORS.md', render: errorsPage },
  { output: 'docs/generated/kernel-metrics.md', render: kernelMetricsPage },
  { output: 'docs/generated/topology-node.md', render: () => topologyPage(NODE_TOPOLOGY) },
]
