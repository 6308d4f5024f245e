import { BREAKER_QUEUE, defineTopology } from '@cairn/kernel'

/** Every task and channel of the edge. */
export const EDGE_TOPOLOGY = defineTopology({
  service: 'edge',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Starts and restarts the others, and ends them in order.' },
    listener: {
      count: 1,
      criticality: 'critical',
      does: 'Takes requests, answers hits at once, and puts misses into `work`, one fill for each key.',
    },
    'fill-worker': {
      count: 'edge.workers',
      criticality: 'critical',
      does: 'Asks an upstream or a provider, proves what comes, hands it on as it comes, and keeps it in the cache.',
    },
    'pack-verifier': {
      count: 1,
      criticality: 'important',
      does: 'Opens and verifies packs at start and when they change, and swaps them.',
    },
    'metrics-exporter': {
      count: 1,
      criticality: 'optional',
      does: 'Brings the gauges of the cache and the packs up to date.',
    },
    'cas-janitor': {
      count: 1,
      criticality: 'important',
      does: 'Writes the index of the cache down, evicts, and gives space back.',
    },
    'shed-watcher': {
      count: 1,
      criticality: 'important',
      does: 'Says in `/readyz` that the service sheds load, until it no longer does.',
    },
    'breaker-janitor': {
      count: 1,
      criticality: 'optional',
      only: 'with a service that is called',
      does: 'The one writer of the breakers of neighbours and of providers: rolls their windows and lays out probes.',
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
      from: ['listener'],
      to: ['fill-worker'],
      whenFull: '429 with Retry-After computed from the queue; `busy_rejections_total` counts it',
      does: 'Fills: one for each key that is not being filled yet.',
    },
    'breaker-outcomes': {
      ...BREAKER_QUEUE,
      from: ['fill-worker', 'listener'],
      to: ['breaker-janitor'],
      whenFull: 'the outcome is lost, and counts as a failure at the next round',
      only: 'with a service that is called',
      does: 'How calls to the services this one needs ended, for their breakers.',
    },
    'provider-outcomes': {
      ...BREAKER_QUEUE,
      from: ['fill-worker'],
      to: ['breaker-janitor'],
      whenFull: 'the outcome is lost, and counts as a failure at the next round',
      only: 'with an index',
      does: 'How calls to those who hold an object ended, for their breakers.',
    },
  },
  broadcasts: {
    events: {
      capacity: 1024,
      from: ['supervisor', 'fill-worker', 'pack-verifier', 'config-reloader'],
      to: ['listener'],
      does: 'What happened, as hints: `edge.fill`, `edge.pack.mounted`, and the `kernel.` ones of every service.',
    },
  },
  watches: {
    shutdown: {
      from: ['supervisor'],
      to: [
        'listener',
        'fill-worker',
        'pack-verifier',
        'metrics-exporter',
        'cas-janitor',
        'shed-watcher',
        'breaker-janitor',
        'config-reloader',
      ],
      does: 'The phase of the shutdown, level-triggered.',
    },
    config: {
      from: ['supervisor'],
      to: ['listener', 'pack-verifier', 'config-reloader'],
      does: 'The configuration in force.',
    },
    fill_state: {
      from: ['fill-worker'],
      to: ['listener'],
      does: 'How far one fill is: asked, answered, growing, stored, failed. Everybody who waits for it reads along.',
    },
    sheds: {
      from: ['listener'],
      to: ['shed-watcher'],
      does: 'How many fills were refused so far because `work` was full.',
    },
  },
  owners: {
    config_snapshot: { order: 1, writer: 'config-reloader', does: 'Read once for each request.' },
    flights: { order: 2, writer: 'listener', does: 'Which key is being filled, and how many wait for it.' },
    stored_responses: {
      order: 3,
      writer: 'fill-worker',
      does: 'Key to stored responses, and which chunks they need; changed in one step each.',
    },
    mounted_packs: {
      order: 4,
      writer: 'pack-verifier',
      does: 'Name to open pack; a request keeps the one it began with.',
    },
  },
  timeouts: {
    drain_deadline: { ms: 3000, key: 'edge.drain_deadline', does: 'How long accepted work may take to finish.' },
    request: {
      ms: 5000,
      key: 'edge.ingress.request_timeout',
      does: 'A request until its answer begins, queue time included.',
    },
    read: { ms: 5000, key: 'edge.ingress.read_timeout', does: 'A pause in a request body.' },
    write: { ms: 5000, key: 'edge.ingress.write_timeout', does: 'A client that takes no byte of a response.' },
    fill: {
      ms: 5000,
      key: 'edge.fill_timeout',
      does: 'One try at an upstream until its header, and a pause in its body.',
    },
    fill_body: { ms: 60000, key: 'edge.fill_body_timeout', does: 'A fill from its first try to its last byte.' },
    pack_read: { ms: 1000, does: 'One read of a pack; a pack that takes longer answers an error.' },
  },
})
