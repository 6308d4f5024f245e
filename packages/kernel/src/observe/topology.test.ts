import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, virtualRuntime } from '../runtime.ts'
import { renderErrors, renderMetrics, renderTopology } from './render.ts'
import { compareLive, defineTopology, openBroadcast, openQueue, type Topology } from './topology.ts'

const SAMPLE = defineTopology({
  service: 'sample',
  tasks: {
    listener: { count: 1, criticality: 'critical', does: 'Takes requests.' },
    'get-worker': { count: 'pool.get', criticality: 'critical', does: 'Reads.' },
  },
  queues: {
    work: {
      capacity: 512,
      overflow: 'reject',
      reserved: 64,
      from: ['listener'],
      to: ['get-worker'],
      whenFull: '429 Busy',
      does: 'Requests that need the disk.',
    },
  },
  broadcasts: { events: { capacity: 1024, from: ['get-worker'], to: ['listener'], does: 'Hints.' } },
  watches: { config: { from: ['listener'], to: ['get-worker'], does: 'The configuration in force.' } },
  owners: {
    counters: { order: 2, writer: 'get-worker', does: 'Reads so far.' },
    index: { order: 1, writer: 'listener', does: 'What is where.' },
  },
  timeouts: { drain_deadline: { ms: 3000, key: 'drain_deadline', does: 'Draining.' } },
})

test('channels open with their declared shape, and only declared ones open', () => {
  const runtime = virtualRuntime()
  const work = openQueue<number, typeof SAMPLE>(runtime, SAMPLE, 'work')
  const events = openBroadcast<string, typeof SAMPLE>(runtime, SAMPLE, 'events')
  assert.equal(work.capacity, 512)
  assert.deepEqual(
    runtime.topology.snapshot().map(({ kind, name, facts }) => [kind, name, facts['capacity']]),
    [
      ['broadcast', 'events', 1024],
      ['queue', 'work', 512],
    ],
  )
  // @ts-expect-error An undeclared queue.
  assert.throws(() => openQueue(runtime, SAMPLE, 'secret'), /declares no queue secret/)
  // @ts-expect-error An undeclared broadcast.
  assert.throws(() => openBroadcast(runtime, SAMPLE, 'secret'), /declares no broadcast secret/)
  work.close()
  events.close()
  assert.deepEqual(leaks(runtime), [])
})

test('a declaration that names an unknown task, or two owners of one order, is refused', () => {
  const typo: Topology = { ...SAMPLE, watches: { config: { from: ['listner'], to: [], does: '' } } }
  assert.throws(() => defineTopology(typo), /config names listner, which is not a declared task/)
  const writer: Topology = { ...SAMPLE, owners: { index: { order: 1, writer: 'nobody', does: '' } } }
  assert.throws(() => defineTopology(writer), /index is written by nobody/)
  const order = { order: 1, writer: 'listener', does: '' }
  assert.throws(() => defineTopology({ ...SAMPLE, owners: { a: order, b: order } }), /b and a have the same order/)
})

test('one changed capacity changes the lines that state it, and no other', () => {
  const changed = { ...SAMPLE, queues: { work: { ...SAMPLE.queues.work, capacity: 256 } } }
  const before = renderTopology(SAMPLE).split('\n')
  const after = renderTopology(changed).split('\n')
  const different = before.filter((line, index) => line !== after[index])
  assert.deepEqual(
    different.map((line) => /512/.test(line)),
    [true, true],
    different.join('\n'),
  )
})

test('the rendering names every task, channel, owner and timeout, in tables and diagrams', () => {
  const text = renderTopology(SAMPLE)
  const lines = [
    '| `get-worker` | pool.get | critical | Reads. |',
    '| `work` | queue | 512 (64 reserved) | `listener` | `get-worker` | reject: 429 Busy | Requests that need the disk. |',
    '  listener -->|queue work 512| get-worker',
    '  get-worker -->|broadcast events 1024| listener',
    '| 1 | `index` | `listener` | What is where. |',
    '| `drain_deadline` | 3000 ms | `drain_deadline` | Draining. |',
    '  supervisor->>tasks: draining',
  ]
  for (const line of lines) assert.ok(text.split('\n').includes(line), line)
  assert.ok(text.indexOf('`index`') < text.indexOf('`counters`'), 'owners in order')
})

test('errors and metrics render one row each', () => {
  assert.ok(renderErrors().includes('| `Busy` | `busy` | 429 | later | `busy_rejections_total` |'))
  const metrics = renderMetrics({ a_total: { type: 'counter', labels: ['x', 'y'], help: 'Either | or.' } })
  assert.ok(metrics.includes('| `a_total` | counter | `x`, `y` | Either \\| or. |'))
})

test('who sent what a queue will never give is answered', () => {
  const lost: number[] = []
  const queue = openQueue<number, typeof SAMPLE>(virtualRuntime(), SAMPLE, 'work', (item) => void lost.push(item))
  queue.trySend(7)
  queue.abort()
  assert.deepEqual(lost, [7])
  const alone = openQueue<number, typeof SAMPLE>(virtualRuntime(), SAMPLE, 'work')
  alone.trySend(7)
  assert.equal(alone.abort(), 1)
})

test('what is alive and what is declared are compared both ways; copies of a pool are one task', () => {
  const live = [
    { kind: 'task', name: 'listener' },
    { kind: 'task', name: 'get-worker-1' },
    { kind: 'task', name: 'get-worker-2' },
    { kind: 'queue', name: 'work' },
    { kind: 'broadcast', name: 'events' },
    { kind: 'resource', name: 'listener 127.0.0.1:0' },
  ] as const
  assert.deepEqual(compareLive(SAMPLE, live), { undeclared: [], missing: [] })
  assert.deepEqual(compareLive(SAMPLE, [...live.slice(1), { kind: 'queue', name: 'stray' }]), {
    undeclared: ['queue stray'],
    missing: ['task listener'],
  })
  const { work } = SAMPLE.queues
  const atTimes = { ...SAMPLE, queues: { work: { ...work, only: 'at times' } } }
  assert.deepEqual(
    compareLive(
      atTimes,
      live.filter(({ kind }) => kind !== 'queue'),
    ),
    { undeclared: [], missing: [] },
  )
})
