import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError, KERNEL_METRICS, MemoryMetrics } from '@cairn/kernel'
import { VirtualClock } from '@cairn/kernel/testing'
import { systemCrypto as crypto } from '@cairn/platform'
import { encodeCbor, peerIdFromKey } from '@cairn/wire'
import { addressNamed, fieldsOf, seedOf } from '../test/peer.ts'
import { DialPolicy, type DialPolicyOptions } from './dial-policy.ts'
import { ROUTING_METRICS } from './metrics.ts'
import { RecordSigner } from './provider-record-store.ts'
import {
  issuedAtMs,
  type ProviderClaim,
  RECORD_TTL_MS,
  type SignedProviderRecord,
  signRecord,
  verifyRecord,
} from './record.ts'
import { providerOf, RecordGate } from './record-gate.ts'

const WALL_MS = 1_800_000_000_000
const SEED = seedOf(1)
const PUBLISHER = peerIdFromKey(crypto.ed25519PublicKey(SEED))
const CLAIM: ProviderClaim = {
  cid: addressNamed('held'),
  http: ['https://storage.example.org', 'http://198.45.7.3:7071/base'],
  region: 'eu-west',
  seq: 3,
  exp: WALL_MS / 1000 + 3600,
}

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    return error instanceof CairnError ? error.code : String(error)
  }
  return 'accepted'
}

function verify(bytes: Uint8Array, expected = {}): string {
  return codeOf(() => verifyRecord(crypto, bytes, { wallMs: WALL_MS, ...expected }))
}

/** The record with some fields changed, and its signature kept. */
function altered(change: Readonly<Record<string, unknown>>): Uint8Array {
  return encodeCbor({ ...fieldsOf(signRecord(crypto, SEED, CLAIM)), ...change })
}

describe('a signed provider record', () => {
  test('is read as it was signed', () => {
    const record = signRecord(crypto, SEED, CLAIM)
    assert.deepEqual(
      verifyRecord(crypto, record.bytes, { wallMs: WALL_MS, cid: CLAIM.cid, publisher: PUBLISHER }),
      record,
    )
    assert.deepEqual({ ...record, bytes: undefined }, { ...CLAIM, publisher: PUBLISHER, bytes: undefined })
  })

  test('has no bytes but these', () => {
    const { bytes } = signRecord(crypto, SEED, { ...CLAIM, http: ['https://a.example'] })
    assert.deepEqual(Object.keys(fieldsOf({ bytes })).sort(), [
      'cid',
      'exp',
      'http',
      'publisher',
      'region',
      'seq',
      'sig',
      'v',
    ])
  })

  const other = peerIdFromKey(crypto.ed25519PublicKey(seedOf(2)))
  const { bytes } = signRecord(crypto, SEED, CLAIM)
  const { sig: _sig, ...unsigned } = fieldsOf({ bytes })
  const refusals: readonly (readonly [string, string, Uint8Array, object?])[] = [
    ['forged: another publisher’s name', 'record_forged', altered({ publisher: other })],
    ['forged: another URL', 'record_forged', altered({ http: ['https://evil.example'] })],
    ['forged: a signature of zeros', 'record_forged', altered({ sig: new Uint8Array(64) })],
    ['unsigned', 'record_unsigned', encodeCbor(unsigned)],
    ['expired', 'record_expired', bytes, { wallMs: CLAIM.exp * 1000 }],
    ['good for longer than 24 hours', 'record_too_long', bytes, { wallMs: CLAIM.exp * 1000 - RECORD_TTL_MS - 61_000 }],
    ['oversized', 'record_oversized', new Uint8Array(16 * 1024 + 1)],
    ['about another object', 'record_other_cid', bytes, { cid: addressNamed('another') }],
    ['of another publisher than expected', 'record_other_publisher', bytes, { publisher: other }],
    ['with a field nobody knows', 'record_malformed', altered({ extra: 1 })],
    ['of another version', 'record_malformed', altered({ v: 2 })],
    ['with no URL', 'record_malformed', altered({ http: [] })],
    [
      'with nine URLs',
      'record_malformed',
      altered({ http: Array.from({ length: 9 }, (_, i) => `https://h${i}.example`) }),
    ],
    ['with a URL that holds credentials', 'record_malformed', altered({ http: ['https://me:pw@a.example'] })],
    ['with a URL that holds a query', 'record_malformed', altered({ http: ['https://a.example/?x'] })],
    ['with a URL of another spelling', 'record_malformed', altered({ http: ['HTTPS://A.example'] })],
    ['with a file for a URL', 'record_malformed', altered({ http: ['file:///etc/passwd'] })],
    ['with a negative seq', 'record_malformed', altered({ seq: -1 })],
    ['with a broken seq', 'record_malformed', altered({ seq: 1.5 })],
    ['with a region of capitals', 'record_malformed', altered({ region: 'EU' })],
    ['with a publisher that is no peer id', 'record_malformed', altered({ publisher: 'somebody' })],
    ['that is not CBOR', 'record_malformed', new TextEncoder().encode('{"cid":1}')],
    ['that is a list', 'record_malformed', encodeCbor([1, 2])],
    ['with bytes after its end', 'record_malformed', Uint8Array.of(...bytes, 0)],
  ]
  for (const [what, code, refused, expected] of refusals) {
    test(`is refused when it is one ${what}`, () => assert.equal(verify(refused, expected), code))
  }

  test('is as old as the time since it was issued, never younger than now', () => {
    const record = signRecord(crypto, SEED, CLAIM)
    assert.equal(issuedAtMs(record, WALL_MS), CLAIM.exp * 1000 - RECORD_TTL_MS)
    assert.equal(issuedAtMs({ ...record, exp: CLAIM.exp + 10 * 86_400 }, WALL_MS), WALL_MS)
  })
})

test('a node signs with a growing seq, for 24 hours, and not at all while nobody can reach it', () => {
  const clock = new VirtualClock(WALL_MS)
  let urls: readonly string[] = []
  const signer = new RecordSigner({ crypto, clock, seed: SEED, urls: () => urls })
  const signed = (): SignedProviderRecord => {
    const record = signer.sign(CLAIM.cid)
    assert.ok(record !== undefined)
    return record
  }
  assert.equal(signer.sign(CLAIM.cid), undefined)
  urls = ['https://a.example']
  const first = signed()
  assert.equal(first.exp * 1000, WALL_MS + RECORD_TTL_MS)
  assert.equal(first.publisher, PUBLISHER)
  clock.jumpWall(-5_000)
  const second = signed()
  assert.equal(
    second.exp * 1000,
    WALL_MS - 5_000 + RECORD_TTL_MS,
    'the clock went back, and what was signed is not of now',
  )
  urls = ['https://b.example']
  const third = signed()
  assert.deepEqual(third.http, urls, 'it is reached elsewhere now')
  clock.advance(59_000)
  urls = ['https://b.example']
  assert.equal(signed(), third, 'nothing changed in a minute, and nothing is signed')
  assert.notEqual(signer.sign(addressNamed('another'))?.cid, CLAIM.cid)
  clock.advance(1_000)
  const fourth = signed()
  assert.equal(fourth.exp, third.exp + 60)
  assert.ok(first.seq < second.seq && second.seq < third.seq && third.seq < fourth.seq)
  urls = []
  assert.equal(signer.sign(CLAIM.cid), undefined)
})

describe('the gate', () => {
  const gateWith = (reach: DialPolicyOptions): { readonly gate: RecordGate; readonly metrics: MemoryMetrics } => {
    const metrics = new MemoryMetrics({ ...KERNEL_METRICS, ...ROUTING_METRICS })
    const clock = new VirtualClock(WALL_MS)
    return { metrics, gate: new RecordGate({ crypto, clock, metrics, reach: () => new DialPolicy(reach) }) }
  }
  const pointingAt = (...http: string[]): Uint8Array => signRecord(crypto, SEED, { ...CLAIM, http }).bytes

  test('lets a good record in, and counts it', () => {
    const { gate, metrics } = gateWith({})
    const provider = gate.admit(signRecord(crypto, SEED, CLAIM).bytes, { cid: CLAIM.cid })
    assert.deepEqual(provider, providerOf(signRecord(crypto, SEED, CLAIM), WALL_MS))
    assert.equal(metrics.value('provider_records_total', { state: 'accepted' }), 1)
  })

  test('counts each refusal by its reason', () => {
    const { gate, metrics } = gateWith({})
    assert.equal(gate.admit(altered({ seq: 4 }), { cid: CLAIM.cid }), undefined)
    assert.equal(gate.admit(new Uint8Array(20_000), { cid: CLAIM.cid }), undefined)
    assert.equal(metrics.value('provider_records_total', { state: 'forged' }), 1)
    assert.equal(metrics.value('provider_records_total', { state: 'oversized' }), 1)
  })

  const forbidden = [
    'http://127.0.0.1:7071',
    'http://10.0.0.5',
    'http://192.168.1.1',
    'http://169.254.169.254',
    'http://[::1]:8080',
    'http://[fd00::1]',
    'http://[::ffff:7f00:1]',
    'http://localhost:7071',
    'https://a.localhost',
    'https://printer.local',
    'https://metadata.google.internal',
    'https://intranet',
    'http://100.64.0.1',
    'http://0.0.0.0',
  ]
  for (const url of forbidden) {
    test(`keeps out a record that points at ${url}, even beside a public one`, () => {
      const { gate, metrics } = gateWith({})
      assert.equal(
        codeOf(() => gate.check(pointingAt('https://fine.example', url))),
        'record_forbidden_address',
      )
      assert.equal(metrics.value('provider_records_total', { state: 'forbidden_address' }), 1)
    })
  }

  test('lets in what a configured peer says of itself, and loopback where that is allowed', () => {
    const bytes = pointingAt('http://10.0.0.5')
    assert.equal(gateWith({ trusted: new Set([PUBLISHER]) }).gate.check(bytes).publisher, PUBLISHER)
    const development = gateWith({ allowLoopback: true }).gate
    assert.equal(development.check(pointingAt('http://127.0.0.1:7071')).publisher, PUBLISHER)
    assert.equal(
      codeOf(() => development.check(bytes)),
      'record_forbidden_address',
    )
  })
})
