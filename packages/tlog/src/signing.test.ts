import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { makeKeyPair, verifier } from '../test/keys.ts'
import {
  type Checkpoint,
  encodeCheckpoint,
  encodeNote,
  leafHash,
  openCheckpoint,
  parseCheckpoint,
  parseVerifierKey,
  signNote,
  verifyNote,
} from './index.ts'
import { type LogTrust, type Note } from './testing.ts'

const refused = { kind: 'Malformed' }
const untrusted = { kind: 'Integrity' }

const ORIGIN = 'example.com/behind-the-sofa'
const log = makeKeyPair(ORIGIN, 'ed25519')
const witness = makeKeyPair('witness.example.com/w1', 'ed25519-cosignature')
const quantum = makeKeyPair('witness.example.com/pq', 'ml-dsa-44-cosignature')
const stranger = makeKeyPair('witness.example.com/w1', 'ed25519-cosignature')

const checkpoint: Checkpoint = {
  origin: ORIGIN,
  size: 20_852_163,
  root: leafHash(Buffer.from('a root')),
  extensions: [],
}
const text = encodeCheckpoint(checkpoint)
const trust: LogTrust = { origin: ORIGIN, logKeys: [log.key], cosignerKeys: [witness.key, quantum.key] }

function replaced(note: Note, name: string, signature: Uint8Array): Note {
  return { ...note, signatures: note.signatures.map((line) => (line.name === name ? { ...line, signature } : line)) }
}

describe('checkpoints', () => {
  test('are three lines, and read back', () => {
    assert.equal(text, `${ORIGIN}\n20852163\n${Buffer.from(checkpoint.root).toString('base64')}\n`)
    assert.deepEqual(parseCheckpoint(text), checkpoint)
    const extended = { ...checkpoint, size: 0, extensions: ['one', 'two words'] }
    assert.deepEqual(parseCheckpoint(encodeCheckpoint(extended)), extended)
  })

  test('in any other form are refused', () => {
    const root = Buffer.from(checkpoint.root).toString('base64')
    const bad = [
      '',
      '\n',
      `o\n1\n${root}`,
      `o\n1\n${root}x`,
      `o\n1\n`,
      `\n1\n${root}\n`,
      `o\n01\n${root}\n`,
      `o\n-1\n${root}\n`,
      `o\n1 \n${root}\n`,
      `o\n9007199254740992\n${root}\n`,
      `o\n1\n${root.replace('=', '')}\n`,
      `o\n1\n${Buffer.alloc(31).toString('base64')}\n`,
      `o\n1\n${Buffer.alloc(33).toString('base64')}\n`,
      `o\n1\n${root}\n\n`,
      `o\n1\n${root}\n\nextension\n`,
      `${'o'.repeat(256)}\n1\n${root}\n`,
    ]
    for (const wrong of bad) assert.throws(() => parseCheckpoint(wrong), refused, JSON.stringify(wrong))
    assert.throws(() => encodeCheckpoint({ ...checkpoint, origin: 'a\nb' }), refused)
    assert.throws(() => encodeCheckpoint({ ...checkpoint, origin: '' }), refused)
    assert.throws(() => encodeCheckpoint({ ...checkpoint, extensions: ['a\nb'] }), refused)
    assert.throws(() => encodeCheckpoint({ ...checkpoint, extensions: ['a\u0000'] }), refused)
    assert.throws(() => encodeCheckpoint({ ...checkpoint, size: -1 }), refused)
  })
})

describe('a published checkpoint of the Go checksum database', () => {
  test('opens with its key', () => {
    const key = parseVerifierKey('sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8')
    const bytes = Buffer.from(
      'go.sum database tree\n35225469\nvt5T6GaLCXvyHFl9VUvvItR43XZxfLgftEcTyO3eJCQ=\n\n— sum.golang.org Az3grpukl5AXaVfYkLiDGORx/DN2nlcS5kZHR5uYOBV2KA2HgXpD+gu9HHONebHLAyaKbbTM75QTtPydhKCExixSfwQ=\n',
    )
    const opened = openCheckpoint(bytes, { origin: 'go.sum database tree', logKeys: [key], cosignerKeys: [] }, verifier)
    assert.equal(opened.checkpoint.size, 35_225_469)
  })
})

describe('cosignatures', () => {
  test('with Ed25519 sign the header, the time and the whole text, the time before the signature', () => {
    const [line] = signNote(text, [witness.signer(1_679_315_147)]).signatures
    const message = Buffer.from(`cosignature/v1\ntime 1679315147\n${text}`)
    const expected = Buffer.concat([Buffer.from('00000000641850cb', 'hex'), sign(null, message, witness.privateKey)])
    assert.deepEqual(line?.signature, new Uint8Array(expected))
  })

  test('with ML-DSA-44 sign the names, the time, the size and the root', () => {
    const name = quantum.key.name
    const message = Buffer.concat([
      Buffer.from('subtree/v1\n\0'),
      Uint8Array.of(name.length),
      Buffer.from(name),
      Buffer.from('00000000641850cb', 'hex'),
      Uint8Array.of(ORIGIN.length),
      Buffer.from(ORIGIN),
      Buffer.from('0000000000000000', 'hex'),
      Buffer.from('00000000013e2dc3', 'hex'),
      checkpoint.root,
    ])
    const signature = Buffer.concat([Buffer.from('00000000641850cb', 'hex'), sign(null, message, quantum.privateKey)])
    const line = { name, keyId: quantum.key.keyId, signature: new Uint8Array(signature) }
    const verified = verifyNote({ text, signatures: [line] }, [quantum.key], verifier)
    assert.deepEqual(verified, [{ key: quantum.key, timestamp: 1_679_315_147 }])
  })

  test('that state no time have none, and an ML-DSA-44 one needs a checkpoint to sign', () => {
    const [verified] = verifyNote(signNote(text, [quantum.signer()]), [quantum.key], verifier)
    assert.equal(verified?.timestamp, undefined)
    assert.throws(() => signNote('no checkpoint\n', [quantum.signer()]), refused)
    assert.throws(() => signNote('no newline', [log.signer()]), refused)
    assert.throws(() => signNote(text, [witness.signer(-1)]), refused)
    assert.throws(() => signNote(text, [witness.signer(1.5)]), refused)
  })

  test('with another time than was signed do not verify, nor with one past 2^53 − 1', () => {
    for (const pair of [witness, quantum]) {
      const note = signNote(text, [pair.signer(1000)])
      const [line] = note.signatures
      assert.ok(line !== undefined)
      const later = line.signature.slice()
      later[7] = 0xff
      assert.throws(() => verifyNote(replaced(note, pair.key.name, later), [pair.key], verifier), untrusted)
      const far = line.signature.slice()
      far[0] = 0x80
      assert.throws(() => verifyNote(replaced(note, pair.key.name, far), [pair.key], verifier), untrusted)
    }
  })
})

describe('verifyNote', () => {
  const note = signNote(text, [log.signer(), witness.signer(1000), quantum.signer(2000)])

  test('gives every known key that signed, and ignores the others', () => {
    const found = verifyNote(note, [log.key, witness.key, quantum.key], verifier)
    assert.deepEqual(
      found.map(({ key, timestamp }) => [key.name, timestamp]),
      [
        [log.key.name, undefined],
        [witness.key.name, 1000],
        [quantum.key.name, 2000],
      ],
    )
    assert.equal(verifyNote(note, [log.key, stranger.key], verifier).length, 1)
  })

  test('refuses a note without a known key, and all of a note with one bad signature of a known key', () => {
    assert.throws(() => verifyNote(note, [], verifier), untrusted)
    assert.throws(() => verifyNote(note, [stranger.key], verifier), untrusted)
    for (const { key } of [log, witness, quantum]) {
      const line = note.signatures.find(({ name }) => name === key.name)
      assert.ok(line !== undefined)
      const changed = line.signature.with(20, (line.signature[20] ?? 0) ^ 1)
      for (const signature of [changed, line.signature.slice(1), line.signature.slice(0, 3)]) {
        const broken = replaced(note, key.name, signature)
        assert.throws(() => verifyNote(broken, [log.key, witness.key, quantum.key], verifier), untrusted, key.name)
      }
    }
  })

  test('counts a key once however often it signed or is named, at its latest time', () => {
    const again = signNote(text, [witness.signer(3000), witness.signer(10)], note.signatures)
    const found = verifyNote(again, [witness.key, witness.key], verifier)
    assert.deepEqual(found, [{ key: witness.key, timestamp: 3000 }])
  })

  test('does not take a signature of one type for one of another by the same key', () => {
    const plain = { ...witness.key, type: 'ed25519' as const }
    assert.throws(() => verifyNote(note, [plain], verifier), untrusted)
  })
})

describe('openCheckpoint', () => {
  const bytes = encodeNote(signNote(text, [log.signer(), witness.signer(1000), quantum.signer(2000)]))

  test('gives the checkpoint, who of the log signed it and who cosigned', () => {
    const opened = openCheckpoint(bytes, trust, verifier)
    assert.deepEqual(opened.checkpoint, checkpoint)
    assert.deepEqual(
      opened.logSignatures.map(({ key }) => key),
      [log.key],
    )
    assert.deepEqual(
      opened.cosignatures.map(({ key }) => key),
      [witness.key, quantum.key],
    )
    assert.deepEqual(openCheckpoint(bytes, { ...trust, cosignerKeys: [] }, verifier).cosignatures, [])
    assert.deepEqual(openCheckpoint(bytes, { ...trust, cosignerKeys: [stranger.key] }, verifier).cosignatures, [])
  })

  test('refuses another log, a log that did not sign, and a bad cosignature of a known cosigner', () => {
    assert.throws(() => openCheckpoint(bytes, { ...trust, origin: 'example.com/other' }, verifier), untrusted)
    assert.throws(() => openCheckpoint(bytes, { ...trust, logKeys: [stranger.key] }, verifier), untrusted)
    const cosignedOnly = encodeNote(signNote(text, [witness.signer(1)]))
    assert.throws(() => openCheckpoint(cosignedOnly, trust, verifier), untrusted)
    const forged = replaced(signNote(text, [log.signer(), witness.signer(1)]), witness.key.name, new Uint8Array(72))
    assert.throws(() => openCheckpoint(encodeNote(forged), trust, verifier), untrusted)
  })

  test('refuses extension lines that only an ML-DSA-44 key of the log has signed, since it does not cover them', () => {
    const extended = encodeCheckpoint({ ...checkpoint, extensions: ['forged'] })
    const [line] = signNote(text, [quantum.signer(1)]).signatures
    assert.ok(line !== undefined)
    const quantumLog = { ...trust, logKeys: [quantum.key, log.key] }
    const moved = encodeNote({ text: extended, signatures: [line] })
    assert.throws(() => openCheckpoint(moved, quantumLog, verifier), untrusted)
    const covered = encodeNote(signNote(extended, [log.signer()], [line]))
    assert.deepEqual(openCheckpoint(covered, quantumLog, verifier).checkpoint.extensions, ['forged'])
  })
})
