/**
 * Finding names by what they are like, and objects by what they are versions of.
 *
 *     site@1.0 ─ means ─▶ a ─ version ─ b ◀─ means ─ site@1.1        versions: the part before the @ is the same
 */
import type { Address } from '@cairn/wire'

export type Meaning = readonly [name: string, address: Address]

export interface Match {
  readonly name: string
  readonly address: Address
  /** 1 for the name itself, .75 where it begins so, .5 where it holds the text. */
  readonly score: number
}

/** The names that hold the text, the most alike first; ties by name. */
export function searchNames(meanings: readonly Meaning[], text: string): Match[] {
  const wanted = text.toLowerCase()
  const matches: Match[] = []
  for (const [name, address] of meanings) {
    const at = name.indexOf(wanted)
    if (at < 0) continue
    matches.push({ name, address, score: name === wanted ? 1 : at === 0 ? 0.75 : 0.5 })
  }
  return matches.sort((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
}

export interface RelatedObject {
  readonly cid: Address
  readonly edge: 'means' | 'version'
  /** Less with every step away. */
  readonly weight: number
}

/** What is at most so many steps away from a name or an address, the nearest first. */
export function findRelated(meanings: readonly Meaning[], start: string, hops: number): RelatedObject[] {
  const byName = new Map<string, Meaning[]>()
  const byAddress = new Map<Address, Meaning[]>()
  for (const meaning of meanings) {
    const [name, address] = meaning
    push(byName, nameBefore(name), meaning)
    push(byAddress, address, meaning)
  }
  const found = new Map<Address, RelatedObject>()
  const root = meanings.find(([name]) => name === start)?.[1]
  if (root !== undefined) found.set(root, { cid: root, edge: 'means', weight: 1 })
  let edge = root === undefined ? [start as Address] : [root]
  const firstHop = root === undefined ? 1 : 2
  for (let hop = firstHop; hop <= hops && edge.length > 0; hop += 1) {
    const next: Address[] = []
    for (const [name] of edge.flatMap((cid) => byAddress.get(cid) ?? [])) {
      for (const [, cid] of byName.get(nameBefore(name)) ?? []) {
        if (found.has(cid) || cid === start) continue
        found.set(cid, { cid, edge: 'version', weight: 1 / hop })
        next.push(cid)
      }
    }
    edge = next
  }
  return [...found.values()].sort((one, other) => other.weight - one.weight || (one.cid < other.cid ? -1 : 1))
}

function nameBefore(name: string): string {
  return name.split('@')[0] ?? name
}

function push<K>(map: Map<K, Meaning[]>, key: K, meaning: Meaning): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [meaning])
  else list.push(meaning)
}
