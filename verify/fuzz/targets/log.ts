/** What a log says of itself: notes, tiles and what they hold. */
import assert from 'node:assert/strict'
import { systemCrypto } from '@cairn/platform'
import {
  decodeEntryBundle,
  decodeMapProof,
  encodeCheckpoint,
  encodeMapProof,
  encodeNote,
  Frontier,
  formatVerifierKey,
  inclusionProof,
  type MapProof,
  MerkleMap,
  noteSigner,
  parseCheckpoint,
  parseNote,
  parseTilePath,
  parseVerifierKey,
  signNote,
  tileHashReader,
  tilePath,
  verifierKey,
  verifyInclusion,
  verifyMapProof,
  verifyNote,
} from '@cairn/tlog'
import { encodeEntryBundle, type Note } from '@cairn/tlog/testing'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf, textOf } from '../inputs.ts'

const SEED = new Uint8Array(32).fill(4)
const PUBLIC = systemCrypto.ed25519PublicKey(SEED)
const KEYS = [verifierKey('log.example/x', 'ed25519', PUBLIC), verifierKey('w.example', 'ed25519-cosignature', PUBLIC)]
const SIGNERS = KEYS.map((key) => noteSigner(key, systemCrypto.ed25519Signer(SEED), 1_700_000_000))
const TEXT = encodeCheckpoint({ origin: 'log.example/x', size: 7, root: new Uint8Array(32).fill(1), extensions: ['e'] })
const NOTE = encodeNote(signNote(TEXT, SIGNERS))

const note: FuzzTarget = {
  name: 'signed-note',
  covers: ['packages/tlog/src/note.ts', 'packages/tlog/src/signing.ts', 'packages/tlog/src/verifier-key.ts'],
  seeds: [NOTE, ...KEYS.map((key) => bytesOf(formatVerifierKey(key))), bytesOf(TEXT)],
  words: ['\n\n', '— ', '\n', '+', '=', 'log.example/x', 'w.example', '\u0000', '— a AAAAAAA=\n'.repeat(40)],
  bytesMax: 1500,
  run: (input) => {
    const text = new TextDecoder().decode(input)
    const key = attempt(() => parseVerifierKey(text))
    if (key !== undefined) assert.equal(formatVerifierKey(key), text)
    const checkpoint = attempt(() => parseCheckpoint(text))
    if (checkpoint !== undefined) assert.equal(encodeCheckpoint(checkpoint), text)
    const parsed = parseNote(input)
    assert.deepEqual(encodeNote(parsed), input)
    const verified = attempt(() => verifyNote(parsed, KEYS, systemCrypto))
    if (verified !== undefined) assert.equal(parsed.text, TEXT, 'a text nobody signed is signed')
    holdSigned(parsed)
  },
}

/** Signed by our keys beside whatever strangers signed, it verifies, by both, however it is written and read. */
function holdSigned({ text, signatures }: Note): void {
  const strangers = signatures.filter(({ name }) => KEYS.every((key) => key.name !== name))
  const signed = parseNote(encodeNote(signNote(text, SIGNERS, strangers)))
  const verified = verifyNote(signed, [...KEYS, ...KEYS], systemCrypto)
  assert.deepEqual(
    verified.map(({ timestamp }) => timestamp),
    [undefined, 1_700_000_000],
  )
}

const HASH_BYTES = 32
const filled = (byte: number): Uint8Array => new Uint8Array(HASH_BYTES).fill(byte)
const PATHS = [0x00, 0x01, 0x80, 0xc0].map(filled)
const MAP = PATHS.reduce((map, path, at) => map.set(path, filled(at + 1)), MerkleMap.EMPTY)
const ABSENT = [0x02, 0xff].map(filled)

const tiles: FuzzTarget = {
  name: 'tiles',
  covers: ['packages/tlog/src/tile.ts', 'packages/tlog/src/tile.ts', 'packages/tlog/src/merkle-map.ts'],
  seeds: [
    bytesOf('tile/0/x001/234.p/5'),
    bytesOf('tile/entries/067'),
    encodeEntryBundle([bytesOf('one'), bytesOf('two')]),
    encodeMapProof({ siblings: [], end: { kind: 'empty' } }),
    ...[...PATHS, ...ABSENT].map((path) => encodeMapProof(MAP.prove(path))),
  ],
  words: ['tile/', 'entries/', 'x001/', '.p/', '000', '256', '\u0000\u0003'],
  bytesMax: 1500,
  run: async (input) => {
    const text = textOf(input)
    const tile = attempt(() => parseTilePath(text))
    if (tile !== undefined) assert.equal(tilePath(tile), text)
    for (const width of [1, 2, 256]) {
      const entries = attempt(() => decodeEntryBundle(input, width))
      if (entries !== undefined) assert.deepEqual(encodeEntryBundle(entries), input)
    }
    const proof = attempt(() => decodeMapProof(input))
    if (proof !== undefined) holdMapProof(proof, input)
    await holdTile(input)
  },
}

/** It has one spelling, and whatever it shows under the root of the map is so. */
function holdMapProof(proof: MapProof, input: Uint8Array): void {
  assert.deepEqual(encodeMapProof(proof), input)
  for (const path of [...PATHS, ...ABSENT]) {
    const shown = attempt(() => [verifyMapProof(MAP.root, path, proof)])
    if (shown !== undefined) assert.deepEqual(shown[0], MAP.get(path))
  }
}

/** Taken for the hashes of a tile, the bytes prove each of these under their root, and nothing else. */
async function holdTile(input: Uint8Array): Promise<void> {
  const size = Math.floor(input.length / HASH_BYTES)
  if (size === 0) return
  const bytes = input.subarray(0, size * HASH_BYTES)
  const index = (input[0] ?? 0) % size
  const leaf = bytes.slice(index * HASH_BYTES, (index + 1) * HASH_BYTES)
  const frontier = new Frontier()
  for (let at = 0; at < size; at += 1) frontier.append(bytes.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES))
  const root = frontier.root()
  const proof = await inclusionProof(
    index,
    size,
    tileHashReader(size, () => bytes),
  )
  verifyInclusion({ index, size, leaf, root, proof })
  const other = filled(0xee)
  assert.throws(() => verifyInclusion({ index, size, leaf: other, root, proof }), /proof/)
}

export const TARGETS: readonly FuzzTarget[] = [note, tiles]
