/**
 * The order in which providers get places, shared out by who named them: a key costs nothing, a source or a network does.
 *
 *     source A   best of each /24 ─ second of each /24 ─ …      places are given round by round: the first of every
 *     source B   best of each /24 ─ second of each /24 ─ …      source, then the second of every source, and so on
 *
 * With more providers a place is only ever taken by a better one, so what is left out of a full set stays left out.
 */
import type { Provider } from '@cairn/routing'
import { parseIp, toHex } from '@cairn/wire'

/** Below zero if the first is worth more. */
export type CompareProviders<T> = (one: T, other: T) => number

interface Place {
  readonly round: number
  readonly depth: number
}

export function fairOrder<T>(items: readonly T[], provider: (item: T) => Provider, compare: CompareProviders<T>): T[] {
  const places = new Map<T, Place>()
  for (const named of bySource(items, provider).values())
    for (const [round, { item, depth }] of inSource(named, provider, compare).entries()) {
      const known = places.get(item)
      const place = { round, depth }
      if (known === undefined || comparePlaces(place, known) < 0) places.set(item, place)
    }
  const placeOf = (item: T): Place => places.get(item) ?? { round: items.length, depth: 0 }
  return [...items].sort((one, other) => comparePlaces(placeOf(one), placeOf(other)) || compare(one, other))
}

function bySource<T>(items: readonly T[], provider: (item: T) => Provider): Map<string, T[]> {
  const named = new Map<string, T[]>()
  for (const item of items)
    for (const source of provider(item).sources ?? ['']) {
      const list = named.get(source) ?? []
      list.push(item)
      named.set(source, list)
    }
  return named
}

/** The best of every network, then the second of every network, and so on. */
function inSource<T>(
  named: readonly T[],
  provider: (item: T) => Provider,
  compare: CompareProviders<T>,
): { readonly item: T; readonly depth: number }[] {
  const taken = new Map<string, number>()
  const rows = [...named].sort(compare).map((item) => {
    const network = networkOf(provider(item))
    const depth = network === undefined ? 0 : (taken.get(network) ?? 0)
    if (network !== undefined) taken.set(network, depth + 1)
    return { item, depth }
  })
  return rows.sort((one, other) => one.depth - other.depth || compare(one.item, other.item))
}

function comparePlaces(one: Place, other: Place): number {
  return one.round - other.round || one.depth - other.depth
}

const IPV4_BYTES = 4
const LOOPBACK_IPV4 = 127
const LOOPBACK_IPV6 = `${'00'.repeat(15)}01`

/** The /24 or /48 of the first address that is a number; nothing for names, and for loopback, which nobody shares. */
function networkOf({ http }: Provider): string | undefined {
  for (const url of http) {
    if (!URL.canParse(url)) continue
    const ip = parseIp(new URL(url).hostname.replace(/^\[|\]$/g, ''))
    if (ip === undefined || ip[0] === LOOPBACK_IPV4 || toHex(ip) === LOOPBACK_IPV6) continue
    return toHex(ip.subarray(0, ip.length === IPV4_BYTES ? 3 : 6))
  }
  return undefined
}
