/** What routing counts; a service that routes adds these to its own table. */
import type { MetricTable } from '@cairn/kernel'

/** How a provider record that came to us fared; the values of the label `state`. */
export type RecordState =
  | 'accepted'
  | 'malformed'
  | 'unsigned'
  | 'forged'
  | 'expired'
  | 'too_long'
  | 'oversized'
  | 'other_cid'
  | 'other_publisher'
  | 'forbidden_address'
  | 'stale'
  | 'key_full'
  | 'peer_full'
  | 'store_full'

export const ROUTING_METRICS = {
  provider_records_total: {
    type: 'counter',
    labels: ['state'],
    help: 'Provider records that came to this node, by whether they were accepted or why not.',
  },
  provider_republish_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Provider records told to the DHT, by result.',
  },
  provider_announce_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Provider records told to other indexes: `accepted`, `refused`, or `failed` where one did not answer.',
  },
  provider_requests_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Requests of other peers for our provider records, by result.',
  },
  dht_lookup_hops_histogram: {
    type: 'histogram',
    labels: ['op'],
    buckets: [1, 2, 3, 4, 5, 6, 8, 10],
    help: 'Peers in a row that had to be asked until a provider was named.',
  },
} as const satisfies MetricTable
