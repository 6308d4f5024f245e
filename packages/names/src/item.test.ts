import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { encodeCbor, type JsonValue, toBase64url } from '@cairn/wire'
import { parseApprovalRequest } from './approval.ts'
import { parseItem, parseName } from './item.ts'
import { parseAuditHead } from './leaf.ts'
import { decodeBody, parsePayload, parseProposalRequest } from './proposal.ts'
import { parseTrustRoots } from './signer-set.ts'

const ADDRESS = `b3:${'a'.repeat(64)}`
const NAME = { kind: 'name', id: 'site@1.0', prev: null, manifest: ADDRESS }
const key = (byte: number, length = 32) => toBase64url(new Uint8Array(length).fill(byte))
const SIGNER = { id: 'anna', algo: 'ed25519', key: key(1) }
const SET = { kind: 'signer_set', id: 'root', prev: null, m: 1, signers: [SIGNER] }
const NODE = { kind: 'node', id: 'n1', prev: null, identity_key: key(1), addrs: ['/ip4/192.0.2.1'], region: 'eu' }
const utf8 = (text: string) => new TextEncoder().encode(text)

type Refused = readonly [what: string, attempt: () => unknown, says: RegExp]

const item = (what: string, value: JsonValue, says: RegExp): Refused => [what, () => parseItem(value), says]
const payload = (what: string, value: JsonValue, says: RegExp): Refused => [what, () => parsePayload(value), says]
const roots = (what: string, value: JsonValue, says: RegExp): Refused => [
  what,
  () => parseTrustRoots(utf8(JSON.stringify(value))),
  says,
]

const REFUSED: readonly Refused[] = [
  item('not an object', [NAME], /must be a JSON object/),
  item('unknown kind', { ...NAME, kind: 'alias' }, /of the kind name, service, .*; this one is "alias"/),
  item('a kind from the prototype', { ...NAME, kind: 'constructor' }, /this one is "constructor"/),
  item('unknown field', { ...NAME, owner: 'me' }, /The item name site@1.0 has the unknown field "owner"/),
  item('no id', { kind: 'name', prev: null, owner: 'me' }, /^This name item has the unknown field "owner"/),
  item('missing field', { kind: 'name', id: 'a@1', prev: null }, /lacks the field "manifest"/),
  item('no prev', { kind: 'name', id: 'a@1', manifest: ADDRESS }, /lacks the field "prev"/),
  item('prev not an address', { ...NAME, prev: 'b3:xyz' }, /"prev" is refused: This is not an address/),
  item('no version in the name', { ...NAME, id: 'site' }, /"id" must be a name such as site@1.0/),
  item('upper case', { ...NAME, id: 'Site@1' }, /must be a name/),
  item('a leading dot', { ...NAME, id: '.site@1' }, /must be a name/),
  item('two @', { ...NAME, id: 'a@b@c' }, /must be a name/),
  item('129 characters', { ...NAME, id: `${'a'.repeat(127)}@1` }, /at most 128/),
  item('an address in capitals', { ...NAME, manifest: ADDRESS.toUpperCase() }, /the prefix must be lowercase/),
  item('a media type with a line break', { ...NAME, type: 'text/html\r\nx' }, /"type" must be 1 to 255 printable/),
  item('deleted: false', { ...NAME, deleted: false }, /unknown field "manifest"/),
  item('deleted must be true', { kind: 'name', id: 'a@1', prev: ADDRESS, deleted: 1 }, /must be true/),
  item('removal of nothing', { kind: 'name', id: 'a@1', prev: null, deleted: true }, /"prev" must be an address/),
  item('removal of the signers', { kind: 'signer_set', id: 'root', prev: ADDRESS, deleted: true }, /never removed/),
  item('another signer set', { ...SET, id: 'mine' }, /there is one signer set/),
  item('a script as endpoint', { kind: 'service', id: 's', prev: null, endpoint: 'javascript:1' }, /http or https URL/),
  item('a URL with a user', { kind: 'service', id: 's', prev: null, endpoint: 'http://me@host/' }, /without user/),
  item(
    'a relative route',
    { kind: 'upstream', id: 'u', prev: null, route: 'x', url: 'http://h' },
    /beginning with "\/"/,
  ),
  item('a node key of another length', { ...NODE, identity_key: key(1, 31) }, /base64url of 32 bytes/),
  item('17 addresses', { ...NODE, addrs: Array.from({ length: 17 }, () => '/x') }, /list of 0 to 16/),
  item('an address with a space', { ...NODE, addrs: ['/ip4/1 2'] }, /"addrs" has an entry that is not/),
  item('a title with a line break', { kind: 'region', id: 'eu', prev: null, title: 'a\nb' }, /without control/),
  payload('no items', { items: [] }, /"items" must be a list of 1 to 1024 entries/),
  payload('1025 items', { items: Array.from({ length: 1025 }, () => NAME) }, /1 to 1024/),
  payload('one item twice', { items: [NAME, NAME] }, /changes name site@1.0 twice/),
  payload('signers beside others', { items: [SET, NAME] }, /the only item of its proposal/),
  payload('unknown field', { items: [NAME], version: 1 }, /unknown field "version"/),
  payload('a note too long', { items: [NAME], note: 'x'.repeat(257) }, /"note" must be 1 to 256/),
  roots('no signers', { m: 1, signers: [] }, /list of 1 to 32/),
  roots('33 signers', { m: 1, signers: Array.from({ length: 33 }, () => SIGNER) }, /list of 1 to 32/),
  roots('m of 0', { m: 0, signers: [SIGNER] }, /"m" must be a whole number from 1 to 1/),
  roots('m above n', { m: 2, signers: [SIGNER] }, /^2 of 1 cannot be: /),
  roots('one id twice', { m: 1, signers: [SIGNER, { ...SIGNER, key: key(2) }] }, /the signer anna twice/),
  roots('one key twice', { m: 1, signers: [SIGNER, { ...SIGNER, id: 'bert' }] }, /anna and bert have one key/),
  roots('another algorithm', { m: 1, signers: [{ ...SIGNER, algo: 'rsa' }] }, /"ed25519" or "ml-dsa-44"/),
  roots("a key of the other algorithm's length", { m: 1, signers: [{ ...SIGNER, algo: 'ml-dsa-44' }] }, /1312 bytes/),
  roots('a key with padding', { m: 1, signers: [{ ...SIGNER, key: `${key(1)}=` }] }, /unpadded base64url/),
  roots('an unknown field', { m: 1, n: 1, signers: [SIGNER] }, /unknown field "n"/),
  ['a field twice', () => decodeBody(utf8('{"payload":1,"payload":2}'), 'json'), /given twice/],
  ['a fraction', () => decodeBody(utf8('{"a":1.5}'), 'json'), /only plain integers/],
  ['a fraction in CBOR', () => decodeBody(encodeCbor({ a: 1.5 }), 'cbor'), /only integers/],
  ['bytes in CBOR', () => decodeBody(encodeCbor({ a: new Uint8Array(2) }), 'cbor'), /that JSON has not/],
  ['CBOR keys out of order', () => decodeBody(Uint8Array.of(0xa2, 0x61, 0x62, 1, 0x61, 0x61, 1), 'cbor'), /canonical/],
  [
    'another payload_b3',
    () => parseProposalRequest({ payload: { items: [NAME] }, payload_b3: ADDRESS }),
    /The payload is b3:[0-9a-f]{64}, not b3:a+/,
  ],
  ['an algorithm beside', () => parseApprovalRequest({ signer_id: 'a', sig: key(1, 64), algo: 'x' }), /field "algo"/],
  ['a signature of 63 bytes', () => parseApprovalRequest({ signer_id: 'a', sig: key(1, 63) }), /64 or 2420 bytes/],
  ['a signer without id', () => parseApprovalRequest({ signer_id: '', sig: key(1, 64) }), /"signer_id" must be/],
  ['a supersede without reason', () => supersede({ of: ADDRESS }), /lacks the field "reason"/],
  ['a chain by another name', () => parseAuditHead({ head: ADDRESS, count: 1, chain: 'ours' }), /32 hexadecimal/],
  ['a negative audit count', () => parseAuditHead({ head: ADDRESS, count: -1 }), /whole number from 0/],
]

const supersede = (value: JsonValue) => parseProposalRequest({ payload: { items: [NAME] }, supersede: value })

test('what is not well formed is refused as malformed, with a sentence that says what is wrong', async (t) => {
  for (const [what, attempt, says] of REFUSED) {
    await t.test(what, () => {
      assert.throws(
        attempt,
        (error) => isKind(error, 'Malformed') && says.test(error.message) && error.message.endsWith('.'),
      )
    })
  }
})

test('well-formed items of every kind are read as they stand', () => {
  const items: JsonValue[] = [
    { ...NAME, type: 'text/html' },
    { kind: 'name', id: 'site@1.0', prev: ADDRESS, deleted: true },
    { kind: 'service', id: 'svc:alpha', prev: ADDRESS, endpoint: 'https://alpha.example/x?y', title: 'Alpha' },
    NODE,
    { kind: 'region', id: 'eu-west', prev: null },
    { kind: 'upstream', id: 'maps', prev: null, route: '/tiles', url: 'http://[::1]:80' },
    { ...SET, m: 2, signers: [SIGNER, { id: 'org:realm#key-1', algo: 'ml-dsa-44', key: key(2, 1312) }] },
  ]
  for (const value of items) assert.deepEqual(parseItem(value), value)
})

test('a name of exactly 128 characters is the longest', () => {
  const longest = `${'a'.repeat(126)}@1`
  assert.equal(parseName(longest), longest)
  assert.throws(() => parseName(`a${longest}`), /at most 128/)
})
