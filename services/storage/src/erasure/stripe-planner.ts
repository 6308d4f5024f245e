/**
 * Which stripes lack shards, and their repairs in line: urgent ones, of which no more shards may go, in the lane that is
 * never turned away, the others behind the copies of replicated objects.
 *
 * A whole object is not looked at again until it is put again, or a drive goes, comes back, or is another one: what turns
 * out damaged is healed where it lies, by whoever read it.
 */
import type { Platform } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import type { Pace, Repaired, Repairs } from '../domain/repairs.ts'
import type { ShardDrives } from './shard-drives.ts'
import { codedLength } from './stripe-core.ts'
import type { StripeMap } from './stripe-map.ts'
import type { StripeRepair, StripeState } from './stripe-repair.ts'

/** Objects that are remembered to be whole; past it they are looked at again in every round. */
const WHOLE_MAX = 100_000
/** Stripes of one repair. */
const BATCH_STRIPES = 16

/** What is left of an object: of the stripe of which the least is. */
export type ShardsLeft = 'whole' | 'parity' | 'urgent' | 'lost'

export interface StripePlan {
  readonly left: ShardsLeft
  /** Repairs there was room for. */
  readonly planned: number
}

export class StripePlanner {
  readonly #platform: Platform
  readonly #drives: ShardDrives
  readonly #repair: StripeRepair
  readonly #repairs: Repairs
  /** And the version they were of. */
  readonly #whole = new Map<Address, number>()
  #seen = ''

  constructor(platform: Platform, drives: ShardDrives, repair: StripeRepair, repairs: Repairs) {
    this.#platform = platform
    this.#drives = drives
    this.#repair = repair
    this.#repairs = repairs
  }

  async plan(object: Address, version: number): Promise<StripePlan> {
    const drives = this.#drives.all.map((drive) => `${drive.id} ${drive.health().tag}`).join(', ')
    if (drives !== this.#seen) this.#whole.clear()
    this.#seen = drives
    if (this.#whole.get(object) === version) return { left: 'whole', planned: 0 }
    const map = await this.#drives.find(object)
    if (map === undefined) return { left: 'whole', planned: 0 }
    let left: ShardsLeft = 'whole'
    let planned = 0
    let batch: StripeState[] = []
    const send = (): void => {
      if (batch.length > 0 && this.#send(map, batch)) planned += 1
      batch = []
    }
    for await (const state of this.#repair.survey(map)) {
      left = worse(left, state.urgency)
      if (state.urgency === 'lost') this.#warn(state)
      if (state.moves.length === 0) continue
      // Repairs of one kind go together: they share a sync for each drive.
      if (batch.length === BATCH_STRIPES || batch[0]?.urgency !== state.urgency) send()
      batch.push(state)
    }
    send()
    if (left === 'whole' && this.#whole.size < WHOLE_MAX) this.#whole.set(object, version)
    return { left, planned }
  }

  #send(map: StripeMap, states: readonly StripeState[]): boolean {
    const [first, last] = [states[0], states.at(-1)]
    const name = `stripes ${first?.descriptor.stripe} to ${last?.descriptor.stripe} of ${map.object}`
    const bytes = states.reduce((sum, { descriptor, moves }) => sum + codedLength(descriptor) * moves.length, 0)
    const run = async (pace: Pace): Promise<Repaired> => ({
      tag: 'repaired',
      bytes: await this.#repair.rebuild(map, states, pace),
    })
    return this.#repairs.send({ tag: 'work', name, bytes, run }, first?.urgency === 'urgent' ? 'urgent' : 'normal')
  }

  #warn({ descriptor: { object, stripe }, left, needed }: StripeState): void {
    const fields = { object: object.slice(0, 11), stripe, left, needed }
    this.#platform.log.error(fields, 'fewer shards of a stripe are left than it takes to read it')
  }
}

const WORSE: readonly ShardsLeft[] = ['whole', 'parity', 'urgent', 'lost']

function worse(a: ShardsLeft, b: ShardsLeft): ShardsLeft {
  return WORSE[Math.max(WORSE.indexOf(a), WORSE.indexOf(b))] ?? a
}
