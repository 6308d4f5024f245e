/** What a log and its readers say to one another. */
import assert from 'node:assert/strict'
import {
  decodeBody,
  decodeLeaf,
  encodeLeaf,
  encodePin,
  encodeProof,
  encodeTrust,
  parseApprovalRequest,
  parseArtifact,
  parseName,
  parsePayload,
  parsePin,
  parseProof,
  parseProposalRequest,
  parseTrust,
} from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { signRecord, verifyRecord } from '@cairn/routing'
import {
  decodeEntryBundle,
  decodeMapProof,
  encodeCheckpoint,
  encodeEntryBundle,
  encodeLogProof,
  encodeMapProof,
  encodeNote,
  formatVerifierKey,
  noteSigner,
  parseCheckpoint,
  parseLogProof,
  parseNote,
  parseTilePath,
  parseVerifierKey,
  signNote,
  tilePath,
  verifierKey,
  verifyNote,
} from '@cairn/tlog'
import { parseAddress, parseJson } from '@cairn/wire'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf, textOf } from '../inputs.ts'

const SEED = new Uint8Array(32).fill(3)
const KEY = verifierKey('log.example/x', 'ed25519', systemCrypto.ed25519PublicKey(SEED))
const TEXT = encodeCheckpoint({ origin: 'log.example/x', size: 7, root: new Uint8Array(32).fill(1), extensions: [] })
const NOTE = encodeNote(signNote(TEXT, [noteSigner(KEY, systemCrypto.ed25519Signer(SEED))]))

const note: FuzzTarget = {
  name: 'signed-note',
  covers: [
    'packages/tlog/src/note.ts',
    'packages/tlog/src/checkpoint.ts',
    'packages/tlog/src/signing.ts',
    'packages/tlog/src/verifier-key.ts',
  ],
  seeds: [NOTE, bytesOf(formatVerifierKey(KEY)), bytesOf(TEXT)],
  words: ['\n\n', '— ', '\n', '+', '=', 'log.example/x', '\u0000'],
  bytesMax: 1500,
  run: (input) => {
    const text = new TextDecoder().decode(input)
    const key = attempt(() => parseVerifierKey(text))
    if (key !== undefined) assert.equal(formatVerifierKey(key), text)
    const checkpoint = attempt(() => parseCheckpoint(text))
    if (checkpoint !== undefined) assert.equal(encodeCheckpoint(checkpoint), text)
    const parsed = parseNote(input)
    assert.deepEqual(encodeNote(parsed), input)
    const verified = attempt(() => verifyNote(parsed, [KEY], systemCrypto))
    if (verified !== undefined) assert.equal(parsed.text, TEXT, 'a text nobody signed is signed')
  },
}

const tiles: FuzzTarget = {
  name: 'tiles',
  covers: ['packages/tlog/src/tile.ts', 'packages/tlog/src/entry-bundle.ts', 'packages/tlog/src/map-proof.ts'],
  seeds: [
    bytesOf('tile/0/x001/234.p/5'),
    bytesOf('tile/entries/067'),
    encodeEntryBundle([bytesOf('one'), bytesOf('two')]),
    encodeMapProof({ siblings: [], end: { kind: 'empty' } }),
  ],
  words: ['tile/', 'entries/', 'x001/', '.p/', '000', '256', '\u0000\u0003'],
  bytesMax: 1500,
  run: (input) => {
    const text = textOf(input)
    const tile = attempt(() => parseTilePath(text))
    if (tile !== undefined) assert.equal(tilePath(tile), text)
    for (const width of [1, 2, 256]) {
      const entries = attempt(() => decodeEntryBundle(input, width))
      if (entries !== undefined) assert.deepEqual(encodeEntryBundle(entries), input)
    }
    const proof = attempt(() => decodeMapProof(input))
    if (proof !== undefined) assert.deepEqual(encodeMapProof(proof), input)
  },
}

const LOG_PROOF = encodeLogProof({
  index: 3,
  proof: [new Uint8Array(32).fill(2)],
  checkpoint: NOTE,
})

const proofs: FuzzTarget = {
  name: 'proofs',
  covers: [
    'packages/tlog/src/proof-file.ts',
    'packages/names/src/proof.ts',
    'packages/names/src/trust.ts',
    'packages/names/src/leaf.ts',
  ],
  seeds: [
    LOG_PROOF,
    bytesOf('{"genesis":"b3:","log_keys":[],"origin":"o","v":1}'),
    bytesOf('{"type":"proposal","head":{"version":1,"hash":"b3:"}}'),
  ],
  words: ['c2sp.org/tlog-proof@v1\n', 'index ', '\n', '"v":1', '"origin":', '"type":"commit"', '"genesis":'],
  bytesMax: 3000,
  run: (input) => {
    const log = attempt(() => parseLogProof(input))
    if (log !== undefined) assert.deepEqual(encodeLogProof(log), input)
    const proof = attempt(() => parseProof(input))
    if (proof !== undefined) assert.deepEqual(encodeProof(proof), input)
    const trust = attempt(() => parseTrust(input))
    if (trust !== undefined) assert.deepEqual(parseTrust(encodeTrust(trust)), trust)
    const pin = attempt(() => parsePin(input))
    if (pin !== undefined) assert.deepEqual(parsePin(encodePin(pin)), pin)
    const leaf = attempt(() => decodeLeaf(input))
    if (leaf !== undefined) assert.deepEqual(encodeLeaf(leaf), input)
  },
}

const requests: FuzzTarget = {
  name: 'registry-requests',
  covers: ['packages/names/src/'],
  seeds: [
    bytesOf(`{"payload":{"items":[{"kind":"name","id":"site@1.0","prev":null,"manifest":"b3:${'0'.repeat(64)}"}]}}`),
    bytesOf('{"signer_id":"alice","sig":"AAAA","signed_at":1}'),
    bytesOf('{"items":[{"kind":"signer_set","id":"root","prev":null,"m":1,"signers":[]}]}'),
    bytesOf('site@1.0'),
  ],
  words: ['"kind":"name"', '"deleted":true', '"prev":null', '"supersede":', '@', '"m":', '"signers":[', '"note":""'],
  bytesMax: 2000,
  run: (input) => {
    attempt(() => parseName(textOf(input)))
    for (const format of ['json', 'cbor'] as const) attempt(() => parseProposalRequest(decodeBody(input, format)))
    const value = parseJson(input)
    for (const read of [parsePayload, parseProposalRequest, parseArtifact, parseApprovalRequest] as const)
      attempt(() => read(value))
  },
}

const RECORD = signRecord(systemCrypto, SEED, {
  cid: parseAddress(`b3:${'0'.repeat(64)}`),
  http: ['https://node.example:7071'],
  exp: 1_700_000_000,
  seq: 1,
})

const record: FuzzTarget = {
  name: 'provider-record',
  covers: ['packages/routing/src/record.ts', 'packages/wire/src/peer-id.ts'],
  seeds: [RECORD.bytes],
  words: ['cid', 'exp', 'sig', 'urls', 'publisher', 'region', 'https://'],
  bytesMax: 2000,
  run: (input) => {
    const verified = verifyRecord(systemCrypto, input, { wallMs: 1_699_999_000_000 })
    assert.deepEqual(verified.bytes, RECORD.bytes, 'a record nobody signed counts')
  },
}

export const TARGETS: readonly FuzzTarget[] = [note, tiles, proofs, requests, record]
