/** What can go wrong, and what a seed says about one time it does. */
import type { Random } from '@cairn/kernel'
import type { Cluster } from '../cluster.ts'

export const FAULT_KINDS = [
  'power-cut',
  'blackout',
  'kill',
  'restart',
  'stall',
  'io-error',
  'no-space',
  'full-drive',
  'filled-drive',
  'short-write',
  'torn-write',
  'slow-drive',
  'bit-rot',
  'rotten-index',
  'lost-index',
  'lost-journal',
  'rolled-back',
  'cut-off',
  'cut-pair',
  'cut-one-way',
  'loss',
  'delay',
  'duplication',
  'reorder',
  'clock-jump',
  'reload',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]

export interface ScheduledFault {
  readonly number: number
  readonly kind: FaultKind
  /** Where, if it is of one node. */
  readonly node: string
  /** A seed for how much, when, and where exactly. */
  readonly dice: number
}

/**
 * `begin` makes it happen; what it returns ends it, where it does not end by itself. It says `cluster.struck` at the moment
 * something is hit, which may be later or never.
 */
export type Fault = (
  cluster: Cluster,
  node: string,
  random: Random,
) => Promise<EndFault | undefined> | EndFault | undefined
export type EndFault = () => Promise<void> | void
