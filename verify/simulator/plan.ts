/**
 * Everything that happens in a seed, in order: what clients do, what goes wrong, and when that is over.
 *
 *     operate operate ⚡fault 1 operate operate ⚡fault 2 operate end 1 operate … end 2 operate
 *
 * A step has its own dice, so that leaving one out changes no other: that is how a failing seed is made small.
 */
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { SERVICE_NAMES, type ServiceName } from './answer.ts'
import { FAULT_KINDS, type FaultKind, type ScheduledFault } from './faults/fault.ts'
import { NODE_NAMES, WRITER } from './settings.ts'

export type Step =
  | { readonly tag: 'operate'; readonly service: ServiceName; readonly dice: number }
  | { readonly tag: 'begin-fault'; readonly fault: ScheduledFault }
  | { readonly tag: 'end-fault'; readonly fault: number }

export interface Plan {
  readonly seed: number
  readonly steps: readonly Step[]
}

const OPERATIONS = 200
/**
 * How many of fifteen operations are of each service: what the registry is asked for takes five requests and a dozen
 * signatures, and most of what people ask for is read at an edge.
 */
const SHARES: Readonly<Record<ServiceName, number>> = { edge: 8, interop: 2, storage: 2, index: 2, registry: 1 }
const STRIKES_MIN = 7
const STRIKES_MORE = 4
/** The first operations meet no fault, and there is one of each service, so that there is something to lose. */
const CALM_OPERATIONS = 20
/** How many operations a fault lasts. */
const LASTS_MIN = 8
const LASTS_MORE = 24

/** Swarm: every seed has some kinds of faults and not others, so that rare ones are not drowned by common ones. */
export function planOf(seed: number): Plan {
  const random = new SeededRandom(seed)
  const services = SERVICE_NAMES.flatMap((service) => new Array<ServiceName>(SHARES[service]).fill(service))
  const schedule = scheduleOf(random)
  const steps: Step[] = []
  for (let at = 0; at < OPERATIONS; at += 1) {
    for (const { fault, from, to } of schedule) {
      if (from === at) steps.push({ tag: 'begin-fault', fault })
      if (to === at) steps.push({ tag: 'end-fault', fault: fault.number })
    }
    const service = SERVICE_NAMES[at] ?? pick(services, random)
    steps.push({ tag: 'operate', service, dice: diceOf(random) })
  }
  return { seed, steps }
}

/** One more power cut, and operations for it to meet: for a seed whose faults have met too little. */
export function spareSteps(seed: number, number: number): Step[] {
  const random = new SeededRandom(seed + number)
  const fault: ScheduledFault = { number, kind: 'power-cut', node: pick(NODE_NAMES, random), dice: diceOf(random) }
  const operations = Array.from({ length: LASTS_MIN }, (_, at): Step => {
    return { tag: 'operate', service: SERVICE_NAMES[at % SERVICE_NAMES.length] ?? 'storage', dice: diceOf(random) }
  })
  return [{ tag: 'begin-fault', fault }, ...operations, { tag: 'end-fault', fault: number }]
}

interface Placed {
  readonly fault: ScheduledFault
  readonly from: number
  readonly to: number
}

function scheduleOf(random: Random): Placed[] {
  const kinds = kindsOf(random)
  const count = STRIKES_MIN + Math.floor(random.next() * STRIKES_MORE)
  const room = (OPERATIONS - CALM_OPERATIONS - LASTS_MIN) / count
  return Array.from({ length: count }, (_, at) => {
    const kind = at === 1 ? 'power-cut' : pick(kinds, random)
    const node = random.next() < 0.4 ? WRITER : pick(NODE_NAMES, random)
    const from = CALM_OPERATIONS + Math.floor(room * at + random.next() * room * 0.5)
    const lasts = LASTS_MIN + Math.floor(random.next() * LASTS_MORE)
    const to = Math.min(OPERATIONS - 1, from + lasts)
    return { fault: { number: at + 1, kind, node, dice: diceOf(random) }, from, to }
  })
}

function kindsOf(random: Random): readonly FaultKind[] {
  const chosen = FAULT_KINDS.filter(() => random.next() < 0.4)
  return chosen.length < 3 ? [...chosen, ...FAULT_KINDS.filter(() => random.next() < 0.4)] : chosen
}

function pick<T>(list: readonly T[], random: Random): T {
  const chosen = list[Math.floor(random.next() * list.length)]
  if (chosen === undefined) throw new RangeError('There is nothing to pick from.')
  return chosen
}

function diceOf(random: Random): number {
  return Math.floor(random.next() * 0x1_0000_0000)
}
