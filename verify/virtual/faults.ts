/** What goes wrong with a machine's drive, by plan or by chance. */
import type { Random } from '@cairn/kernel'

/** `torn-write`: an append that fails, with some of its sectors on the disk and others not. */
export type Fault = 'io-error' | 'no-space' | 'short-write' | 'torn-write' | 'bit-flip'

/** Every call to the disk. */
export type FaultyOperation =
  | 'open'
  | 'append'
  | 'read'
  | 'sync'
  | 'truncate'
  | 'size'
  | 'close'
  | 'rename'
  | 'unlink'
  | 'make-directory'
  | 'sync-directory'
  | 'list'
  | 'space'
  | 'lock'

export interface FaultPlan {
  /** Any that the fault can strike, if absent. */
  readonly operation?: FaultyOperation
  /** Which file or directory; any, if absent. */
  readonly path?: RegExp
  /** Strikes at the n-th matching call from now; the first, if absent. Once. */
  readonly nth?: number
  readonly fault: Fault
}

/** The chance of each fault at each call that it can strike. */
export type FaultRates = Readonly<Partial<Record<Fault, number>>>

/** Which calls each fault can strike: any can fail, and any that may have to find a free block can find none. */
export const STRIKES: Readonly<Record<Fault, readonly FaultyOperation[]>> = {
  'io-error': [
    'open',
    'append',
    'read',
    'sync',
    'truncate',
    'size',
    'close',
    'rename',
    'unlink',
    'make-directory',
    'sync-directory',
    'list',
    'space',
    'lock',
  ],
  'no-space': ['open', 'append', 'sync', 'truncate', 'close', 'rename', 'make-directory', 'sync-directory', 'lock'],
  'short-write': ['append'],
  'torn-write': ['append'],
  'bit-flip': ['append', 'read'],
}

/** In the order in which dice are thrown for them. */
const FAULTS: readonly Fault[] = ['io-error', 'no-space', 'short-write', 'torn-write', 'bit-flip']

export class Faults {
  #plans: (FaultPlan & { left: number })[] = []
  /** Changed between one phase of a scenario and the next; all zero at first. */
  rates: FaultRates = {}
  /** How many times as long as usual the drive takes. */
  slowness = 1
  /** Hears of every fault that strikes. */
  onStrike: ((fault: Fault) => void) | undefined

  /** Disposing of it calls it off, unless it has struck. */
  plan(plan: FaultPlan): Disposable {
    if (plan.operation !== undefined && !STRIKES[plan.fault].includes(plan.operation))
      throw new TypeError(`${plan.fault} cannot strike ${plan.operation}.`)
    const planned = { ...plan, left: plan.nth ?? 1 }
    this.#plans.push(planned)
    return {
      [Symbol.dispose]: () => {
        this.#plans = this.#plans.filter((other) => other !== planned)
      },
    }
  }

  /** The fault of this call, if it has one. */
  strike(operation: FaultyOperation, path: string, chance: Random): Fault | undefined {
    const fault = this.#draw(operation, path, chance)
    if (fault !== undefined) this.onStrike?.(fault)
    return fault
  }

  #draw(operation: FaultyOperation, path: string, chance: Random): Fault | undefined {
    for (const plan of this.#plans) {
      const operations = plan.operation === undefined ? STRIKES[plan.fault] : [plan.operation]
      if (!operations.includes(operation) || plan.path?.test(path) === false) continue
      plan.left -= 1
      if (plan.left > 0) continue
      this.#plans = this.#plans.filter((other) => other !== plan)
      return plan.fault
    }
    for (const fault of FAULTS) {
      const rate = this.rates[fault] ?? 0
      if (rate > 0 && STRIKES[fault].includes(operation) && chance.next() < rate) return fault
    }
    return undefined
  }

  /** How many planned faults have not struck yet. */
  get pending(): number {
    return this.#plans.length
  }

  /** Nothing goes wrong from here on. */
  clear(): void {
    this.#plans = []
    this.rates = {}
    this.slowness = 1
  }
}
