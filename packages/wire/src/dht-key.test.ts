import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { addressOf, cidFromAddress, digestOf } from './address.ts'
import { dhtKey, plainDhtKey } from './libp2p-keys.ts'

const ADDRESS = addressOf(new TextEncoder().encode('foobar'))

test('the key of our table is the SHA2-256 multihash of the BLAKE3 multihash', () => {
  const blake3 = Uint8Array.of(0x1e, 0x20, ...digestOf(ADDRESS))
  const digest = createHash('sha256').update(blake3).digest()
  assert.deepEqual([...dhtKey(ADDRESS).multihash.bytes], [0x12, 0x20, ...digest])
})

test('the key for other tables is the CID of the address itself', () => {
  assert.equal(plainDhtKey(ADDRESS).toString(), cidFromAddress(ADDRESS))
})
