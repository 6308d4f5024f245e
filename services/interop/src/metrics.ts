import type { MetricTable } from '@cairn/kernel'
import { MAILBOX_METRICS } from '@cairn/mailbox'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]

/** What interop counts beside the kernel and the ingress. */
export const INTEROP_METRICS = {
  webhook_verify_total: {
    type: 'counter',
    labels: ['provider', 'result'],
    help: 'Webhooks judged, by configured provider: `ok` or `fail`.',
  },
  webhook_accepted_total: { type: 'counter', labels: ['provider'], help: 'Webhooks accepted for the first time.' },
  interop_dedup_rejects_total: {
    type: 'counter',
    labels: ['provider'],
    help: 'Webhooks that had been accepted before and were not applied again.',
  },
  brownout_active: {
    type: 'gauge',
    labels: ['component'],
    help: '1 while the component is shed: `bridge` is puts, forwards and providers that send again.',
  },
  audit_emitted_total: { type: 'counter', labels: ['sink'], help: 'Audit lines written, by sink.' },
  audit_drop_total: { type: 'counter', labels: [], help: 'Refusals that were dropped before they were in the audit.' },
  audit_lines: { type: 'gauge', labels: [], help: 'Lines the audit chain has had.' },
  audit_anchored_lines: { type: 'gauge', labels: [], help: 'How many of them the registry vouches for.' },
  capabilities_issued_total: {
    type: 'counter',
    labels: ['scope'],
    help: 'Tokens made for one event, by what they allow.',
  },
  stream_chunks_total: { type: 'counter', labels: ['route'], help: 'Chunks of streamed bodies.' },
  hash_compute_seconds: {
    type: 'histogram',
    labels: ['alg'],
    buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05],
    help: 'Time to hash one body.',
  },
  upstream_rpc_seconds: {
    type: 'histogram',
    labels: ['upstream', 'op', 'outcome'],
    buckets: SECONDS,
    help: 'Calls to other services, which `upstream` names, tries included: `ok` or `failed`.',
  },
  mailbox_messages: { type: 'gauge', labels: ['state'], help: 'Messages here: `live` or `dead`.' },
  ...MAILBOX_METRICS,
  replay_keys: { type: 'gauge', labels: [], help: 'Deliveries remembered.' },
  journal_bytes: { type: 'gauge', labels: [], help: 'Bytes of the journal.' },
  redeliveries_asked_total: { type: 'counter', labels: [], help: 'Deliveries asked for again at the provider.' },
  storage_backoff_total: {
    type: 'counter',
    labels: ['op'],
    help: 'Writes of the journal that the drive refused: of `accepted`, `audit` or `mailbox` records.',
  },
} as const satisfies MetricTable
