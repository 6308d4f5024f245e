/** Wires that are cut, and disturbed conditions on all of them. */
import { CALM, type NetworkConditions } from '../../virtual/network/links.ts'
import type { Cluster } from '../cluster.ts'
import { NODE_NAMES } from '../settings.ts'
import type { EndFault, Fault, FaultKind } from './fault.ts'

const OUT_OF_REACH = 0.3

/** One node is alone; now and then its clients cannot reach it either. */
export const cutOff: Fault = (cluster, name, random) => {
  const isOutOfReach = random.next() < OUT_OF_REACH
  const openFaultWindow = cluster.openFaultWindow(isOutOfReach ? [name] : [])
  const end = cut(cluster, 'cut-off', name, isOutOfReach ? [...othersOf(name), 'client'] : othersOf(name))
  return () => {
    end()
    openFaultWindow[Symbol.dispose]()
  }
}

/** Two nodes do not see each other; the third sees both. */
export const cutPair: Fault = (cluster, name, random) => {
  const other = othersOf(name)[Math.floor(random.next() * 2)] ?? name
  return cut(cluster, 'cut-pair', name, [other])
}

/** What a node sends to the others does not arrive; what they send to it does. */
export const cutOneWay: Fault = (cluster, name) => cut(cluster, 'cut-one-way', name, othersOf(name), 'one')

function othersOf(name: string): readonly string[] {
  return NODE_NAMES.filter((other) => other !== name)
}

function cut(
  cluster: Cluster,
  kind: FaultKind,
  name: string,
  from: readonly string[],
  ways: 'both' | 'one' = 'both',
): () => void {
  const { links } = cluster.world.network
  links.partition([name], from, ways)
  const lasting = cluster.striking(kind, [name])
  return () => {
    links.heal([name], from)
    lasting[Symbol.dispose]()
  }
}

/** Packets of everybody meet this; those that are lost openFaultWindow an answer that does not come. */
const CONDITIONS: Readonly<Record<'loss' | 'delay' | 'duplication' | 'reorder', Partial<NetworkConditions>>> = {
  loss: { loss: 0.02 },
  delay: { delayMsMin: 5, delayMsMax: 80 },
  duplication: { duplication: 0.05 },
  reorder: { reorder: 0.1 },
}

export function disturbNetwork(kind: keyof typeof CONDITIONS): Fault {
  return (cluster): EndFault => {
    const { links } = cluster.world.network
    links.conditions = { ...links.conditions, ...CONDITIONS[kind] }
    const delayed = kind === 'delay' ? cluster.striking(kind, NODE_NAMES) : undefined
    return () => {
      const { delayMsMin, delayMsMax } = kind === 'delay' ? CALM : links.conditions
      links.conditions = { ...links.conditions, delayMsMin, delayMsMax, ...(kind === 'delay' ? {} : { [kind]: 0 }) }
      delayed?.[Symbol.dispose]()
    }
  }
}
