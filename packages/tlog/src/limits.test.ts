/** The largest of everything is accepted, and the first thing beyond it is refused. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { makeKeyPair, verifier } from '../test/keys.ts'
import {
  decodeMapProof,
  encodeCheckpoint,
  encodeMapProof,
  encodeNote,
  Frontier,
  leafHash,
  MAX_NOTE_BYTES,
  MerkleMap,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  parseSignatureLines,
  signNote,
  TileWriter,
  tileHashReader,
  tilePath,
  verifyInclusion,
  verifyMapProof,
  verifyNote,
} from './index.ts'
import {
  encodeEntryBundle,
  encodeLogProof,
  type LogTrust,
  type Note,
  nodeHash,
  parseLogProof,
  subtreeConsistencyProof,
  verifySubtreeConsistency,
  verifySubtreeInclusion,
} from './testing.ts'

const refused = { kind: 'Malformed' }
const untrusted = { kind: 'Integrity' }

const hash = leafHash(new Uint8Array(3))
const short = hash.subarray(1)
const long = new Uint8Array([...hash, 0])
const log = makeKeyPair('example.com/log', 'ed25519')
const LINE = `— example.com/log ${Buffer.alloc(68).toString('base64')}\n`
const noSizes = [-1, 1.5, Number.NaN, 2 ** 53]

/** A note of exactly so many bytes. */
function noteOf(bytes: number): Uint8Array {
  const rest = Buffer.from(`\n\n${LINE}`)
  return Buffer.concat([Buffer.alloc(bytes - rest.length, 'a'), rest])
}

describe('hashes', () => {
  test('of a leaf and of a node are those of RFC 6962', () => {
    const sha256 = (...parts: Uint8Array[]) =>
      new Uint8Array(createHash('sha256').update(Buffer.concat(parts)).digest())
    const entry = Buffer.from('an entry')
    assert.deepEqual(leafHash(entry), sha256(Uint8Array.of(0), entry))
    assert.deepEqual(nodeHash(hash, leafHash(entry)), sha256(Uint8Array.of(1), hash, leafHash(entry)))
  })

  test('of another length are refused wherever they come in', () => {
    const proof = { siblings: [], end: { kind: 'empty' } } as const
    const frontier = new Frontier(1, [hash])
    for (const wrong of [short, long]) {
      assert.throws(() => nodeHash(wrong, hash), refused)
      assert.throws(() => nodeHash(hash, wrong), refused)
      assert.throws(() => new Frontier(1, [wrong]), refused)
      assert.throws(() => frontier.append(wrong), refused)
      assert.throws(() => verifyMapProof(hash, wrong, proof), refused)
      assert.throws(() => encodeMapProof({ ...proof, siblings: [wrong] }), refused)
      assert.throws(() => MerkleMap.EMPTY.delete(wrong), refused)
      assert.throws(() => MerkleMap.EMPTY.prove(wrong), refused)
      assert.throws(() => verifyInclusion({ index: 0, size: 1, leaf: hash, root: wrong, proof: [] }), untrusted)
    }
  })
})

describe('sizes', () => {
  test('that are no whole number from 0 to 2^53 − 1 are refused before anything is read', async () => {
    const read = (): never => assert.fail('nothing is to be read')
    for (const size of noSizes) {
      await assert.rejects(Frontier.read(size, read), refused)
      await assert.rejects(subtreeConsistencyProof({ start: 0, end: 1 }, size, read), refused)
      await assert.rejects(subtreeConsistencyProof({ start: size, end: size }, 8, read), refused)
      assert.throws(() => tileHashReader(size, read), refused)
      assert.throws(() => tilePath({ level: 0, index: size, width: 1 }), refused)
      assert.throws(() => encodeLogProof({ index: size, proof: [], checkpoint: noteOf(1000) }), refused)
      assert.throws(() => encodeCheckpoint({ origin: 'a', size, root: hash, extensions: [] }), refused)
    }
  })

  test('end at 2^53 − 1: a leaf more is refused', () => {
    const full = new Frontier(2 ** 53 - 1, new Array<Uint8Array>(53).fill(hash))
    assert.throws(() => full.append(hash), refused)
    assert.equal(full.size, 2 ** 53 - 1)
  })

  test('levels and widths of a tile have their own', () => {
    for (const level of [-1, 1.5, 64]) assert.throws(() => tilePath({ level, index: 0, width: 1 }), refused)
    for (const width of [0, 1.5, 257]) assert.throws(() => tilePath({ level: 0, index: 0, width }), refused)
  })
})

describe('subtrees', () => {
  test('that end before they start, or start where no subtree does, are refused', async () => {
    const read = (): never => assert.fail('nothing is to be read')
    const claim = { size: 8, subtreeRoot: hash, root: hash, proof: [] }
    for (const range of [
      { start: 4, end: 2 },
      { start: 1, end: 3 },
      { start: -4, end: 0 },
      { start: 0, end: 1.5 },
      { start: 8, end: 9 },
    ]) {
      await assert.rejects(subtreeConsistencyProof(range, 8, read), refused)
      assert.throws(() => verifySubtreeConsistency({ ...range, ...claim }), refused)
    }
    const leaf = { leaf: hash, root: hash, proof: [hash] }
    assert.throws(() => verifySubtreeInclusion({ index: 1, start: 1, end: 3, ...leaf }), refused)
    assert.throws(() => verifySubtreeInclusion({ index: 1, start: 2, end: 4, ...leaf }), refused)
  })

  test('without a leaf need no hash to be part of a tree', async () => {
    const read = (): never => assert.fail('nothing is to be read')
    for (const start of [0, 3, 8]) assert.deepEqual(await subtreeConsistencyProof({ start, end: start }, 8, read), [])
  })
})

describe('frontiers', () => {
  test('are read back from their bytes, not from fewer or more', () => {
    const bytes = new Frontier(1, [hash]).encode()
    assert.equal(Frontier.decode(new Frontier().encode()).size, 0)
    assert.deepEqual(Frontier.decode(bytes).root(), hash)
    for (const wrong of [bytes.subarray(0, 7), bytes.subarray(0, 39), new Uint8Array([...bytes, 0])])
      assert.throws(() => Frontier.decode(wrong), refused)
  })
})

describe('bundles and map proofs', () => {
  test('hold 256 entries and 256 siblings, and no more', () => {
    const bundleOf = (length: number) => encodeEntryBundle(Array.from({ length }, () => new Uint8Array(0)))
    assert.equal(bundleOf(256).length, 512)
    assert.throws(() => bundleOf(257), refused)
    const proof = { siblings: new Array<Uint8Array>(256).fill(hash), end: { kind: 'empty' } } as const
    assert.deepEqual(decodeMapProof(encodeMapProof(proof)), proof)
    const deeper = { ...proof, siblings: [...proof.siblings, hash] }
    assert.throws(() => encodeMapProof(deeper), refused)
    assert.throws(() => verifyMapProof(hash, hash, deeper), untrusted)
  })
})

describe('notes', () => {
  test('have at most 128 KiB, signature lines by themselves as well', () => {
    assert.equal(parseNote(noteOf(MAX_NOTE_BYTES)).signatures.length, 1)
    assert.throws(() => parseNote(noteOf(MAX_NOTE_BYTES + 1)), refused)
    const signer = log.signer()
    assert.throws(() => signNote(`${'a'.repeat(MAX_NOTE_BYTES)}\n`, [signer]), refused)
    assert.equal(signNote(`${'a'.repeat(MAX_NOTE_BYTES - 1)}\n`, [signer]).signatures.length, 1)
    const lineOf = (length: number) => `— name ${'A'.repeat(length - 8)}\n`
    assert.equal(parseSignatureLines(lineOf(MAX_NOTE_BYTES)).length, 1)
    assert.throws(() => parseSignatureLines(lineOf(MAX_NOTE_BYTES + 4)), refused)
  })

  test('that are not UTF-8 are refused, and the error says why', () => {
    const isCaused = (error: unknown): boolean => error instanceof CairnError && error.cause instanceof TypeError
    assert.throws(() => parseNote(Uint8Array.of(0xff)), isCaused)
  })

  test('without an empty line before the signatures are refused, whatever stands before the line', () => {
    assert.throws(() => parseNote(Buffer.from(`x${LINE}`)), refused)
  })

  test('are not written when they would read back as something else', () => {
    const [line] = parseSignatureLines(LINE)
    assert.ok(line)
    const note: Note = { text: 'a\n', signatures: [line] }
    assert.deepEqual(parseNote(encodeNote(note)), note)
    assert.throws(() => encodeNote({ ...note, text: `a\n\n${LINE.trimEnd()}` }), refused)
    assert.throws(() => encodeNote({ ...note, signatures: [] }), refused)
    assert.throws(() => encodeNote({ ...note, signatures: [{ ...line, signature: new Uint8Array(0) }] }), refused)
  })

  test('count each name and each of its keys once', () => {
    const other = makeKeyPair(log.key.name, 'ed25519')
    const alias = { ...log.key, name: 'example.com/alias' }
    const text = 'a\n'
    const note = signNote(text, [log.signer(), other.signer(), { ...log.signer(), name: alias.name }])
    const verified = verifyNote(note, [log.key, other.key, alias, log.key], verifier)
    assert.deepEqual(
      verified.map(({ key }) => key),
      [log.key, other.key, alias],
    )
  })
})

describe('checkpoints', () => {
  const checkpoint = { origin: log.key.name, size: 1, root: hash, extensions: [] }

  test('have three lines or more, and an origin of up to 255 bytes', () => {
    const origin = 'a'.repeat(255)
    assert.equal(parseCheckpoint(encodeCheckpoint({ ...checkpoint, origin })).origin, origin)
    assert.throws(() => encodeCheckpoint({ ...checkpoint, origin: `${origin}a` }), refused)
    for (const text of ['\n', 'a\n', 'a\n1\n']) assert.throws(() => parseCheckpoint(text), refused)
  })

  test('with nothing but what an ML-DSA-44 signature covers are opened by it, with lines beyond they are not', () => {
    const quantum = makeKeyPair(log.key.name, 'ml-dsa-44-cosignature')
    const trust: LogTrust = { origin: log.key.name, logKeys: [quantum.key], cosignerKeys: [] }
    const signed = (extensions: string[]) =>
      encodeNote(signNote(encodeCheckpoint({ ...checkpoint, extensions }), [quantum.signer(1)]))
    const opened = openCheckpoint(signed([]), trust, verifier)
    assert.equal(opened.checkpoint.size, 1)
    assert.deepEqual(opened.logSignatures, [{ key: quantum.key, timestamp: 1 }])
    assert.throws(() => openCheckpoint(signed(['more']), trust, verifier), untrusted)
  })

  test('ignore a line that has the key id of a cosigner and another name', () => {
    const cosigner = makeKeyPair('witness.example/w1', 'ed25519-cosignature')
    const trust: LogTrust = { origin: log.key.name, logKeys: [log.key], cosignerKeys: [cosigner.key] }
    const note = signNote(encodeCheckpoint(checkpoint), [log.signer(), { ...cosigner.signer(1), name: 'else.example' }])
    assert.deepEqual(openCheckpoint(encodeNote(note), trust, verifier).cosignatures, [])
  })
})

describe('proof files', () => {
  test('hold 53 hashes and 65 535 bytes of extra data beside the largest index, and no more', () => {
    const hashes = new Array<Uint8Array>(53).fill(hash)
    const proof = {
      extra: new Uint8Array(65_535),
      index: 2 ** 53 - 1,
      proof: hashes,
      checkpoint: noteOf(MAX_NOTE_BYTES),
    }
    assert.deepEqual(parseLogProof(encodeLogProof(proof)).proof, hashes)
    assert.throws(() => encodeLogProof({ ...proof, proof: [...hashes, hash] }), refused)
    assert.throws(() => encodeLogProof({ ...proof, extra: new Uint8Array(65_536) }), refused)
    const text = Buffer.from(encodeLogProof(proof)).toString()
    const line = `${Buffer.from(hash).toString('base64')}\n`
    assert.throws(() => parseLogProof(Buffer.from(text.replace(line, line + line))), refused)
  })
})

describe('tiles', () => {
  test('that one leaf makes full come lowest level first', async () => {
    const writer = await TileWriter.resume(256 ** 2 - 1, () => hash)
    const levels = writer.append(hash).map(({ tile }) => [tile.level, tile.index, tile.width])
    assert.deepEqual(levels, [
      [0, 255, 256],
      [1, 0, 256],
    ])
  })

  test('may be read from afar', async () => {
    const read = tileHashReader(2, async () => new Uint8Array([...hash, ...hash]))
    assert.deepEqual(await read(1, 0), nodeHash(hash, hash))
  })
})
