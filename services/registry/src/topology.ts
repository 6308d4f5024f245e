import { BREAKER_QUEUE, defineTopology } from '@cairn/kernel'

/** Every task and channel of the registry. */
export const REGISTRY_TOPOLOGY = defineTopology({
  service: 'registry',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Starts and restarts the others, and ends them in order.' },
    listener: {
      count: 1,
      criticality: 'critical',
      does: 'Takes requests, answers reads from the published snapshot, and puts writes into their queues.',
    },
    committer: {
      count: 1,
      criticality: 'critical',
      does: 'The one writer of the log and of HEAD: takes commands in batches, decides, appends, syncs, signs, publishes.',
    },
    publisher: {
      count: 1,
      criticality: 'important',
      does: 'Tells the streams and the bus what was committed; no commit waits for it.',
    },
    checkpointor: {
      count: 1,
      criticality: 'important',
      does: 'Asks for a checkpoint with a fresh time every minute, and offers one to the pruner as an anchor now and then.',
    },
    'signed-keeper': {
      count: 1,
      criticality: 'important',
      does: 'Keeps the newest signed checkpoint outside of the data directory as well, so that a copy that is put back is recognised.',
    },
    pruner: {
      count: 1,
      criticality: 'important',
      does: 'Removes entries that a durable checkpoint covers and retention allows; keeps what is alive and every hash.',
    },
    'deep-verifier': {
      count: 1,
      criticality: 'important',
      does: 'Reads the log again from the drive, in slices of at most 10 ms, and names the first entry that is wrong.',
    },
    'name-holder': {
      count: 1,
      criticality: 'important',
      only: 'with a storage',
      does: 'Holds in storage what names and open proposals mean, and releases what they mean no more.',
    },
    'health-gate': {
      count: 1,
      criticality: 'important',
      does: 'Says in `/readyz` whether reads and writes are served, and brings the gauges up to date.',
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
    proposals: {
      capacity: 512,
      overflow: 'reject',
      from: ['listener', 'checkpointor', 'pruner'],
      to: ['committer'],
      whenFull: '429 Busy with Retry-After; `busy_rejections_total` counts it',
      does: 'Proposals, commits and audit heads, and the checkpoints and snapshots the log is asked for.',
    },
    approvals: {
      capacity: 512,
      overflow: 'reject',
      from: ['listener'],
      to: ['committer'],
      whenFull: '429 Busy with Retry-After; `busy_rejections_total` counts it',
      does: 'Approvals; proposals cannot crowd them out.',
    },
    retention_cmd: {
      capacity: 8,
      overflow: 'reject',
      from: ['checkpointor'],
      to: ['pruner'],
      whenFull: 'this cycle is skipped and logged; the next checkpoint is offered again',
      does: 'Anchors below which the pruner may remove entries.',
    },
    'breaker-outcomes': {
      ...BREAKER_QUEUE,
      from: ['committer', 'pruner', 'listener'],
      to: ['breaker-janitor'],
      whenFull: 'the outcome is lost, and counts as a failure at the next round',
      only: 'with a service that is called',
      does: 'How calls to the services this one needs ended, for their breakers.',
    },
  },
  broadcasts: {
    committed: {
      capacity: 1024,
      from: ['committer'],
      to: ['publisher', 'deep-verifier'],
      does: 'Every version, in order. A slow consumer skips forward, is counted, and reads the head again.',
    },
    updates: {
      capacity: 1024,
      from: ['publisher'],
      to: ['listener'],
      does: 'The same as frames of the event stream, encoded once for all subscribers.',
    },
    events: {
      capacity: 1024,
      from: ['publisher', 'committer'],
      to: ['listener'],
      does: 'What happened, as hints: `registry.updated`, `audit.event`.',
    },
  },
  watches: {
    shutdown: {
      from: ['supervisor'],
      to: [
        'listener',
        'committer',
        'publisher',
        'checkpointor',
        'signed-keeper',
        'pruner',
        'deep-verifier',
        'health-gate',
        'breaker-janitor',
        'config-reloader',
      ],
      does: 'The phase of the shutdown, level-triggered.',
    },
    config: { from: ['supervisor'], to: ['listener', 'config-reloader'], does: 'The configuration in force.' },
    commands: { from: ['listener'], to: ['committer'], does: 'That one of the two queues has something in it.' },
    published: {
      from: ['committer'],
      to: ['listener', 'publisher', 'checkpointor', 'signed-keeper', 'pruner', 'deep-verifier', 'health-gate'],
      does: 'The snapshot every read is answered from: head, checkpoint, state.',
    },
    verify_asked: {
      from: ['listener', 'deep-verifier'],
      to: ['deep-verifier'],
      does: 'That a round of the deep verifier is wanted now.',
    },
  },
  owners: {
    config_snapshot: { order: 1, writer: 'config-reloader', does: 'Read once for each piece of work.' },
    ledger: {
      order: 2,
      writer: 'committer',
      does: 'Proposals, approvals, versions and HEAD: the fold of the log, changed once a batch is durable.',
    },
    tree: { order: 3, writer: 'committer', does: 'The hashes of the log and where each entry lies.' },
    kept: {
      order: 4,
      writer: 'pruner',
      does: 'What outlives its segment: hashes, live entries, the state below them.',
    },
    verify_place: { order: 5, writer: 'deep-verifier', does: 'How far the deep verifier has come.' },
  },
  timeouts: {
    drain_deadline: { ms: 3000, key: 'registry.drain_deadline', does: 'How long accepted work may take to finish.' },
    request: {
      ms: 5000,
      key: 'registry.ingress.request_timeout',
      does: 'A request that does not stream, queue time and commit included.',
    },
    read: { ms: 5000, key: 'registry.ingress.read_timeout', does: 'A pause in a request body.' },
    write: { ms: 5000, key: 'registry.ingress.write_timeout', does: 'A client that takes no byte of a response.' },
    drive: {
      ms: 5000,
      key: 'registry.drive_timeout',
      does: 'One operation of the drive; past it the drive counts as stalled.',
    },
    checkpoint_interval: {
      ms: 600000,
      key: 'registry.checkpoint_interval',
      does: 'Between two checkpoints with a fresh time.',
    },
    proposal: { ms: 86400000, does: 'How long a proposal can be approved and committed.' },
  },
})
