import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderErrors, renderMetrics, renderTopology } from './render.ts'
import { defineTopology } from './topology.ts'

const SAMPLE = defineTopology({
  service: 'sample',
  tasks: {
    supervisor: { count: 1, criticality: 'critical', does: 'Watches.' },
    listener: { count: 1, criticality: 'critical', does: 'Takes requests.' },
    'get-worker': { count: 'pool.get', criticality: 'optional', does: 'Reads.' },
  },
  queues: {
    work: {
      capacity: 512,
      overflow: 'reject',
      reserved: 64,
      from: ['listener', 'supervisor'],
      to: ['get-worker'],
      whenFull: '429 Busy',
      does: 'Requests.',
    },
    audit: {
      capacity: 8,
      overflow: 'drop-oldest',
      from: ['get-worker'],
      to: ['listener'],
      whenFull: 'a warning',
      does: 'Lines.',
    },
  },
  broadcasts: {
    events: { capacity: 1024, from: ['get-worker', 'listener'], to: ['listener', 'get-worker'], does: 'Hints.' },
  },
  watches: {
    config: { from: ['listener', 'supervisor'], to: ['get-worker', 'listener'], does: 'The configuration.' },
  },
  owners: {
    counters: { order: 2, writer: 'get-worker', does: 'Reads so far.' },
    index: { order: 1, writer: 'listener', does: 'What is where.' },
  },
  timeouts: {
    drain_deadline: { ms: 2500, key: 'drain_deadline', does: 'Draining.' },
    fixed: { ms: 10, does: 'A tick.' },
  },
})

/** The document as people read it. */
const RENDERED = [
  '## Tasks',
  '',
  '| task | count | criticality | what it does |',
  '|---|---|---|---|',
  '| `supervisor` | 1 | critical | Watches. |',
  '| `listener` | 1 | critical | Takes requests. |',
  '| `get-worker` | pool.get | optional | Reads. |',
  '',
  '## Channels',
  '',
  '| channel | kind | capacity | from | to | when full | what it carries |',
  '|---|---|---|---|---|---|---|',
  '| `work` | queue | 512 (64 reserved) | `listener`, `supervisor` | `get-worker` | reject: 429 Busy | Requests. |',
  '| `audit` | queue | 8 | `get-worker` | `listener` | drop-oldest: a warning | Lines. |',
  '| `events` | broadcast | 1024 | `get-worker`, `listener` | `listener`, `get-worker` | drop-oldest: the subscriber learns how many | Hints. |',
  '| `config` | watch | 1 | `listener`, `supervisor` | `get-worker`, `listener` | last write wins | The configuration. |',
  '',
  '## Flow',
  '',
  '```mermaid',
  'flowchart LR',
  '  listener & supervisor -->|queue work 512| get-worker',
  '  get-worker -->|queue audit 8| listener',
  '  get-worker & listener -->|broadcast events 1024| listener & get-worker',
  '  listener & supervisor -->|watch config| get-worker & listener',
  '```',
  '',
  '## Owners',
  '',
  '| order | state | only writer | what it is |',
  '|---|---|---|---|',
  '| 1 | `index` | `listener` | What is where. |',
  '| 2 | `counters` | `get-worker` | Reads so far. |',
  '',
  '## Timeouts',
  '',
  '| timeout | default | key | what it bounds |',
  '|---|---|---|---|',
  '| `drain_deadline` | 2500 ms | `drain_deadline` | Draining. |',
  '| `fixed` | 10 ms | | A tick. |',
  '',
  '## Shutdown',
  '',
  '```mermaid',
  'sequenceDiagram',
  '  participant supervisor',
  '  participant tasks as every other task',
  '  supervisor->>tasks: draining',
  '  tasks-->>supervisor: ended (≤ 2500 ms)',
  '  Note over supervisor: after the deadline: abort, count, and after 1000 ms more: name and leave behind',
  '```',
  '',
  'In words: the supervisor tells every other task to drain; each finishes what it has accepted and ends within 2500 ms; those that do not are aborted and counted.',
  '',
]

test('a topology reads as this document', () => {
  assert.deepEqual(renderTopology(SAMPLE).split('\n'), RENDERED)
  const alone = { ...SAMPLE.tasks, janitor: { count: 1, criticality: 'optional', does: 'Tidies.' } } as const
  assert.match(renderTopology({ ...SAMPLE, tasks: alone }), /flowchart LR\n {2}janitor\n {2}listener & /)
  const without = renderTopology({ ...SAMPLE, timeouts: {} })
  assert.ok(without.includes('ended (≤ 3000 ms)'), 'the default of the drain deadline')
})

test('errors and metrics read as tables with a title for each column', () => {
  const [head, rule, busy] = renderErrors().split('\n')
  assert.equal(head, '| kind | code | status | retry | metric | when |')
  assert.equal(rule, '|---|---|---|---|---|---|')
  const when = 'A work queue, an in-flight limit or a rate is at its bound.'
  assert.equal(busy, `| \`Busy\` | \`busy\` | 429 | later | \`busy_rejections_total\` | ${when} |`)
  assert.match(renderErrors(), /^\| `NotFound` \| `not_found` \| 404 \| never \| \|/m)
  const metrics = renderMetrics({ a_total: { type: 'counter', labels: ['x', 'y'], help: 'Either.' } })
  const rows = ['| metric | type | labels | what it says |', '|---|---|---|---|']
  assert.equal(metrics, [...rows, '| `a_total` | counter | `x`, `y` | Either. |', ''].join('\n'))
})
