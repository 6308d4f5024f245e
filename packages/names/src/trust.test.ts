import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatVerifierKey } from '@cairn/tlog'
import { canonicalJson, type JsonObject, parseJson } from '@cairn/wire'
import { sampleRegistry } from '../test/registry.ts'
import { isOriginOf, logIdentity } from './artifact.ts'
import { encodePin, encodeTrust, parsePin, parseTrust } from './trust.ts'

const registry = sampleRegistry()
const trust = registry.trust({ quantum: true, threshold: 2 })
const json = parseJson(encodeTrust(trust)) as JsonObject
const altered = (change: JsonObject) => () => parseTrust(canonicalJson({ ...json, ...change }))

test('a trust file and a pin come back from their bytes', () => {
  assert.deepEqual(parseTrust(encodeTrust(trust)), trust)
  assert.deepEqual(parseTrust(encodeTrust(registry.trust())), registry.trust())
  const pin = { trust, size: 9, root: registry.root(9) }
  assert.deepEqual(parsePin(encodePin(pin)), pin)
  const shown = { ...pin, checkpoint: 'a\n\n— b c\n' }
  assert.deepEqual(parsePin(encodePin(shown)), shown)
})

test('a trust file written by hand may be laid out as people like', () => {
  const pretty = new TextEncoder().encode(JSON.stringify(json, null, 2))
  assert.deepEqual(parseTrust(pretty), trust)
})

test('a trust file that would trust less than it seems to is refused', () => {
  const [log, time] = registry.logKeys().map(({ key }) => formatVerifierKey(key))
  const [witness] = registry.witnessKeys().map(({ key }) => formatVerifierKey(key))
  assert.ok(log !== undefined && time !== undefined && witness !== undefined)
  assert.throws(altered({ genesis: `b3:${'0'.repeat(64)}` }), /origin must end with .* genesis hash/)
  assert.throws(altered({ log_keys: [time] }), /must have the Ed25519 key that signs checkpoints/)
  assert.throws(altered({ log_keys: [] }), /list of 1 to 8/)
  assert.throws(altered({ log_keys: [log, log] }), /one public key twice/)
  assert.throws(altered({ log_keys: ['x'] }), /verifier key/)
  assert.throws(altered({ witnesses: { threshold: 2, keys: [witness] } }), /from 1 to 1/)
  assert.throws(altered({ witnesses: { threshold: 0, keys: [witness] } }), /from 1 to 1/)
  assert.throws(altered({ witnesses: { threshold: 1, keys: [time] } }), /a key of the log itself/)
  assert.throws(altered({ witnesses: { threshold: 1, keys: [log] } }), /cosigner keys/)
  assert.throws(altered({ key: 1 }), /unknown field "key"/)
  assert.throws(altered({ schema: 'cairn.trust/2' }), /must be "cairn.trust\/1"/)
})

test('an origin belongs to one genesis', () => {
  const { origin, genesis } = registry.log
  assert.equal(origin, `registry.example.org/cairn/${genesis.slice(3, 19)}`)
  assert.ok(isOriginOf(origin, genesis))
  assert.ok(!isOriginOf(origin, `b3:${'0'.repeat(64)}`))
  for (const prefix of ['', 'https://x', 'X', 'a/', 'a b', 'a/../b/']) {
    assert.throws(() => logIdentity(prefix, genesis), /must begin with a host and path/, prefix)
  }
})
