import { defineTopology } from '@cairn/kernel'

/** Every task and channel of the index. */
export const INDEX_TOPOLOGY = defineTopology({
  service: 'index',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Starts and restarts the others, and ends them in order.' },
    listener: {
      count: 1,
      criticality: 'critical',
      does: 'Takes requests, answers what is cached, admits the rest and puts it into `work`.',
    },
    'resolver-worker': {
      count: 'index.workers',
      criticality: 'critical',
      does: 'Looks up: the registry view and local names for a name; storage, announced records and the DHT for an address.',
    },
    'registry-follower': {
      count: 1,
      criticality: 'important',
      does: 'Keeps the verified view of the registry up to date.',
    },
    'cache-janitor': {
      count: 1,
      criticality: 'important',
      does: 'The one writer of the cache: takes answers in, lets old ones go, forgets everything in amnesia.',
    },
    'breaker-janitor': {
      count: 1,
      criticality: 'important',
      does: 'The one writer of the breakers: rolls their windows and lays out probes.',
    },
    prefetcher: {
      count: 1,
      criticality: 'optional',
      does: 'Looks up the warm-up keys at start, keeps pinned addresses fresh, and works off reindex requests.',
    },
    'dht-joiner': {
      count: 1,
      criticality: 'optional',
      does: 'Starts the DHT node where it is switched on, tries again while it cannot, and ends.',
    },
    announcer: {
      count: 1,
      criticality: 'important',
      does: 'Hears what storage takes in, compares what it holds with what is announced, and tells the network at a steady rate.',
    },
    'facet-worker': {
      count: 'index.facets.workers',
      criticality: 'optional',
      does: 'Searches and graph walks, where they are switched on.',
    },
    'config-reloader': {
      count: 1,
      criticality: 'important',
      does: 'Lets the live keys of a new configuration take effect.',
    },
  },
  queues: {
    work: {
      capacity: 512,
      overflow: 'reject',
      from: ['listener', 'prefetcher'],
      to: ['resolver-worker'],
      whenFull: '429 Busy with Retry-After; `busy_rejections_total` counts it',
      does: 'Lookups. Requests for one key share one lookup.',
    },
    cache_writes: {
      capacity: 1024,
      overflow: 'reject',
      from: ['resolver-worker', 'listener', 'announcer'],
      to: ['cache-janitor'],
      whenFull: 'the answer is given and not kept; `index_cache_writes_lost_total` counts it',
      does: 'Answers to keep, and those that are not so any more.',
    },
    reindex: {
      capacity: 1024,
      overflow: 'reject',
      from: ['listener'],
      to: ['prefetcher'],
      whenFull: '429 Busy with Retry-After; `busy_rejections_total` counts it',
      does: 'Keys an operator wants looked up again.',
    },
    facets: {
      capacity: 64,
      overflow: 'reject',
      from: ['listener'],
      to: ['facet-worker'],
      whenFull: '429 Busy with Retry-After; `busy_rejections_total` counts it',
      does: 'Searches and graph walks; lookups never wait behind them.',
    },
  },
  broadcasts: {
    events: {
      capacity: 1024,
      from: ['supervisor', 'listener', 'resolver-worker', 'config-reloader'],
      to: ['listener'],
      does: 'What happened, as hints: `index.resolve.observed`, `index.pin.changed`, `index.admin.accepted`, `audit.event`, and the `kernel.` ones of every service. `/events` hands them on.',
    },
  },
  watches: {
    shutdown: {
      from: ['supervisor'],
      to: [
        'listener',
        'resolver-worker',
        'registry-follower',
        'cache-janitor',
        'breaker-janitor',
        'prefetcher',
        'dht-joiner',
        'announcer',
        'facet-worker',
        'config-reloader',
      ],
      does: 'The phase of the shutdown, level-triggered.',
    },
    config: { from: ['supervisor'], to: ['listener', 'config-reloader'], does: 'The configuration in force.' },
    names: {
      from: ['registry-follower'],
      to: ['listener', 'resolver-worker'],
      does: 'How often the meaning of names has changed: what was cached before is not used any more.',
    },
    announce_asked: {
      from: ['listener'],
      to: ['announcer'],
      does: 'That there is a reason to compare before the next round.',
    },
  },
  owners: {
    config_snapshot: { order: 1, writer: 'config-reloader', does: 'Read once for each piece of work.' },
    cache: { order: 2, writer: 'cache-janitor', does: 'Answers and when each expires.' },
    breaker_table: { order: 3, writer: 'breaker-janitor', does: 'The state of every target.' },
    book: { order: 4, writer: 'listener', does: 'Pins and local names, on the drive before they count.' },
    registry_view: { order: 5, writer: 'registry-follower', does: 'The verified state of the registry.' },
    announced: { order: 6, writer: 'announcer', does: 'Which objects this node announces, and since when.' },
  },
  timeouts: {
    drain_deadline: { ms: 3000, key: 'index.drain_deadline', does: 'How long accepted work may take to finish.' },
    lookup: { ms: 1200, key: 'index.dht.deadline', does: 'A lookup, queue time included.' },
    hedge: { ms: 150, key: 'index.dht.hedge', does: 'Before more ways are asked.' },
    gather: { ms: 100, key: 'index.dht.gather', does: 'How long a satisfied lookup goes on collecting.' },
    request: {
      ms: 5000,
      key: 'index.ingress.request_timeout',
      does: 'A request that is no lookup and does not stream.',
    },
    dial_back: { ms: 2000, does: 'Until somebody who announces has shown that they can be reached.' },
    cache_ttl: { ms: 10000, key: 'index.cache.ttl', does: 'How long an answer is kept.' },
    cache_negative_ttl: { ms: 2000, key: 'index.cache.neg_ttl', does: 'How long it is kept that there is nothing.' },
  },
})
