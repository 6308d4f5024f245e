/**
 * The faults of one seed as they come and go.
 *
 *     begin 3 ──▶ active {1, 3} ── end 1 ──▶ active {3} ── …
 *
 * Most may overlap. Some may not, bit rot first of all: it waits until nobody works, everything else is mended and every object has its
 * copies again, and it is mended, by a scrub, before the next fault begins. Two copies can stand the loss of one.
 */
import { SeededRandom } from '@cairn/kernel/testing'
import type { Cluster } from './cluster.ts'
import { FAULTS } from './faults/all.ts'
import type { EndFault, FaultKind, ScheduledFault } from './faults/fault.ts'
import { repair } from './repair.ts'

/** Of one that waited so long for somebody to hit that it would be over already. */
const LASTS_MS_MIN = 200

const EXCLUSIVE: readonly FaultKind[] = ['bit-rot', 'filled-drive', 'lost-journal', 'rolled-back']

export class FaultSchedule {
  readonly #cluster: Cluster
  readonly #active = new Map<number, { readonly kind: FaultKind; readonly end: EndFault }>()
  /** Those that wait for somebody to hit. */
  readonly #beginning = new Map<number, Promise<void>>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** True if it must begin while nobody works. */
  isExclusive({ kind }: ScheduledFault): boolean {
    return EXCLUSIVE.includes(kind) || [...this.#active.values()].some((active) => EXCLUSIVE.includes(active.kind))
  }

  async begin(fault: ScheduledFault): Promise<void> {
    const begun = this.#begin(fault)
    this.#beginning.set(fault.number, begun)
    await begun
    this.#beginning.delete(fault.number)
  }

  async #begin(fault: ScheduledFault): Promise<void> {
    const { number, kind, dice } = fault
    const random = new SeededRandom(dice)
    if (this.isExclusive(fault)) await this.endAll()
    if (EXCLUSIVE.includes(kind)) await repair(this.#cluster)
    const node = this.#cluster.node(fault.node).state === 'up' ? fault.node : (this.#upNode() ?? fault.node)
    await this.#cluster.untilAsked(node, random)
    this.#cluster.trace.tell(`⚡ ${number}: ${kind} at ${node}`)
    const end = await FAULTS[kind](this.#cluster, node, random)
    if (end !== undefined) this.#active.set(number, { kind, end })
  }

  /** What is down already has nothing to lose. */
  #upNode(): string | undefined {
    return this.#cluster.nodes.find(({ state }) => state === 'up')?.name
  }

  async end(number: number): Promise<void> {
    const beginning = this.#beginning.get(number)
    if (beginning !== undefined) {
      await beginning
      await this.#cluster.world.sleep(LASTS_MS_MIN)
    }
    const active = this.#active.get(number)
    if (active === undefined) return
    this.#cluster.trace.tell(`  ${number}: ${active.kind} is over`)
    await active.end()
    this.#active.delete(number)
  }

  async endAll(): Promise<void> {
    for (const number of Array.from(this.#active.keys())) await this.end(number)
  }
}
