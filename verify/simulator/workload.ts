/**
 * What clients do with one service, and a ledger of what they were told.
 *
 *     prepare ─▶ operate, operate, operate … while things go wrong ─▶ settle (all is well again) ─▶ check
 *
 * A seed makes its own workloads. `operate` is called by several clients at once and must keep its ledger right when an
 * answer never comes: note `unsure` before sending, and what was told after. What it throws fails the seed.
 */
import type { Random } from '@cairn/kernel'
import type { ServiceName } from './answer.ts'
import type { Cluster } from './cluster.ts'
import type { Tally } from './tally.ts'

/** Nested as in `cairn.toml`: `{ interop: { providers: { … } } }`. */
export interface Settings {
  readonly [key: string]: string | number | boolean | readonly unknown[] | Settings
}

export interface Workload {
  readonly service: ServiceName
  /** Counts every operation and how it ended; one that acknowledged nothing proves nothing and fails the seed. */
  readonly tally: Tally
  /** What every node's configuration says for this workload, on top of the cluster's. */
  readonly settings?: Settings
  /** Files on every node's drive before its first start, by path (see `DATA`). */
  readonly files?: Readonly<Record<string, Uint8Array>>
  /** Once, while everything is up and well. */
  prepare?(cluster: Cluster): Promise<void>
  /** One thing a client does. */
  operate(cluster: Cluster, random: Random): Promise<void>
  /** A drive has rotted, and nothing else is wrong: whoever was refused because of it sends again what they have. */
  resend?(cluster: Cluster): Promise<void>
  /** What this node kept for a service is gone, with all that was told there; it will say so. Nobody asks anything now. */
  lose?(service: ServiceName, node: string): void
  /** Everything is up again and had time to repair: what is still unsure may be asked and decided. */
  settle?(cluster: Cluster): Promise<void>
  /** Everything that was told holds, on every node. */
  check(cluster: Cluster): Promise<void>
}

/** Makes the workload of one seed; the number is a seed of its own. */
export type MakeWorkload = (seed: number) => Workload
