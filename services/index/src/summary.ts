import { spellCount } from '@cairn/wire'
import type { IndexParts } from './parts.ts'

/** One line: where names come from, whom it asks, and as whom it signs. */
export function summaryOf({ names, routings, book, publisher }: IndexParts): string {
  const source = names === undefined ? spellCount(book.names.size, 'local name') : 'names from the registry'
  const ways = routings.length === 0 ? 'asks nobody' : `asks ${routings.map(({ name }) => name).join(', ')}`
  const signer = `${publisher.slice(0, 8)}…${publisher.slice(-4)}`
  return `${source} · ${ways} · ${spellCount(book.pins.size, 'pin')} · signs as ${signer}`
}

/** What `/readyz` says beside the conditions: reads go on while the registry is away, and it says so. */
export function readyFields({ names, routings }: IndexParts): Readonly<Record<string, unknown>> {
  const registry = names === undefined ? {} : { registry: names.readyFields() }
  return { ...registry, routings: routings.map(({ name }) => name) }
}
