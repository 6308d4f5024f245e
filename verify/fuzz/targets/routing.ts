/** What nodes say of what they hold, as it came and signed anew. */
import assert from 'node:assert/strict'
import { systemCrypto } from '@cairn/platform'
import { signRecord, verifyRecord } from '@cairn/routing/testing'
import { decodeCbor, encodeCbor, parseAddress, peerIdFromKey } from '@cairn/wire'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf } from '../inputs.ts'
import { CBOR_SHAPE } from './shapes.ts'

const SEED = new Uint8Array(32).fill(3)
const publisher = peerIdFromKey(systemCrypto.ed25519PublicKey(SEED))
const sign = systemCrypto.ed25519Signer(SEED)
const CID = parseAddress(`b3:${'0'.repeat(64)}`)
const OTHER_CID = parseAddress(`b3:${'1'.repeat(64)}`)
const WALL_MS = 1_699_999_000_000
const CLAIM = { cid: CID, http: ['https://node.example:7071'], exp: 1_700_000_000, seq: 1 }
const RECORD = signRecord(systemCrypto, SEED, CLAIM)
const WITH_REGION = signRecord(systemCrypto, SEED, { ...CLAIM, cid: OTHER_CID, region: 'eu-west' })

/** The same claim, signed by our key whatever it says; nothing if it makes none. */
function signedAnew(input: Uint8Array): Uint8Array | undefined {
  const value = attempt(() => decodeCbor(input))
  if (typeof value !== 'object' || value === null || !('sig' in value)) return undefined
  const { sig: _sig, ...fields } = value
  return encodeCbor({ ...fields, sig: sign(Buffer.concat([bytesOf('cairn-provider/v1\0'), encodeCbor(fields)])) })
}

const record: FuzzTarget = {
  name: 'provider-record',
  covers: ['packages/routing/src/record.ts', 'packages/wire/src/libp2p-keys.ts'],
  seeds: [RECORD.bytes, WITH_REGION.bytes],
  words: ['cid', 'exp', 'sig', 'http', 'publisher', 'region', 'https://', 'http://a/?', 'https://u:p@a/', 'eu-west'],
  bytesMax: 2000,
  shape: CBOR_SHAPE,
  run: (input) => {
    const genuine = attempt(() => verifyRecord(systemCrypto, input, { wallMs: WALL_MS }))
    const isOurs = [RECORD, WITH_REGION].some(({ bytes }) => Buffer.from(bytes).equals(input))
    if (genuine !== undefined) assert.ok(isOurs, 'a record nobody signed counts')
    const signed = signedAnew(input)
    if (signed === undefined) return
    const counted = verifyRecord(systemCrypto, signed, { wallMs: WALL_MS, cid: CID, publisher })
    assert.ok(counted.cid === CID && counted.publisher === publisher && counted.exp * 1000 > WALL_MS)
    for (const base of counted.http) {
      const { protocol, username, search, hash } = new URL(base)
      assert.match(protocol, /^https?:$/)
      assert.equal(`${username}${search}${hash}`, '')
    }
  },
}

export const TARGETS: readonly FuzzTarget[] = [record]
