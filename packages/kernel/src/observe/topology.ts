/**
 * Every task, channel, owner and timeout of a service, declared in one file with a sentence each.
 *
 * The declaration is the truth: channels are opened from it by name, tables and diagrams in the docs
 * are rendered from it, and a golden test fails when they differ. What is not declared cannot be opened.
 */
import { Broadcast } from '../channel/broadcast.ts'
import { Queue } from '../channel/queue.ts'
import type { Overflow } from '../channel/queue-core.ts'
import type { Runtime } from '../runtime.ts'
import type { LiveEntry } from './live.ts'

export interface TaskRow {
  /** How many run at once; a configuration key where it can be set. */
  readonly count: number | string
  readonly criticality: 'critical' | 'important' | 'optional'
  /** Where it is not always there: what it takes, after the word "only". */
  readonly only?: string
  readonly does: string
}

export interface QueueRow {
  readonly capacity: number
  readonly overflow: Overflow
  readonly reserved?: number
  readonly from: readonly string[]
  readonly to: readonly string[]
  /** What the sender does when it is full. */
  readonly whenFull: string
  /** As for a task. */
  readonly only?: string
  readonly does: string
}

export interface BroadcastRow {
  readonly capacity: number
  /** As for a task. */
  readonly only?: string
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly does: string
}

export interface WatchRow {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly does: string
}

export interface OwnerRow {
  /** Where two owners are changed in one step, the lower order goes first. */
  readonly order: number
  /** The one task that changes it. */
  readonly writer: string
  readonly does: string
}

export interface TimeoutRow {
  readonly ms: number
  /** The configuration key that sets it, where there is one. */
  readonly key?: string
  readonly does: string
}

export interface Topology {
  readonly service: string
  readonly tasks: Readonly<Record<string, TaskRow>>
  readonly queues: Readonly<Record<string, QueueRow>>
  readonly broadcasts: Readonly<Record<string, BroadcastRow>>
  readonly watches: Readonly<Record<string, WatchRow>>
  readonly owners: Readonly<Record<string, OwnerRow>>
  readonly timeouts: Readonly<Record<string, TimeoutRow>>
}

/** Checks that the declaration makes sense by itself; keeps its literal type, so names are checked by the compiler. */
export function defineTopology<const T extends Topology>(topology: T): T {
  const tasks = new Set(Object.keys(topology.tasks))
  const channels = { ...topology.queues, ...topology.broadcasts, ...topology.watches }
  for (const [channel, { from, to }] of Object.entries(channels)) {
    for (const task of [...from, ...to]) {
      if (!tasks.has(task))
        throw new TypeError(`${topology.service}: ${channel} names ${task}, which is not a declared task.`)
    }
  }
  const orders = new Map<number, string>()
  for (const [owner, { order, writer }] of Object.entries(topology.owners)) {
    if (!tasks.has(writer))
      throw new TypeError(`${topology.service}: ${owner} is written by ${writer}, which is not a declared task.`)
    const other = orders.get(order)
    if (other !== undefined) throw new TypeError(`${topology.service}: ${owner} and ${other} have the same order.`)
    orders.set(order, owner)
  }
  return topology
}

/** Opens a declared queue with its declared shape. */
export function openQueue<T, D extends Topology>(
  runtime: Runtime,
  topology: D,
  name: keyof D['queues'] & string,
  onLost?: (item: T) => void,
): Queue<T> {
  const row = topology.queues[name]
  if (row === undefined) throw new TypeError(`${topology.service} declares no queue ${name}.`)
  const { capacity, overflow, reserved = 0 } = row
  return new Queue<T>(runtime, { name, capacity, overflow, reserved, ...(onLost === undefined ? {} : { onLost }) })
}

/** Opens a declared broadcast with its declared capacity. */
export function openBroadcast<T, D extends Topology>(
  runtime: Runtime,
  topology: D,
  name: keyof D['broadcasts'] & string,
): Broadcast<T> {
  const row = topology.broadcasts[name]
  if (row === undefined) throw new TypeError(`${topology.service} declares no broadcast ${name}.`)
  return new Broadcast<T>(runtime, { name, capacity: row.capacity })
}

/** The task that no list of tasks shows, because it is what starts them: it is there as a scope. */
const SUPERVISOR = 'supervisor'

/**
 * How what is alive differs from what is declared: what is there and declared nowhere, and what is declared and not there
 * though nothing says that it is only there at times. Copies of a pool are one task.
 */
export function compareLive(
  topology: Topology,
  live: Iterable<Pick<LiveEntry, 'kind' | 'name'>>,
): { readonly undeclared: readonly string[]; readonly missing: readonly string[] } {
  const tables = { task: topology.tasks, queue: topology.queues, broadcast: topology.broadcasts }
  const seen = new Set<string>()
  for (const { kind, name } of live) {
    if (kind === 'scope' && name === SUPERVISOR) seen.add(`task ${SUPERVISOR}`)
    else if (kind === 'task') seen.add(`task ${name.replace(/-\d+$/, '')}`)
    else if (kind in tables) seen.add(`${kind} ${name}`)
  }
  const declared = new Map<string, { readonly only?: string }>()
  for (const [kind, rows] of Object.entries(tables))
    for (const [name, row] of Object.entries<{ readonly only?: string }>(rows)) declared.set(`${kind} ${name}`, row)
  return {
    undeclared: [...seen].filter((name) => !declared.has(name)).sort(),
    missing: [...declared].flatMap(([name, { only }]) => (only === undefined && !seen.has(name) ? [name] : [])).sort(),
  }
}
