import type { IndexParts } from './parts.ts'

/** One line: where names come from, whom it asks, and as whom it signs. */
export function summaryOf({ names, routings, book, publisher }: IndexParts): string {
  const source = names === undefined ? `${book.names.size} local names` : 'names from the registry'
  const ways = routings.length === 0 ? 'asks nobody' : `asks ${routings.map(({ name }) => name).join(', ')}`
  return `${source} · ${ways} · ${book.pins.size} pins · signs as ${publisher.slice(0, 8)}…${publisher.slice(-4)}`
}

/** What `/readyz` says beside the conditions: reads go on while the registry is away, and it says so. */
export function readyFields({ names, routings }: IndexParts): Readonly<Record<string, unknown>> {
  const registry = names === undefined ? {} : { registry: names.readyFields() }
  return { ...registry, routings: routings.map(({ name }) => name) }
}
