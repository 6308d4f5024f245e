import { BREAKER_QUEUE, defineTopology } from '@cairn/kernel'

/** Every task and channel of interop. */
export const INTEROP_TOPOLOGY = defineTopology({
  service: 'interop',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Starts and restarts the others, and ends them in order.' },
    listener: {
      count: 1,
      criticality: 'critical',
      does: 'Takes requests, reads and verifies webhooks, and puts what is genuine into `work`. `/metrics` is its too.',
    },
    worker: {
      count: 'interop.workers',
      criticality: 'critical',
      does: 'Makes a body durable in storage, then the webhook, its messages and its audit line in one journal record.',
    },
    'audit-sink': {
      count: 1,
      criticality: 'important',
      does: 'Writes refusals into the audit chain, in batches and at a pace.',
    },
    'audit-anchor': {
      count: 1,
      criticality: 'important',
      does: 'Writes the head of the audit chain into the registry now and then.',
    },
    'brownout-sentinel': {
      count: 1,
      criticality: 'important',
      does: 'Watches failures, upstream latency and the depth of `work`; says when bridges are shed.',
    },
    'journal-keeper': {
      count: 1,
      criticality: 'important',
      does: 'Forgets replay keys whose time is over and drops old segments once what lives in them is written again.',
    },
    'audit-follower': {
      count: 1,
      criticality: 'important',
      only: 'with a sink beside the journal',
      does: 'Copies lines of the audit to the sink beside the journal; ends at once where there is none.',
    },
    proposer: {
      count: 1,
      criticality: 'important',
      does: 'Takes messages of the rules that propose, and opens the proposals.',
    },
    forwarder: {
      count: 4,
      criticality: 'important',
      does: 'Takes messages of the rules that forward, and sends the bodies on; waits while there is a brownout.',
    },
    reconciler: {
      count: 1,
      criticality: 'optional',
      only: 'with a token for it',
      does: 'Lists deliveries at the provider and asks for those that never came; idle without a token.',
    },
    'breaker-janitor': {
      count: 1,
      criticality: 'important',
      only: 'with a service that is called',
      does: 'The one writer of the breakers of neighbours: rolls their windows and lays out probes.',
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
      reserved: 256,
      overflow: 'reject',
      from: ['listener'],
      to: ['worker'],
      whenFull: '429 BACKPRESSURE with Retry-After; `busy_rejections_total` counts it',
      does: 'Verified webhooks and puts. The reserved share is for webhooks, so puts cannot crowd them out.',
    },
    audit: {
      capacity: 512,
      overflow: 'drop-oldest',
      from: ['listener', 'worker'],
      to: ['audit-sink'],
      whenFull: 'the oldest refusal is dropped; `audit_drop_total` counts it',
      does: 'Refusals on their way into the audit chain. What was allowed does not pass here: it is durable before its answer.',
    },
    'breaker-outcomes': {
      ...BREAKER_QUEUE,
      from: ['worker', 'listener', 'proposer', 'audit-anchor'],
      to: ['breaker-janitor'],
      whenFull: 'the outcome is lost, and counts as a failure at the next round',
      only: 'with a service that is called',
      does: 'How calls to the services this one needs ended, for their breakers.',
    },
    'forward-outcomes': {
      ...BREAKER_QUEUE,
      from: ['forwarder'],
      to: ['forwarder'],
      whenFull: 'the outcome is lost, and counts as a failure at the next round',
      only: 'with a rule that forwards',
      does: 'How forwards to each receiver ended, for its breaker; the forwarder keeps these itself.',
    },
  },
  broadcasts: {
    events: {
      capacity: 1024,
      from: ['supervisor', 'worker', 'audit-sink', 'brownout-sentinel', 'config-reloader'],
      to: ['listener'],
      does: 'What happened, as hints: `interop.webhook.accepted`, `interop.put.accepted`, `interop.brownout`, `audit.event`, and the `kernel.` ones of every service. A slow reader skips forward and is counted.',
    },
  },
  watches: {
    shutdown: {
      from: ['supervisor'],
      to: [
        'listener',
        'worker',
        'audit-sink',
        'audit-anchor',
        'brownout-sentinel',
        'journal-keeper',
        'audit-follower',
        'proposer',
        'forwarder',
        'reconciler',
        'breaker-janitor',
        'config-reloader',
      ],
      does: 'The phase of the shutdown, level-triggered.',
    },
    config: { from: ['supervisor'], to: ['listener', 'config-reloader'], does: 'The configuration in force.' },
    brownout: {
      from: ['brownout-sentinel'],
      to: ['listener', 'forwarder'],
      does: 'Whether bridges are shed, since when, and why.',
    },
    mailbox_bell: {
      from: ['worker', 'listener', 'proposer', 'forwarder'],
      to: ['listener', 'proposer', 'forwarder'],
      does: 'That a message may be ready.',
    },
  },
  owners: {
    config_snapshot: { order: 1, writer: 'config-reloader', does: 'Read once for each piece of work.' },
    replay_keys: {
      order: 2,
      writer: 'worker',
      does: 'Deliveries that were accepted; changed in the step in which their record is durable.',
    },
    mailbox: {
      order: 3,
      writer: 'worker',
      does: 'Messages, attempts and leases; changed in the step in which the record that says so is durable.',
    },
    audit_chain: {
      order: 4,
      writer: 'worker',
      does: 'The head of the audit chain; changed as its lines are submitted.',
    },
    brownout_state: { order: 5, writer: 'brownout-sentinel', does: 'The windows behind the brownout.' },
  },
  timeouts: {
    drain_deadline: { ms: 3000, key: 'interop.drain_deadline', does: 'How long accepted work may take to finish.' },
    request: {
      ms: 2000,
      key: 'interop.ingress.request_timeout',
      does: 'A webhook or a put that does not stream, queue time and every call included.',
    },
    read: { ms: 5000, key: 'interop.ingress.read_timeout', does: 'A pause in a request body.' },
    write: { ms: 5000, key: 'interop.ingress.write_timeout', does: 'A client that takes no byte of a response.' },
    drive: {
      ms: 5000,
      key: 'interop.drive_timeout',
      does: 'One operation of the drive; past it the drive counts as stalled.',
    },
    visibility: {
      ms: 30000,
      key: 'interop.mailbox.visibility',
      does: 'How long a consumer has a message, on the monotonic clock.',
    },
    long_poll: { ms: 20000, does: 'The longest a lease may wait for a message.' },
    capability: { ms: 60000, does: 'How long a token made for one event is good.' },
    anchor_interval: {
      ms: 60000,
      key: 'interop.audit.anchor_interval',
      does: 'Between two anchors of the audit chain.',
    },
  },
})
