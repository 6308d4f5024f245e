import type { MetricTable } from '@cairn/kernel'

/** What a mailbox counts; for the table of the service that has one. */
export const MAILBOX_METRICS = {
  mailbox_deliveries_total: { type: 'counter', labels: [], help: 'Messages handed to a consumer.' },
  mailbox_acks_total: { type: 'counter', labels: ['result'], help: 'Acknowledgements: `acked`, `nacked` or `lost`.' },
  mailbox_dead_total: { type: 'counter', labels: [], help: 'Messages that became dead letters.' },
  mailbox_replayed_total: { type: 'counter', labels: [], help: 'Dead letters put back.' },
} as const satisfies MetricTable
