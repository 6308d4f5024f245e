/** Payloads: the items that one commit changes together, and a note for the people who sign. */
import { type Address, addressOf, canonicalJson, type JsonValue } from '@cairn/wire'
import { Fields, malformed, SHORT_TEXT } from './fields.ts'
import { type Item, itemKey, parseItem } from './item.ts'
import type { SignerSetItem } from './signer-set.ts'

export type Payload = {
  /** Each (kind, id) at most once; a signer set stands alone. */
  readonly items: readonly Item[]
  readonly note?: string
}

/** Bounds the work of one commit: a commit is applied in one synchronous step. */
const MAX_ITEMS = 1024

/** The payload a JSON value spells. */
export function parsePayload(value: JsonValue): Payload {
  const fields = new Fields(value, 'The payload', ['items'], ['note'])
  const items = fields.list('items', 1, MAX_ITEMS).map(parseItem)
  const seen = new Set<string>()
  for (const item of items) {
    const key = itemKey(item)
    if (seen.has(key)) throw malformed(`The payload changes ${key} twice; say once what it becomes.`)
    seen.add(key)
  }
  if (items.length > 1 && items.some(({ kind }) => kind === 'signer_set')) {
    throw malformed('A signer set is the only item of its proposal; propose the other items apart.')
  }
  return fields.has('note') ? { items, note: fields.text('note', SHORT_TEXT) } : { items }
}

/** BLAKE3 of the canonical JSON: `payload_b3`. */
export function payloadHash(payload: Payload): Address {
  return addressOf(canonicalJson(payload))
}

/** The signer set this payload installs, if it does. */
export function signerSetOf({ items }: Payload): SignerSetItem | undefined {
  const [item] = items
  return item?.kind === 'signer_set' && 'm' in item ? item : undefined
}
