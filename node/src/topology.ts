import { defineTopology } from '@cairn/kernel'

export const NODE_ABOUT = 'The process itself: its state, its configuration, its keys.'

/** The node itself: what runs beside the services, in the one process they share. */
export const NODE_TOPOLOGY = defineTopology({
  service: 'node',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Starts and restarts the others, and ends them in order.' },
    signals: {
      count: 1,
      criticality: 'critical',
      only: 'as handlers of the process: `/debug/topology` lists no task of this name',
      does: 'Hears the system: stop, stop now, read the configuration again.',
    },
    listener: { count: 1, criticality: 'critical', does: 'Answers the admin socket and the port of the node.' },
    reloader: {
      count: 1,
      criticality: 'important',
      does: 'Reads the configuration again and swaps it whole, or keeps the old one.',
    },
    'neighbour-watcher': {
      count: 1,
      criticality: 'important',
      does: 'Asks services of other processes whether they are ready, and takes over keys that another process changed.',
    },
    'traffic-watcher': {
      count: 1,
      criticality: 'important',
      does: 'Notes every ten seconds how much each service had to do, for the last 15 minutes of the console.',
    },
    threads: {
      count: 'cores − 1, and one process',
      criticality: 'critical',
      only: "as a pool: its queues are in the list, its threads are the machine's",
      does: 'Work that would hold up the event loop.',
    },
    'config-reloader': {
      count: 1,
      criticality: 'important',
      does: 'Lets the live keys of a new configuration take effect.',
    },
  },
  queues: {
    reloads: {
      capacity: 16,
      overflow: 'drop-oldest',
      from: ['signals'],
      to: ['reloader'],
      whenFull: 'the oldest goes: one reload after the last request is all that anybody wants',
      does: 'Requests to read the configuration again.',
    },
    workers: {
      capacity: 128,
      overflow: 'reject',
      from: ['listener'],
      to: ['threads'],
      whenFull: 'Busy, as if the queue of the request were full',
      does: 'Hashing, coding and deep checks of every service in this process.',
    },
    isolated: {
      capacity: 128,
      overflow: 'reject',
      from: ['listener'],
      to: ['threads'],
      whenFull: 'Busy, as if the queue of the request were full',
      does: 'Reads of MBTiles packs, which may take a thread with them.',
    },
  },
  broadcasts: {
    events: {
      capacity: 256,
      from: ['signals', 'listener', 'config-reloader'],
      to: ['listener'],
      does: 'What becomes of the node, as hints: `kernel.health`, `kernel.config.updated`, `kernel.crash`, `kernel.shutdown`.',
    },
  },
  watches: {
    stop: {
      from: ['signals', 'listener'],
      to: ['signals'],
      does: 'Whether the node was told to stop, and how firmly.',
    },
    config: { from: ['reloader'], to: ['config-reloader', 'listener'], does: 'The configuration in force.' },
    shutdown: {
      from: ['signals'],
      to: ['listener', 'reloader', 'neighbour-watcher', 'traffic-watcher', 'config-reloader'],
      does: 'The phase of the shutdown, level-triggered.',
    },
  },
  owners: {
    keyring: { order: 1, writer: 'listener', does: 'The roots of capability tokens, and the tokens taken back.' },
  },
  timeouts: {
    drain_deadline: { ms: 3000, key: 'node.drain_deadline', does: 'How long accepted work may take to finish.' },
    watch: { ms: 1000, does: 'Time between two looks at services and keys that other processes have.' },
    traffic: { ms: 10_000, does: 'Time between two looks at what the services had to do; 90 of them are kept.' },
    live: { ms: 1000, does: 'Time between two looks of an open console at the events, and half of that at the node.' },
    probe: { ms: 2000, does: 'How long a service may take to be ready before it counts as started without.' },
  },
})
