/** A topology and the tables of a service, as the Markdown its documentation includes. */
import { ERRORS } from '../errors.ts'
import type { MetricTable } from './metrics.ts'
import type { Topology } from './topology.ts'

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string =>
    `|${cells.map((cell) => (cell === '' ? ' ' : ` ${String(cell).replaceAll('|', '\\|')} `)).join('|')}|`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

const code = (text: string): string => `\`${text}\``
/** What it does, and when it is there. */
const sentence = ({ does, only }: { readonly does: string; readonly only?: string }): string =>
  only === undefined ? does : `${does} Only ${only}.`
const names = (list: readonly string[]): string => list.map(code).join(', ')

function taskTable({ tasks }: Topology): string {
  const rows = Object.entries(tasks).map(([name, task]) => [code(name), task.count, task.criticality, sentence(task)])
  return table(['task', 'count', 'criticality', 'what it does'], rows)
}

function channelTable({ queues, broadcasts, watches }: Topology): string {
  const rows = [
    ...Object.entries(queues).map(([name, queue]) => {
      const capacity = queue.reserved === undefined ? queue.capacity : `${queue.capacity} (${queue.reserved} reserved)`
      const full = `${queue.overflow}: ${queue.whenFull}`
      return [code(name), 'queue', capacity, names(queue.from), names(queue.to), full, sentence(queue)]
    }),
    ...Object.entries(broadcasts).map(([name, row]) => {
      const { capacity, from, to } = row
      return [
        code(name),
        'broadcast',
        capacity,
        names(from),
        names(to),
        'drop-oldest: the subscriber learns how many',
        sentence(row),
      ]
    }),
    ...Object.entries(watches).map(([name, { from, to, does }]) => {
      return [code(name), 'watch', 1, names(from), names(to), 'last write wins', does]
    }),
  ]
  return table(['channel', 'kind', 'capacity', 'from', 'to', 'when full', 'what it carries'], rows)
}

function ownerTable({ owners }: Topology): string {
  const rows = Object.entries(owners)
    .sort(([, a], [, b]) => a.order - b.order)
    .map(([name, owner]) => [owner.order, code(name), code(owner.writer), owner.does])
  return table(['order', 'state', 'only writer', 'what it is'], rows)
}

function timeoutTable({ timeouts }: Topology): string {
  const rows = Object.entries(timeouts).map(([name, { ms, key, does }]) => [
    code(name),
    `${ms} ms`,
    key === undefined ? '' : code(key),
    does,
  ])
  return table(['timeout', 'default', 'key', 'what it bounds'], rows)
}

/** An arrow from each sender to each receiver, one line for a channel. The tables say the same in words, and how many. */
function flowchart({ tasks, queues, broadcasts, watches }: Topology): string {
  const arrows = (label: string, from: readonly string[], to: readonly string[]): string =>
    `  ${from.join(' & ')} -->|${label}| ${to.join(' & ')}`
  const channels = [...Object.values(queues), ...Object.values(broadcasts), ...Object.values(watches)]
  const connected = new Set(channels.flatMap(({ from, to }) => [...from, ...to]))
  return [
    '```mermaid',
    'flowchart LR',
    ...Object.keys(tasks).flatMap((name) => (connected.has(name) ? [] : [`  ${name}`])),
    ...Object.entries(queues).map(([name, row]) => arrows(`queue ${name} ${row.capacity}`, row.from, row.to)),
    ...Object.entries(broadcasts).map(([name, row]) => arrows(`broadcast ${name} ${row.capacity}`, row.from, row.to)),
    ...Object.entries(watches).map(([name, row]) => arrows(`watch ${name}`, row.from, row.to)),
    '```',
  ].join('\n')
}

function shutdownDiagram({ timeouts }: Topology): string {
  const deadline = timeouts['drain_deadline']?.ms ?? 3000
  return [
    '```mermaid',
    'sequenceDiagram',
    '  participant supervisor',
    '  participant tasks as every other task',
    '  supervisor->>tasks: draining',
    `  tasks-->>supervisor: ended (≤ ${deadline} ms)`,
    '  Note over supervisor: after the deadline: abort, count, and after 1000 ms more: name and leave behind',
    '```',
    '',
    `In words: the supervisor tells every other task to drain; each finishes what it has accepted and ends within ${deadline} ms; those that do not are aborted and counted.`,
  ].join('\n')
}

/** The generated part of a service's concurrency document. */
export function renderTopology(topology: Topology): string {
  const sections: [string, string][] = [
    ['Tasks', taskTable(topology)],
    ['Channels', channelTable(topology)],
    ['Flow', flowchart(topology)],
    ['Owners', ownerTable(topology)],
    ['Timeouts', timeoutTable(topology)],
    ['Shutdown', shutdownDiagram(topology)],
  ]
  return `${sections.map(([title, body]) => `## ${title}\n\n${body}`).join('\n\n')}\n`
}

export function renderMetrics(metrics: MetricTable): string {
  const rows = Object.entries(metrics).map(([name, row]) => [code(name), row.type, names(row.labels), row.help])
  return `${table(['metric', 'type', 'labels', 'what it says'], rows)}\n`
}

export function renderErrors(): string {
  const rows = Object.entries(ERRORS).map(([kind, row]) => [
    code(kind),
    code(row.code),
    row.status,
    row.retry,
    row.metric === '' ? '' : code(row.metric),
    row.when,
  ])
  return `${table(['kind', 'code', 'status', 'retry', 'metric', 'when'], rows)}\n`
}
