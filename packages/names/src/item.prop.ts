import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addressOf,
  canonicalJson,
  encodeCbor,
  type JsonObject,
  type JsonValue,
  parseJson,
  toBase64url,
} from '@cairn/wire'
import fc from 'fast-check'
import { itemHash, parseItem } from './item.ts'
import { decodeBody, parsePayload, payloadHash } from './proposal.ts'

const address = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => addressOf(bytes))
const prev = fc.option(address)
const id = fc.stringMatching(/^[a-z0-9][a-z0-9._:-]{0,20}$/)
const name = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,20}@[a-z0-9._-]{1,20}$/)
const title = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text))
const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toBase64url)

/** Any well-formed item except a signer set, which stands alone. */
const item: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ kind: fc.constant('name'), id: name, prev, manifest: address }),
  fc.record({ kind: fc.constant('name'), id: name, prev, manifest: address, type: fc.constant('text/html') }),
  fc.record({ kind: fc.constant('service'), id, prev, endpoint: fc.webUrl({ validSchemes: ['https'] }) }),
  fc.record({ kind: fc.constant('region'), id, prev, title }, { requiredKeys: ['kind', 'id', 'prev'] }),
  fc.record({
    kind: fc.constant('upstream'),
    id,
    prev,
    route: fc.constant('/api'),
    url: fc.constant('http://up:80/x'),
  }),
  fc.record({
    kind: fc.constant('node'),
    id,
    prev,
    identity_key: key,
    addrs: fc.array(fc.constantFrom('/ip4/192.0.2.1/tcp/4001', '/dns/a/tcp/1'), { maxLength: 3 }),
    region: id,
  }),
  fc.record({ kind: fc.constantFrom('name'), id: name, prev: address, deleted: fc.constant(true) }),
)

const payload: fc.Arbitrary<JsonObject> = fc.record(
  {
    items: fc.uniqueArray(item, {
      minLength: 1,
      maxLength: 6,
      selector: ({ kind, id }) => JSON.stringify([kind, id]),
    }),
    note: title,
  },
  { requiredKeys: ['items'] },
)

/** The same value with the members of every object in another order. */
function shuffled(value: JsonValue, turn: number): JsonValue {
  if (Array.isArray(value)) return value.map((member: JsonValue) => shuffled(member, turn))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  const at = turn % Math.max(1, members.length)
  const turned = [...members.slice(at), ...members.slice(0, at)].reverse()
  return Object.fromEntries(turned.map(([name, member]) => [name, shuffled(member, turn + 1)]))
}

test('an item comes back from its canonical JSON unchanged, and canonical JSON of it is the same bytes', () => {
  fc.assert(
    fc.property(item, (value) => {
      const once = parseItem(value)
      const bytes = canonicalJson(once)
      assert.deepEqual(parseItem(parseJson(bytes)), once)
      assert.deepEqual(canonicalJson(parseItem(parseJson(bytes))), bytes)
      assert.deepEqual(canonicalJson(value), bytes)
    }),
  )
})

test('the order of fields changes neither hash; any other value does', () => {
  fc.assert(
    fc.property(payload, fc.nat(), item, (value, turn, other) => {
      const read = parsePayload(value)
      assert.equal(payloadHash(parsePayload(shuffled(value, turn))), payloadHash(read))
      const [first] = read.items
      assert.ok(first !== undefined)
      const isSame = canonicalJson(other).join() === canonicalJson(first).join()
      assert.equal(itemHash(parseItem(other)) === itemHash(first), isSame)
    }),
  )
})

test('a CBOR body decodes to the same value as the JSON body', () => {
  fc.assert(
    fc.property(payload, (value) => {
      const fromJson = decodeBody(canonicalJson(value), 'json')
      const fromCbor = decodeBody(encodeCbor(value), 'cbor')
      assert.deepEqual(canonicalJson(fromCbor), canonicalJson(fromJson))
      assert.equal(payloadHash(parsePayload(fromCbor)), payloadHash(parsePayload(fromJson)))
    }),
  )
})

test('an unknown field anywhere in an item is refused by name', () => {
  fc.assert(
    fc.property(item, fc.stringMatching(/^x[a-z]{1,8}$/), (value, extra) => {
      assert.throws(() => parseItem({ ...value, [extra]: 1 }), new RegExp(`unknown field "${extra}"`))
    }),
  )
})
