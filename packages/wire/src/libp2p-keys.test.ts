import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import fc from 'fast-check'
import { base58btc } from 'multiformats/bases/base58'
import { keyFromPeerId, peerIdFromKey } from './libp2p-keys.ts'

const isMalformed = (error: unknown): boolean => isKind(error, 'Malformed')
const KEY = fc.uint8Array({ minLength: 32, maxLength: 32 })

test('a peer id gives back its key, and starts as those of Ed25519 keys do', () => {
  fc.assert(
    fc.property(KEY, (key) => {
      const id = peerIdFromKey(key)
      assert.match(id, /^12D3KooW/)
      assert.deepEqual(keyFromPeerId(id), key)
    }),
  )
})

test('the peer id of the libp2p specification’s Ed25519 test key is the published one', () => {
  const key = Uint8Array.fromHex('1ed1e8fae2c4a144b8be8fd4b47bf3d3b34b871c3cacf6010f0e42d474fce27e')
  assert.equal(peerIdFromKey(key), '12D3KooWBtg3aaRMjxwedh83aGiUkwSxDwUZkzuJcfaqUmo7R3pq')
})

test('anything but the one spelling of an Ed25519 peer id is refused', () => {
  const id = peerIdFromKey(new Uint8Array(32))
  for (const text of [
    '',
    'local',
    `${id} `,
    `1${id}`,
    id.slice(0, -1),
    id.replace('K', '0'),
    `z${id}`,
    '1'.repeat(5000),
  ]) {
    assert.throws(() => keyFromPeerId(text), isMalformed, text.slice(0, 80))
  }
  assert.throws(() => peerIdFromKey(new Uint8Array(31)), isMalformed)
})

test('the key of a peer id has 32 bytes, and its spelling no more than they need', () => {
  const spell = (hex: string): string => base58btc.baseEncode(Uint8Array.fromHex(hex))
  const prefix = '002408011220'
  assert.equal(spell(`${prefix}${'00'.repeat(32)}`), peerIdFromKey(new Uint8Array(32)))
  for (const hex of [`${prefix}${'00'.repeat(31)}`, `${prefix}${'00'.repeat(33)}`, `012408011220${'00'.repeat(32)}`])
    assert.throws(() => keyFromPeerId(spell(hex)), isMalformed, hex)
})
