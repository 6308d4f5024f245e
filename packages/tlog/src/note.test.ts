import assert from 'node:assert/strict'
import { createHash, createPrivateKey, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { makeKeyPair, verifier } from '../test/keys.ts'
import { readVectors } from '../test/vectors.ts'
import {
  encodeNote,
  formatVerifierKey,
  MAX_NOTE_BYTES,
  noteSigner,
  parseNote,
  parseSignatureLines,
  parseVerifierKey,
  signNote,
  verifierKey,
  verifyNote,
} from './index.ts'
import { MAX_NOTE_SIGNATURES } from './testing.ts'

interface Examples {
  readonly notes: readonly { vkey: string; skey?: string; note: string; valid: boolean }[]
  readonly bad_vkeys: readonly string[]
}

const refused = { kind: 'Malformed' }
const note = (text: string) => parseNote(Buffer.from(text))

describe('published notes', () => {
  const examples = readVectors<Examples>('signed-note').map(([, value]) => value)

  test('verify with their keys, come back byte for byte, and do not verify with a byte changed', (t) => {
    let count = 0
    for (const { vkey, note: text, valid } of examples.flatMap(({ notes }) => notes)) {
      assert.ok(valid)
      const key = parseVerifierKey(vkey)
      assert.equal(formatVerifierKey(key), vkey)
      assert.deepEqual(verifyNote(note(text), [key], verifier), [{ key, timestamp: undefined }])
      assert.equal(Buffer.from(encodeNote(note(text))).toString(), text)
      assert.throws(() => verifyNote(note(`I${text.slice(1, 5)}?${text.slice(6)}`), [key], verifier), {
        kind: 'Integrity',
      })
      count += 1
    }
    t.diagnostic(`${count} notes`)
  })

  test('are signed alike from their private keys', (t) => {
    let count = 0
    for (const { vkey, skey, note: text } of examples.flatMap(({ notes }) => notes)) {
      if (skey === undefined) continue
      const seed = Buffer.from(skey.split('+').slice(4).join('+'), 'base64').subarray(1)
      const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
      const signer = noteSigner(parseVerifierKey(vkey), (message) => sign(null, message, privateKey))
      assert.equal(Buffer.from(encodeNote(signNote(note(text).text, [signer]))).toString(), text)
      count += 1
    }
    assert.ok(count > 0)
    t.diagnostic(`${count} notes`)
  })

  test('have no verifier keys of unknown type or with a broken encoding', (t) => {
    const bad = examples.flatMap(({ bad_vkeys }) => bad_vkeys)
    for (const vkey of bad) assert.throws(() => parseVerifierKey(vkey), refused, vkey)
    t.diagnostic(`${bad.length} keys refused`)
  })
})

describe('verifier keys', () => {
  test('have the id of C2SP signed-note for each type', () => {
    const bytes = { ed25519: 0x01, 'ed25519-cosignature': 0x04, 'ml-dsa-44-cosignature': 0x06 } as const
    for (const [type, byte] of Object.entries(bytes) as [keyof typeof bytes, number][]) {
      const { key } = makeKeyPair('example.com/née', type)
      const digest = createHash('sha256').update('example.com/née\n').update(Uint8Array.of(byte)).update(key.publicKey)
      assert.equal(key.keyId, digest.digest().readUInt32BE(0))
      assert.deepEqual(parseVerifierKey(formatVerifierKey(key)), key)
    }
  })

  test('published for a cosigner reads as one', () => {
    const text = 'remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2'
    const key = parseVerifierKey(text)
    assert.equal(key.type, 'ed25519-cosignature')
    assert.equal(key.keyId, 0xda77ade7)
    assert.equal(formatVerifierKey(key), text)
  })

  test('with another id, name, length or type are refused', () => {
    const { key } = makeKeyPair('example.com/log', 'ed25519')
    const text = formatVerifierKey(key)
    const [name, id = '', encoded] = text.split(/\+(.{8})\+/)
    const bad = [
      `${name}+${id}`,
      `${name}+00000000+${encoded}`,
      `${name}+${id.toUpperCase().replaceAll(/\d/g, 'A')}+${encoded}`,
      `other+${id}+${encoded}`,
      `+${id}+${encoded}`,
      `${text}=`,
      text.slice(0, -4),
      `${text}\n`,
      `${name}+${id}+${'A'.repeat(100_000)}`,
    ]
    for (const wrong of bad) assert.throws(() => parseVerifierKey(wrong), refused, wrong.slice(0, 100))
    for (const wrong of ['', 'a b', 'a+b', 'a\u00a0b', 'a\u2028b', 'a\nb', 'a\u0000b', 'é'.repeat(128)]) {
      assert.throws(() => verifierKey(wrong, 'ed25519', key.publicKey), refused, JSON.stringify(wrong))
    }
    assert.throws(() => verifierKey('a', 'ed25519', key.publicKey.subarray(1)), refused)
  })
})

describe('parseNote', () => {
  const line = `— example.com/log ${Buffer.alloc(68, 1).toString('base64')}\n`

  test('reads text with empty lines up to the last of them', () => {
    const parsed = note(`one\n\ntwo\n\n${line}${line}`)
    assert.equal(parsed.text, 'one\n\ntwo\n')
    assert.equal(parsed.signatures.length, 2)
    const [first] = parsed.signatures
    assert.equal(first?.keyId, 0x01010101)
    assert.deepEqual(first.signature, new Uint8Array(64).fill(1))
    assert.equal(note(`\n\n${line}`).text, '\n')
  })

  test('refuses whatever is not just so', () => {
    const bad = [
      '',
      'text\n',
      'text\n\n',
      `text\n${line}`,
      `text\n\n${line.slice(0, -1)}`,
      `text\n\n${line}\n`,
      `text\n\n${line}more\n`,
      `text\n\n${line}${line.replace('\n', '\r\n')}`,
      `te\txt\n\n${line}`,
      `te\u0000xt\n\n${line}`,
      `text\n\n${line.replace('— ', '- ')}`,
      `text\n\n${line.replace('— ', '—')}`,
      `text\n\n${line.replace(' example', '  example')}`,
      `text\n\n${line.replace('\n', ' \n')}`,
      `text\n\n${line.replace('/log', '+log')}`,
      `text\n\n${line.replace('/log', '\u3000log')}`,
      `text\n\n${line.replace('=', '')}`,
      `text\n\n— example.com/log AQEBAQ==\n`,
      `text\n\n— example.com/log AQEBAQF=\n`,
    ]
    for (const text of bad) assert.throws(() => note(text), refused, JSON.stringify(text))
    assert.throws(() => parseNote(Buffer.from(`\ud800\n\n${line}`, 'utf16le')), refused)
    assert.throws(() => parseNote(Buffer.concat([Uint8Array.of(0xff), Buffer.from(`text\n\n${line}`)])), refused)
  })

  test('reads 32 signatures and no more, and no note past its largest size', () => {
    assert.equal(note(`text\n\n${line.repeat(MAX_NOTE_SIGNATURES)}`).signatures.length, MAX_NOTE_SIGNATURES)
    assert.throws(() => note(`text\n\n${line.repeat(MAX_NOTE_SIGNATURES + 1)}`), refused)
    assert.throws(() => note(`text\n\n${line.repeat(500)}`), refused)
    const room = MAX_NOTE_BYTES - Buffer.byteLength(`\n\n${line}`)
    assert.equal(note(`${'x'.repeat(room)}\n\n${line}`).signatures.length, 1)
    assert.throws(() => note(`${'x'.repeat(room + 1)}\n\n${line}`), refused)
  })

  test('has room for 32 of the largest signatures with the longest names', () => {
    const largest = `— ${'n'.repeat(255)} ${Buffer.alloc(4 + 8 + 2420).toString('base64')}\n`
    assert.equal(note(`${'x'.repeat(15_000)}\n\n${largest.repeat(32)}`).signatures.length, 32)
  })

  test('of any bytes, either gives a note that encodes to them, or refuses them', () => {
    const pieces = fc.constantFrom('\n', '\n\n', '— ', 'a', ' ', 'AQEBAQE=', line, 'text', '+', '\t', '\ufeff')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 10 }), (parts) => {
        const bytes = new Uint8Array(Buffer.from(parts.join('')))
        try {
          assert.deepEqual(encodeNote(parseNote(bytes)), bytes)
        } catch (error) {
          assert.equal((error as Error).name, 'CairnError')
        }
      }),
      { numRuns: 5000 },
    )
  })
})

describe('encodeNote', () => {
  test('refuses what would read back as another note', () => {
    const signature = { name: 'a', keyId: 1, signature: new Uint8Array(64) }
    assert.throws(() => encodeNote({ text: 'text', signatures: [signature] }), refused)
    assert.throws(() => encodeNote({ text: 'text\n', signatures: [] }), refused)
    assert.throws(() => encodeNote({ text: 'text\n', signatures: [{ ...signature, name: 'a b' }] }), refused)
    assert.throws(() => encodeNote({ text: 'text\n', signatures: [{ ...signature, name: 'a\n\n— b' }] }), refused)
    assert.throws(() => encodeNote({ text: 'te\u0007xt\n', signatures: [signature] }), refused)
  })
})

describe('parseSignatureLines', () => {
  test('reads what a witness answers with', () => {
    const { signatures } = note(`t\n\n— w ${Buffer.alloc(76).toString('base64')}\n`)
    assert.deepEqual(parseSignatureLines(`— w ${Buffer.alloc(76).toString('base64')}\n`), signatures)
    assert.throws(() => parseSignatureLines(''), refused)
  })
})
