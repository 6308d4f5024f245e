import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, canonicalJson, type JsonObject, parseJson } from '@cairn/wire'
import fc from 'fast-check'
import { encodeProof, type NameItem, type Proof, parseProof, type TrustFile, verifyProof } from '../src/index.ts'
import { manifest, START_MS, sampleRegistry, TestRegistry } from './registry.ts'
import { signer, VERIFIER } from './signers.ts'

const NOW = { now: START_MS }
const FLIPS = 1_500

/** What a client makes of the bytes: the verdict, or that they are no proof file. */
function outcome(bytes: Uint8Array, trust: TrustFile): string {
  let proof: Proof
  try {
    proof = parseProof(bytes)
  } catch {
    return 'unreadable'
  }
  return verifyProof(proof, trust, VERIFIER, NOW).kind
}

/** Spread evenly over the file, so that every part of it has its share. */
function* flips(bytes: Uint8Array, count: number): Generator<Uint8Array> {
  for (let number = 0; number < count; number++) {
    const altered = bytes.slice()
    const at = Math.floor((number * bytes.length) / count)
    altered[at] = altered[at]! ^ (1 << (number % 8))
    yield altered
  }
}

/** The damage again, but with a checksum that fits: what an attacker would do. */
function reseal(bytes: Uint8Array): Uint8Array | undefined {
  try {
    const { b3: _, ...content } = parseJson(bytes) as JsonObject
    return canonicalJson({ ...content, b3: addressOf(canonicalJson(content)) })
  } catch {
    return undefined
  }
}

test('a proof file with any bit flipped never verifies', async (t) => {
  const registry = sampleRegistry()
  const trust = registry.trust()
  for (const proof of [await registry.nameProof('site@1.0'), await registry.versionProof(6)]) {
    const bytes = encodeProof(proof)
    assert.equal(outcome(bytes, trust), 'verified')
    for (const altered of flips(bytes, FLIPS)) assert.equal(outcome(altered, trust), 'unreadable')
    t.diagnostic(`${proof.type} proof: ${FLIPS} flips over ${bytes.length} bytes, none accepted`)
  }
})

test('a proof file altered by somebody who repairs its checksum never verifies', async (t) => {
  const registry = sampleRegistry()
  const trust = registry.trust()
  const bytes = encodeProof(await registry.nameProof('site@1.0', registry.checkpoint({ time: false })))
  const { b3 } = parseJson(bytes) as JsonObject
  const tally = new Map<string, number>()
  for (const altered of flips(bytes, FLIPS)) {
    const resealed = reseal(altered)
    // A flip in the checksum itself is undone by the repair.
    if (resealed !== undefined && (parseJson(resealed) as JsonObject)['b3'] === b3) continue
    const found = resealed === undefined ? 'not JSON' : outcome(resealed, trust)
    assert.ok(['not JSON', 'unreadable', 'refused'].includes(found), found)
    tally.set(found, (tally.get(found) ?? 0) + 1)
  }
  t.diagnostic([...tally].map(([found, count]) => `${found}: ${count}`).join(', '))
  assert.ok((tally.get('refused') ?? 0) > 300, 'many alterations get as far as the verification')
})

test('random registries prove every name present or absent, and nothing else', async () => {
  const step = fc.record({ name: fc.integer({ min: 0, max: 4 }), digit: fc.integer({ min: 1, max: 9 }) })
  const script = fc.array(fc.oneof({ weight: 8, arbitrary: step }, { weight: 1, arbitrary: fc.constant('rotate') }))
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const model = new Map<string, string>()
      let signers = [signer(1), signer(2)]
      const registry = new TestRegistry(signers, 1)
      for (const step of steps.slice(0, 12)) {
        if (typeof step === 'string') {
          const next = [signers[1]!, signer(10 + registry.head.version)]
          registry.rotate(next, 1, signers)
          signers = next
        } else {
          registry.setName(`n${step.name}@1`, String(step.digit), signers)
          model.set(`n${step.name}@1`, manifest(String(step.digit)))
        }
      }
      for (let number = 0; number < 5; number++) {
        const proof = await registry.nameProof(`n${number}@1`)
        const verdict = verifyProof(parseProof(encodeProof(proof)), registry.trust(), VERIFIER, NOW)
        assert.ok(verdict.kind === 'verified' && verdict.finding.type === 'name', JSON.stringify(verdict))
        assert.equal(verdict.finding.item?.manifest, model.get(`n${number}@1`))
        const lie: NameItem = { kind: 'name', id: `n${number}@1`, prev: null, manifest: manifest('e') }
        assert.equal(verifyProof({ ...proof, item: lie }, registry.trust(), VERIFIER, NOW).kind, 'refused')
      }
    }),
    { numRuns: 25 },
  )
})
