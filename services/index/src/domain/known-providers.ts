/**
 * Who is known to hold an object. Sets from anywhere, in any order and as often as they come, merge into the same set:
 *
 *     one provider    the better word about it: signed before unsigned, then newer, then by its text; and all who named it
 *     many providers  64 places, shared out by who named them and by network, to the best by the same order
 *
 * One order decides both, so what falls out of a full set could not have come back later by another way.
 */
import type { Provider } from '@cairn/routing'
import { type Address, addressOf, compareBytes } from '@cairn/wire'
import { fairOrder } from './fair-order.ts'

/** In order of id. */
export type KnownProviders = readonly Provider[]

/** More would make answers larger than anybody reads, and a flood of records cheap. */
export const PROVIDERS_MAX = 64
/** Of one provider: as many as a lookup has legs, and this node itself. */
const SOURCES_MAX = 64

/** Associative, commutative and idempotent. */
export function mergeProviders(one: KnownProviders, other: KnownProviders): KnownProviders {
  const best = new Map<string, Provider>()
  for (const provider of [...one, ...other]) {
    const known = best.get(provider.id)
    if (known === undefined) best.set(provider.id, provider)
    else best.set(provider.id, withSources(byWorth(provider, known) < 0 ? provider : known, provider, known))
  }
  const all = [...best.values()]
  const kept = all.length <= PROVIDERS_MAX ? all : fairOrder(all, (each) => each, byWorth).slice(0, PROVIDERS_MAX)
  return kept.sort(byId)
}

/** Somebody who is named by several sources has the best place any of them gives. */
function withSources(provider: Provider, one: Provider, other: Provider): Provider {
  if (one.sources === other.sources) return provider
  const sources = [...new Set([...(one.sources ?? []), ...(other.sources ?? [])])].sort().slice(0, SOURCES_MAX)
  return { ...provider, sources }
}

/** The better word first. */
function byWorth(one: Provider, other: Provider): number {
  const signed = Number(other.record !== undefined) - Number(one.record !== undefined)
  if (signed !== 0) return signed
  if (one.seenAtMs !== other.seenAtMs) return other.seenAtMs - one.seenAtMs
  if (one.id !== other.id) return one.id < other.id ? -1 : 1
  if (one.record !== undefined && other.record !== undefined) return compareBytes(one.record.bytes, other.record.bytes)
  const [text, otherText] = [textOf(one), textOf(other)]
  return text < otherText ? -1 : Number(text > otherText)
}

function textOf({ http, region }: Provider): string {
  return JSON.stringify([http, region ?? null])
}

function byId(one: Provider, other: Provider): number {
  return one.id < other.id ? -1 : Number(one.id > other.id)
}

/** What the set is, whenever it was confirmed: the same providers under the same addresses have the same digest. */
export function digestOfProviders(providers: KnownProviders): Address {
  const rows = providers.map(({ id, http, region, record }) => [id, http, region ?? null, record !== undefined])
  return addressOf(new TextEncoder().encode(JSON.stringify(rows)))
}
