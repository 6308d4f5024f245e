import { BREAKER_QUEUE, defineTopology } from '@cairn/kernel'

/** Every task and channel of the storage service. */
export const STORAGE_TOPOLOGY = defineTopology({
  service: 'storage',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Starts and restarts the others, and ends them in order.' },
    listener: {
      count: 1,
      criticality: 'critical',
      does: 'Takes requests on TCP and the Unix socket, answers what is in memory, and puts the rest into `work`.',
    },
    'get-worker': {
      count: 'storage.pools.get',
      criticality: 'critical',
      does: 'Reads chunks, proves them, and hands them out.',
    },
    'put-worker': {
      count: 'storage.pools.put',
      criticality: 'critical',
      does: 'Checks, chunks and stores what comes in.',
    },
    'repair-planner': {
      count: 1,
      criticality: 'important',
      does: 'Compares what is here with where it should be, and plans repairs; with one target only what is asked for.',
    },
    'repair-worker': {
      count: 'storage.pools.repair',
      criticality: 'important',
      does: 'Makes the copies the plan asks for, within one shared budget of bytes a second.',
    },
    'placement-client': {
      count: 1,
      criticality: 'optional',
      only: 'with peers; without them it ends as soon as it has said where copies are',
      does: 'Says where copies should be, and asks every second which peers are there; ends at once without peers.',
    },
    sweeper: {
      count: 1,
      criticality: 'important',
      does: 'Removes chunks that no object refers to and no upload keeps.',
    },
    compactor: {
      count: 1,
      criticality: 'important',
      does: 'Copies what lives out of segments that are mostly dead, and removes them.',
    },
    scrubber: {
      count: 1,
      criticality: 'important',
      does: 'Reads and proves everything at its own pace; keeps its place over restarts.',
    },
    'drive-watcher': {
      count: 1,
      criticality: 'important',
      does: 'Says in `/readyz` whether a drive takes writes; sees drives go and come back.',
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
      reserved: 128,
      overflow: 'reject',
      from: ['listener'],
      to: ['get-worker', 'put-worker'],
      whenFull: '429 Busy with Retry-After; `busy_rejections_total` counts it',
      does: 'Requests that need the disk. The reserved share is for reads, so writes cannot crowd them out.',
    },
    repair: {
      capacity: 256,
      reserved: 64,
      overflow: 'reject',
      from: ['repair-planner', 'get-worker', 'scrubber'],
      to: ['repair-worker'],
      whenFull: 'a repair that can wait is skipped and counted (`repair_skipped_total`); the next round plans it again',
      does: 'Repairs to make. The reserved share is for chunks that a read or the scrub found damaged, last copies and deletes.',
    },
    'breaker-outcomes': {
      ...BREAKER_QUEUE,
      from: ['listener', 'get-worker', 'put-worker', 'repair-worker', 'placement-client'],
      to: ['placement-client'],
      whenFull: 'the outcome is lost, and counts as a failure at the next round',
      only: 'with peers',
      does: 'How calls to peers ended, for their breakers; who looks after the peers keeps these too.',
    },
  },
  broadcasts: {
    events: {
      capacity: 1024,
      from: ['supervisor', 'listener', 'repair-planner', 'repair-worker', 'drive-watcher', 'config-reloader'],
      to: ['listener'],
      does: 'What happened, as hints: `storage.ingest`, `storage.repair.planned`, `storage.repair.executed`, and the `kernel.` ones of every service. `/events` hands them on.',
    },
  },
  watches: {
    shutdown: {
      from: ['supervisor'],
      to: [
        'listener',
        'get-worker',
        'put-worker',
        'repair-planner',
        'repair-worker',
        'sweeper',
        'compactor',
        'scrubber',
        'drive-watcher',
        'config-reloader',
      ],
      does: 'The phase of the shutdown, level-triggered.',
    },
    config: { from: ['supervisor'], to: ['listener', 'config-reloader'], does: 'The configuration in force.' },
    placement: { from: ['placement-client'], to: ['repair-planner', 'listener'], does: 'Where copies should be.' },
    repairs_asked: {
      from: ['listener', 'repair-planner', 'drive-watcher', 'placement-client'],
      to: ['repair-planner'],
      does: 'That the planner has a reason to look before its next round.',
    },
    scrub_asked: { from: ['listener', 'scrubber'], to: ['scrubber'], does: 'That a round of the scrub is wanted now.' },
  },
  owners: {
    config_snapshot: { order: 1, writer: 'config-reloader', does: 'Read once for each piece of work.' },
    record_index: {
      order: 2,
      writer: 'put-worker',
      does: 'Where each record lies; written by the one appender of the journal.',
    },
    leases: { order: 3, writer: 'put-worker', does: 'Which uploads keep which chunks.' },
    repair_requests: { order: 4, writer: 'repair-planner', does: 'Objects to repair, and how far each is planned.' },
    scrub_cursor: { order: 5, writer: 'scrubber', does: 'How far the scrub of each drive has come.' },
    drive_list: { order: 6, writer: 'drive-watcher', does: 'Which drives this node has, and when each was last seen.' },
    peer_list: {
      order: 7,
      writer: 'placement-client',
      does: 'How long each peer was away, and whether it can still be believed.',
    },
  },
  timeouts: {
    drain_deadline: { ms: 3000, key: 'storage.drain_deadline', does: 'How long accepted work may take to finish.' },
    request: {
      ms: 5000,
      key: 'storage.ingress.request_timeout',
      does: 'A request that does not stream, queue time included.',
    },
    read: { ms: 5000, key: 'storage.ingress.read_timeout', does: 'A pause in a request body.' },
    write: { ms: 5000, key: 'storage.ingress.write_timeout', does: 'A client that takes no byte of a response.' },
    drive: {
      ms: 5000,
      key: 'storage.drive_timeout',
      does: 'One operation of a drive; past it the drive counts as stalled.',
    },
    peer: { ms: 5000, key: 'storage.placement.peer_timeout', does: 'One request to a peer.' },
    hedge: {
      ms: 30,
      key: 'storage.placement.hedge_delay',
      does: 'Until a read is asked of a second copy; then from the 95th percentile.',
    },
    tombstone: {
      ms: 2592000000,
      key: 'storage.durability.tombstone_keep',
      does: 'How long a delete is remembered at least.',
    },
    hashing: { ms: 5000, does: 'One run of chunks of a commit on a worker thread.' },
    lease: {
      ms: 3600000,
      key: 'storage.upload_lease',
      does: 'How long an upload keeps chunks that no object refers to yet.',
    },
  },
})
