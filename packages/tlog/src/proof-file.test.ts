import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { makeKeyPair, verifier } from '../test/keys.ts'
import { makeLeaves, NaiveTree } from '../test/model.ts'
import { encodeCheckpoint, encodeNote, signNote } from './index.ts'
import { encodeLogProof, type LogProof, type LogTrust, parseLogProof, verifyLogProof } from './testing.ts'

const refused = { kind: 'Malformed' }
const SIZE = 1000
const INDEX = 738

const tree = new NaiveTree(makeLeaves(SIZE))
const log = makeKeyPair('example.com/fancylog', 'ed25519')
const trust: LogTrust = { origin: log.key.name, logKeys: [log.key], cosignerKeys: [] }
const text = encodeCheckpoint({ origin: log.key.name, size: SIZE, root: tree.root(SIZE), extensions: [] })
const checkpoint = encodeNote(signNote(text, [log.signer()]))
const proof: LogProof = {
  extra: new Uint8Array(Buffer.from('extra information')),
  index: INDEX,
  proof: tree.path(INDEX, 0, SIZE),
  checkpoint,
}
const leaf = tree.hash(INDEX, INDEX + 1)

describe('proof files', () => {
  test('are the lines of C2SP tlog-proof', () => {
    const siblings = proof.proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`).join('')
    const body = `index ${INDEX}\n${siblings}\n${Buffer.from(checkpoint).toString()}`
    assert.equal(
      Buffer.from(encodeLogProof(proof)).toString(),
      `c2sp.org/tlog-proof@v1\nextra ZXh0cmEgaW5mb3JtYXRpb24=\n${body}`,
    )
    const { extra, ...plain } = proof
    assert.ok(extra !== undefined)
    assert.equal(Buffer.from(encodeLogProof(plain)).toString(), `c2sp.org/tlog-proof@v1\n${body}`)
    assert.deepEqual(parseLogProof(encodeLogProof(proof)), proof)
    assert.deepEqual(parseLogProof(encodeLogProof(plain)), plain)
    const single = { index: 0, proof: [], checkpoint }
    assert.deepEqual(parseLogProof(encodeLogProof(single)), single)
  })

  test('verify for the leaf they are of, and for no other leaf, index, log or sibling', () => {
    assert.equal(verifyLogProof(parseLogProof(encodeLogProof(proof)), leaf, trust, verifier).checkpoint.size, SIZE)
    const forgeries: [LogProof, Uint8Array, LogTrust][] = [
      [proof, tree.hash(0, 1), trust],
      [{ ...proof, index: INDEX + 1 }, leaf, trust],
      [{ ...proof, proof: proof.proof.slice(1) }, leaf, trust],
      [{ ...proof, proof: proof.proof.toReversed() }, leaf, trust],
      [proof, leaf, { ...trust, origin: 'example.com/other' }],
      [proof, leaf, { ...trust, logKeys: [makeKeyPair(log.key.name, 'ed25519').key] }],
    ]
    for (const [forged, leafOf, whom] of forgeries) {
      assert.throws(() => verifyLogProof(forged, leafOf, whom, verifier), { kind: 'Integrity' })
    }
  })

  test('with any byte of proof or checkpoint changed are refused one way or another', () => {
    const bytes = encodeLogProof({ index: INDEX, proof: proof.proof, checkpoint })
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = bytes.with(at, (bytes[at] ?? 0) ^ change)
        assert.throws(() => verifyLogProof(parseLogProof(changed), leaf, trust, verifier), { name: 'CairnError' })
      }),
      { numRuns: 400 },
    )
  })

  test('in any other form are refused', () => {
    const note = Buffer.from(checkpoint).toString()
    const hash = Buffer.alloc(32).toString('base64')
    const bad = [
      '',
      `c2sp.org/tlog-proof@v2\nindex 0\n\n${note}`,
      `c2sp.org/tlog-proof@v1\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 00\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex -1\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex  1\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\r\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\nextra AA==\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nextra AA\nindex 0\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nextra AB==\nindex 0\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nextra AA==\nextra AA==\nindex 0\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\n${hash.replace('=', '')}\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\n${Buffer.alloc(64).toString('base64')}\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\n${`${hash}\n`.repeat(54)}\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\n\n${note.slice(0, -1)}`,
      `c2sp.org/tlog-proof@v1\nextra ${Buffer.alloc(65_536).toString('base64')}\nindex 0\n\n${note}`,
      `c2sp.org/tlog-proof@v1\nindex 0\n${'\n'.repeat(400_000)}${note}`,
    ]
    for (const wrong of bad) {
      assert.throws(() => parseLogProof(Buffer.from(wrong)), refused, JSON.stringify(wrong.slice(0, 80)))
    }
    assert.throws(() => encodeLogProof({ ...proof, extra: new Uint8Array(65_536) }), refused)
    assert.throws(() => encodeLogProof({ ...proof, proof: [new Uint8Array(31)] }), refused)
    assert.throws(() => encodeLogProof({ ...proof, checkpoint: Buffer.from('no note') }), refused)
    const largest = { ...proof, extra: new Uint8Array(65_535) }
    assert.deepEqual(parseLogProof(encodeLogProof(largest)), largest)
  })
})
