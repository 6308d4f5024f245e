import type { MetricTable } from '@cairn/kernel'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]

/** What the registry counts beside the kernel and the ingress. */
export const REGISTRY_METRICS = {
  commit_cas_fail_total: {
    type: 'counter',
    labels: [],
    help: 'Commits refused because an item or HEAD was no longer what the proposal replaces.',
  },
  commit_latency_seconds: {
    type: 'histogram',
    labels: [],
    buckets: SECONDS,
    help: 'From the moment a commit is asked for until it is published.',
  },
  storage_backoff_total: {
    type: 'counter',
    labels: ['op'],
    help: 'Writes that the drive refused and that will be tried again: of `entries` or of a `checkpoint`.',
  },
  registry_updates_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Commits asked for: `accepted`, `rejected`, or `superseded` where HEAD was replaced on purpose.',
  },
  registry_commits_total: { type: 'counter', labels: ['outcome'], help: 'The same as `committed` or a code.' },
  registry_batches_total: { type: 'counter', labels: [], help: 'Batches made durable, signed and published.' },
  registry_entries_total: { type: 'counter', labels: ['kind'], help: 'Entries appended to the log.' },
  registry_pending_proposals: { type: 'gauge', labels: [], help: 'Proposals that can still be committed.' },
  registry_signers: { type: 'gauge', labels: ['org'], help: 'Signers in force, by the part of their id before #.' },
  registry_head_version: { type: 'gauge', labels: [], help: 'The version of HEAD.' },
  registry_log_entries: { type: 'gauge', labels: [], help: 'Entries the published checkpoint covers.' },
  registry_log_segments: { type: 'gauge', labels: [], help: 'Files the log is in.' },
  registry_storage_bytes: { type: 'gauge', labels: [], help: 'Bytes of those files.' },
  registry_checkpoint_age_seconds: { type: 'gauge', labels: [], help: 'Since the published checkpoint was timed.' },
  registry_config_version: {
    type: 'gauge',
    labels: [],
    help: 'One at the start; grows with every configuration taken over.',
  },
  registry_recoveries_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Starts from a log: `startup` after a clean stop, `crash` where entries still had to be signed.',
  },
  registry_minimum_index: { type: 'gauge', labels: [], help: 'Entries below this one have been removed.' },
  registry_pruned_entries_total: { type: 'counter', labels: [], help: 'Entries removed by retention.' },
  registry_prune_skipped_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Rounds of the pruner that did not take place: its queue was `full`, or the `drive` failed.',
  },
  registry_verify_progress: { type: 'gauge', labels: [], help: 'How much of the log this round has proved, 0 to 1.' },
  registry_verify_bad_index: { type: 'gauge', labels: [], help: 'The first entry found wrong; -1 if none is.' },
  registry_verified_entries_total: { type: 'counter', labels: [], help: 'Entries the deep verifier has read.' },
  audit_chain_verify_seconds: {
    type: 'histogram',
    labels: [],
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    help: 'How long one slice of the deep verifier took.',
  },
  bus_overflow_dropped_total: {
    type: 'counter',
    labels: [],
    help: 'Versions that were not announced one by one because the publisher fell behind.',
  },
  registry_sse_clients_connected_total: { type: 'counter', labels: [], help: 'Event streams opened.' },
  registry_sse_clients_disconnected_total: { type: 'counter', labels: [], help: 'Event streams ended.' },
} as const satisfies MetricTable
