import type { MetricTable } from '@cairn/kernel'

/** What following the registry counts. */
export const REGISTRY_VIEW_METRICS = {
  index_registry_checks_total: {
    type: 'counter',
    labels: ['outcome'],
    help: 'Looks at the registry: it had `advanced`, was `unchanged`, could not be asked (`unreachable`), or was `refused`.',
  },
  index_registry_refused_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'What the registry told and could not prove, by the code of the refusal. Nothing of it was taken over.',
  },
  index_registry_version: {
    type: 'gauge',
    labels: [],
    help: 'The newest version of the registry that was proved here.',
  },
  index_registry_entries: { type: 'gauge', labels: [], help: 'Entries of its log up to which everything was proved.' },
} as const satisfies MetricTable
