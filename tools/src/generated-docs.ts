/** Every document rendered from the code. Add a row, then `npm run docs`. */
import { KERNEL_METRICS, renderErrors, renderMetrics } from '@cairn/kernel'
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

export const GENERATED_DOCS: readonly GeneratedDoc[] = [
  { output: 'docs/dependencies.md', render: renderDependencies },
  { output: 'docs/ERRORS.md', render: errorsPage },
  { output: 'docs/generated/kernel-metrics.md', render: kernelMetricsPage },
]
