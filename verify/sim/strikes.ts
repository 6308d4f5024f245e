/**
 * The faults of one seed as they come and go.
 *
 *     begin 3 ──▶ active {1, 3} ── mend 1 ──▶ active {3} ── …
 *
 * Most may overlap. Bit rot may not: it waits until nobody works, everything else is mended and every object has its
 * copies again, and it is mended, by a scrub, before the next fault begins. Two copies can stand the loss of one.
 */
import { SeededRandom } from '@cairn/kernel'
import { FAULTS } from './faults/all.ts'
import type { FaultKind, Mend, Strike } from './faults/fault.ts'
import { repair } from './repair.ts'
import type { Town } from './town.ts'

/** Of one that waited so long for somebody to hit that it would be over already. */
const LASTS_MS_MIN = 200

const EXCLUSIVE: readonly FaultKind[] = ['bit-rot']

export class Strikes {
  readonly #town: Town
  readonly #active = new Map<number, { readonly kind: FaultKind; readonly mend: Mend }>()
  /** Those that wait for somebody to hit. */
  readonly #beginning = new Map<number, Promise<void>>()

  constructor(town: Town) {
    this.#town = town
  }

  /** True if it must begin while nobody works. */
  isExclusive({ kind }: Strike): boolean {
    return EXCLUSIVE.includes(kind) || [...this.#active.values()].some((active) => EXCLUSIVE.includes(active.kind))
  }

  async begin(strike: Strike): Promise<void> {
    const begun = this.#begin(strike)
    this.#beginning.set(strike.number, begun)
    await begun
    this.#beginning.delete(strike.number)
  }

  async #begin(strike: Strike): Promise<void> {
    const { number, kind, dice } = strike
    const random = new SeededRandom(dice)
    if (this.isExclusive(strike)) await this.mendAll()
    if (EXCLUSIVE.includes(kind)) await repair(this.#town)
    const node = this.#town.node(strike.node).state === 'up' ? strike.node : (this.#upNode() ?? strike.node)
    await this.#town.untilAsked(node, random)
    this.#town.story.tell(`⚡ ${number}: ${kind} at ${node}`)
    const mend = await FAULTS[kind](this.#town, node, random)
    if (mend !== undefined) this.#active.set(number, { kind, mend })
  }

  /** What is down already has nothing to lose. */
  #upNode(): string | undefined {
    return this.#town.nodes.find(({ state }) => state === 'up')?.name
  }

  async mend(number: number): Promise<void> {
    const beginning = this.#beginning.get(number)
    if (beginning !== undefined) {
      await beginning
      await this.#town.world.sleep(LASTS_MS_MIN)
    }
    const active = this.#active.get(number)
    if (active === undefined) return
    this.#town.story.tell(`  ${number}: ${active.kind} is over`)
    await active.mend()
    this.#active.delete(number)
  }

  async mendAll(): Promise<void> {
    for (const number of Array.from(this.#active.keys())) await this.mend(number)
  }
}
