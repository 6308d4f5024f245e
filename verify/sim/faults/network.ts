/** Wires that are cut, and weather on all of them. */
import { CALM, type Weather } from '../../virtual/network/links.ts'
import { NODE_NAMES } from '../settings.ts'
import type { Town } from '../town.ts'
import type { Fault, FaultKind, Mend } from './fault.ts'

const OUT_OF_REACH = 0.3

/** One node is alone; now and then its clients cannot reach it either. */
export const cutOff: Fault = (town, name, random) => {
  const isOutOfReach = random.next() < OUT_OF_REACH
  const excuse = town.excuse(isOutOfReach ? [name] : [])
  const mend = cut(town, 'cut-off', name, isOutOfReach ? [...othersOf(name), 'client'] : othersOf(name))
  return () => {
    mend()
    excuse[Symbol.dispose]()
  }
}

/** Two nodes do not see each other; the third sees both. */
export const cutPair: Fault = (town, name, random) => {
  const other = othersOf(name)[Math.floor(random.next() * 2)] ?? name
  return cut(town, 'cut-pair', name, [other])
}

/** What a node sends to the others does not arrive; what they send to it does. */
export const cutOneWay: Fault = (town, name) => cut(town, 'cut-one-way', name, othersOf(name), 'one')

function othersOf(name: string): readonly string[] {
  return NODE_NAMES.filter((other) => other !== name)
}

function cut(
  town: Town,
  kind: FaultKind,
  name: string,
  from: readonly string[],
  ways: 'both' | 'one' = 'both',
): () => void {
  const { links } = town.world.network
  links.partition([name], from, ways)
  const lasting = town.striking(kind, [name])
  return () => {
    links.heal([name], from)
    lasting[Symbol.dispose]()
  }
}

/** Packets of everybody meet this; those that are lost excuse an answer that does not come. */
const WEATHER: Readonly<Record<'loss' | 'delay' | 'duplication' | 'reorder', Partial<Weather>>> = {
  loss: { loss: 0.02 },
  delay: { delayMsMin: 5, delayMsMax: 80 },
  duplication: { duplication: 0.05 },
  reorder: { reorder: 0.1 },
}

export function badWeather(kind: keyof typeof WEATHER): Fault {
  return (town): Mend => {
    const { links } = town.world.network
    links.weather = { ...links.weather, ...WEATHER[kind] }
    const delayed = kind === 'delay' ? town.striking(kind, NODE_NAMES) : undefined
    return () => {
      const { delayMsMin, delayMsMax } = kind === 'delay' ? CALM : links.weather
      links.weather = { ...links.weather, delayMsMin, delayMsMax, ...(kind === 'delay' ? {} : { [kind]: 0 }) }
      delayed?.[Symbol.dispose]()
    }
  }
}
