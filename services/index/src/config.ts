import { ingressSection, listenKeys } from '@cairn/http'
import { duration, section, setting } from '@cairn/platform'
import { z } from 'zod'

export const INDEX_PORT_OFFSET = 2

const count = (min: number): z.ZodNumber => z.number().int().min(min)

/** The part of a score that rests on what a provider says about itself may not decide more than this. */
const SELF_CLAIMED_MAX = 0.25

const webUrl = z.string().refine((text) => /^https?:\/\/[^\s?#]+$/.test(text) && URL.canParse(text), {
  error: 'must be a URL such as https://index.example.org',
})

const region = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be a region such as eu-west')

const ascending = z
  .array(z.number().int().min(1))
  .length(4)
  .refine((list) => list.every((value, at) => at === 0 || value > (list[at - 1] ?? 0)), 'must be four rising numbers')

/** `[index]` */
export const indexSection = section({
  ...listenKeys(7070 + INDEX_PORT_OFFSET),
  ingress: ingressSection({ max_connections_per_address: 256 }),
  drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
    default: '3s',
    reload: 'restart',
    does: 'How long accepted work may take to finish on shutdown.',
  }),
  workers: setting(count(2), {
    default: 16,
    reload: 'restart',
    does: 'Lookups worked on at once; docs/concurrency/index.md has the formula.',
  }),
  region: setting(region, { reload: 'restart', does: 'Where this node is: part of the records it signs.' }),
  registry: section({
    url: setting(webUrl, {
      reload: 'restart',
      does: 'A registry elsewhere to follow in place of the one of this node; needs `registry.trust_path`.',
    }),
    trust_path: setting(z.string().min(1), {
      reload: 'restart',
      does: 'The trust file of the registry to follow. Without it the registry of this node is believed when it is first met.',
    }),
    max_checkpoint_age: setting(duration({ min: 1000 }), {
      default: '5m',
      reload: 'restart',
      does: 'How old the newest checkpoint of the registry may be; past it `/readyz` says `stale`, and answers carry its age.',
    }),
    when_stale: setting(z.enum(['serve', 'refuse']), {
      default: 'serve',
      reload: 'restart',
      does: 'Past that age: `serve` says what was proved, with its age; `refuse` answers 503.',
    }),
  }),
  dht: dhtSection(),
  cache: cacheSection(),
  rank: rankSection(),
  breaker: breakerSection(),
  limits: limitsSection(),
  announce: announceSection(),
  amnesia: section({
    purge_interval: setting(duration({ min: 1000 }), {
      default: '30s',
      reload: 'restart',
      does: 'In amnesia: how often everything that was looked up is forgotten.',
      designName: 'amnesia.purge_interval_ms',
    }),
  }),
  facets: section({
    search: setting(z.boolean(), { default: false, reload: 'restart', does: 'Serves `GET /search`.' }),
    graph: setting(z.boolean(), { default: false, reload: 'restart', does: 'Serves `GET /graph`.' }),
    workers: setting(count(1), { default: 2, reload: 'restart', does: 'Searches and walks worked on at once.' }),
  }),
})

function dhtSection() {
  return section({
    alpha: setting(count(1).max(16), {
      default: 3,
      reload: 'live',
      does: 'Ways asked at once when a lookup begins.',
    }),
    beta: setting(count(0).max(16), {
      default: 2,
      reload: 'live',
      does: 'More ways asked when none of the first has found anything in time; 0 is no hedge.',
    }),
    hedge: setting(duration({ min: 1, max: 60_000 }), {
      default: '150ms',
      reload: 'live',
      does: 'How long the first ways have before more are asked.',
      designName: 'dht.hedge_ms',
    }),
    deadline: setting(duration({ min: 10, max: 60_000 }), {
      default: '1200ms',
      reload: 'live',
      does: 'The whole budget of a lookup, time in the queue included.',
      designName: 'dht.deadline_ms',
    }),
    gather: setting(duration({ min: 0, max: 10_000 }), {
      default: '100ms',
      reload: 'live',
      does: 'How long a lookup goes on collecting after it is satisfied.',
    }),
    quorum: setting(count(1).max(16), {
      default: 1,
      reload: 'live',
      does: 'Sources (endpoints, the DHT) that have to name a signed provider before a lookup is satisfied; one that lies cannot end it alone with 2.',
    }),
    accept_unsigned: setting(z.boolean(), {
      default: false,
      reload: 'live',
      does: 'Also shows providers without a signed record, ranked last.',
    }),
    endpoints: setting(z.array(webUrl), {
      default: [],
      reload: 'restart',
      does: 'Delegated Routing endpoints and other cairn indexes to ask.',
    }),
    kad: setting(z.boolean(), { default: false, reload: 'restart', does: 'Takes part in the DHT over libp2p.' }),
    protocol: setting(z.string().regex(/^\/[a-z0-9/._-]+$/), {
      default: '/cairn/kad/1.0.0',
      reload: 'restart',
      does: 'The DHT to take part in; `/ipfs/kad/1.0.0` is the public one of IPFS.',
    }),
    listen: setting(z.array(z.string()), {
      default: ['/ip4/127.0.0.1/tcp/0'],
      reload: 'restart',
      does: 'Multiaddresses the DHT listens on.',
    }),
    bootstrap: setting(z.array(z.string()), {
      default: [],
      reload: 'restart',
      does: 'Multiaddresses, with peer id, of nodes to begin with.',
    }),
    allow_loopback: setting(z.boolean(), {
      default: false,
      reload: 'restart',
      does: 'For development: takes loopback addresses in records for reachable.',
    }),
  })
}

function cacheSection() {
  return section({
    entries: setting(count(1), { default: 100_000, reload: 'live', does: 'Answers kept; the oldest go first.' }),
    ttl: setting(duration({ min: 1 }), {
      default: '10s',
      reload: 'live',
      does: 'How long an answer is kept.',
      designName: 'cache.ttl_ms',
    }),
    neg_ttl: setting(duration({ min: 1 }), {
      default: '2s',
      reload: 'live',
      does: 'How long it is kept that there is nothing.',
      designName: 'cache.neg_ttl_ms',
    }),
    warmup_keys: setting(z.array(z.string()), {
      default: [],
      reload: 'restart',
      does: 'Keys looked up at start, `name:…` or `b3:…`.',
    }),
  })
}

function rankSection() {
  return section({
    region_bias: setting(z.number().min(0).max(SELF_CLAIMED_MAX), {
      default: SELF_CLAIMED_MAX,
      reload: 'live',
      does: 'The weight of a matching region; providers say themselves where they are, so it stays small.',
    }),
    freshness_half_life: setting(duration({ min: 1000 }), {
      default: '600s',
      reload: 'live',
      does: 'How fast a record loses weight with its age.',
      designName: 'rank.freshness_half_life_s',
    }),
    latency_buckets_ms: setting(ascending, {
      default: [30, 80, 200, 500],
      reload: 'live',
      does: 'Bounds of the latency classes.',
    }),
    allowed_regions: setting(z.array(region), {
      default: [],
      reload: 'live',
      does: 'If not empty, only providers that say they are in one of these.',
    }),
    provider_denylist: setting(z.array(z.string()), {
      default: [],
      reload: 'live',
      does: 'Providers never shown, by id.',
    }),
  })
}

function breakerSection() {
  return section({
    error_window: setting(duration({ min: 1000 }), {
      default: '30s',
      reload: 'restart',
      does: 'Over which time the failures of a target are counted.',
      designName: 'breaker.error_window_s',
    }),
    trip_threshold: setting(z.number().min(0).max(1), {
      default: 0.5,
      reload: 'restart',
      does: 'The share of failures above which a target is left alone.',
    }),
    cooldown: setting(duration({ min: 100 }), {
      default: '10s',
      reload: 'restart',
      does: 'How long it is left alone.',
      designName: 'breaker.cooldown_s',
    }),
    half_open_probes: setting(count(1), {
      default: 3,
      reload: 'restart',
      does: 'Tries that must all succeed before it counts as well again.',
    }),
  })
}

function limitsSection() {
  return section({
    max_per_route: setting(count(1), {
      default: 384,
      reload: 'live',
      does: 'Requests of one route that may wait for a lookup at once, so that no route takes every place.',
    }),
    resolves_per_minute: setting(count(0), {
      default: 0,
      reload: 'live',
      does: 'Resolves over all clients in a minute; 0 is no limit.',
      designName: 'quotas.max_resolves_per_min',
    }),
    providers_per_minute: setting(count(0), {
      default: 0,
      reload: 'live',
      does: 'Provider lookups over all clients in a minute; 0 is no limit.',
      designName: 'quotas.max_providers_per_min',
    }),
  })
}

function announceSection() {
  return section({
    own: setting(z.boolean(), {
      default: true,
      reload: 'restart',
      does: 'Announces what the storage of this node holds.',
    }),
    http: setting(z.array(webUrl), {
      default: [],
      reload: 'live',
      does: 'Where others fetch from this node; without it the addresses it listens on.',
    }),
    to: setting(z.array(z.strictObject({ url: webUrl, token_path: z.string().min(1) })), {
      default: [],
      reload: 'restart',
      does: 'Other cairn indexes told what this node holds: `url`, and `token_path`, a file with a token for `index:announce` there.',
    }),
    reconcile_interval: setting(duration({ min: 1000 }), {
      default: '60s',
      reload: 'live',
      does: 'How often what storage holds is compared with what is announced.',
    }),
  })
}

export type IndexConfig = z.output<typeof indexSection>
