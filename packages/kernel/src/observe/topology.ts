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

export interface TaskRow {
  /** How many run at once; a configuration key where it can be set. */
  readonly count: number | string
  readonly criticality: 'critical' | 'important' | 'optional'
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
  readonly does: string
}

export interface BroadcastRow {
  readonly capacity: number
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
