/** What goes wrong with a machine's drive, by plan or by chance. */
import type { Random } from '@cairn/kernel'

export type Fault = 'io-error' | 'no-space' | 'short-write' | 'bit-flip'

export type FaultyOperation =
  | 'open'
  | 'append'
  | 'read'
  | 'sync'
  | 'truncate'
  | 'rename'
  | 'unlink'
  | 'make-directory'
  | 'sync-directory'
  | 'list'
  | 'commit'

export interface FaultPlan {
  readonly operation: FaultyOperation
  /** Which file or directory; any, if absent. */
  readonly path?: RegExp
  /** Strikes at the n-th matching call from now; the first, if absent. Once. */
  readonly nth?: number
  readonly fault: Fault
}

/** The chance of each fault at each call that it can strike. */
export type FaultRates = Readonly<Partial<Record<Fault, number>>>

const STRIKES: Readonly<Record<Fault, readonly FaultyOperation[]>> = {
  'io-error': [
    'open',
    'append',
    'read',
    'sync',
    'truncate',
    'rename',
    'unlink',
    'make-directory',
    'sync-directory',
    'list',
    'commit',
  ],
  'no-space': ['open', 'append', 'make-directory', 'commit'],
  'short-write': ['append'],
  'bit-flip': ['append', 'read'],
}

export class Faults {
  #plans: (FaultPlan & { left: number })[] = []
  /** Changed between one phase of a scenario and the next; all zero at first. */
  rates: FaultRates = {}

  plan(plan: FaultPlan): void {
    if (!STRIKES[plan.fault].includes(plan.operation))
      throw new TypeError(`${plan.fault} cannot strike ${plan.operation}.`)
    this.#plans.push({ ...plan, left: plan.nth ?? 1 })
  }

  /** The fault of this call, if it has one. */
  strike(operation: FaultyOperation, path: string, chance: Random): Fault | undefined {
    for (const plan of this.#plans) {
      if (plan.operation !== operation || plan.path?.test(path) === false) continue
      plan.left -= 1
      if (plan.left > 0) continue
      this.#plans = this.#plans.filter((other) => other !== plan)
      return plan.fault
    }
    for (const [fault, rate] of rated(this.rates)) {
      if (STRIKES[fault].includes(operation) && chance.next() < rate) return fault
    }
    return undefined
  }

  /** Nothing goes wrong from here on. */
  clear(): void {
    this.#plans = []
    this.rates = {}
  }
}

function rated(rates: FaultRates): [Fault, number][] {
  const faults: readonly Fault[] = ['io-error', 'no-space', 'short-write', 'bit-flip']
  return faults.flatMap((fault): [Fault, number][] => {
    const rate = rates[fault] ?? 0
    return rate > 0 ? [[fault, rate]] : []
  })
}
