/** A release has one meaning for ever: by the rules of a registry, and by those who read a log that broke them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import fc from 'fast-check'
import {
  encodeLeaf,
  type Item,
  isLive,
  isRelease,
  itemHash,
  type LiveItem,
  LogReplay,
  type NameItem,
  parseItem,
  RegistryState,
  verifyProof,
} from '../src/index.ts'
import { manifest, START_MS, TestRegistry } from './registry.ts'
import { signer, VERIFIER } from './signers.ts'

const SIGNERS = [signer(1), signer(2)]
const NAMES = ['a@1.0', 'b@2', 'c@live']

interface Attempt {
  readonly name: string
  readonly digit: string
  readonly mutable: boolean | undefined
  readonly prev: 'standing' | 'none' | 'first'
  readonly isRemoval: boolean
  readonly supersedes: boolean
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  name: fc.constantFrom(...NAMES),
  digit: fc.constantFrom('1', '2', '3'),
  mutable: fc.constantFrom(false, false, true, undefined),
  prev: fc.constantFrom('standing', 'standing', 'none', 'first'),
  isRemoval: fc.boolean(),
  supersedes: fc.boolean(),
})

function itemOf({ name: id, digit, mutable, prev, isRemoval }: Attempt, registry: TestRegistry): unknown {
  const first = registry.commits.flatMap(({ artifact }) => artifact.payload.items).find((item) => item.id === id)
  const standing = registry.state.hashOf('name', id)
  const before = prev === 'none' ? null : prev === 'first' && first !== undefined ? itemHash(first) : standing
  if (isRemoval) return { kind: 'name', id, prev: before, deleted: true }
  return { kind: 'name', id, prev: before, manifest: manifest(digit), ...(mutable === undefined ? {} : { mutable }) }
}

function parsed(value: unknown): Item | undefined {
  try {
    return parseItem(value as Parameters<typeof parseItem>[0])
  } catch (error) {
    assert.ok(error instanceof CairnError)
    return undefined
  }
}

test('no command of a registry gives a release a second meaning', () => {
  let releases = 0
  fc.assert(
    fc.property(fc.array(attempt, { maxLength: 20 }), (attempts) => {
      const registry = new TestRegistry(SIGNERS, 1)
      const fixed = new Map<string, LiveItem>()
      for (const each of attempts) {
        const item = parsed(itemOf(each, registry))
        if (item === undefined) continue
        const supersede = each.supersedes ? { of: registry.head.hash, reason: 'because' } : undefined
        const open = registry.propose([item], supersede)
        assert.equal(registry.approve(open, SIGNERS[0]!), 'ok')
        const outcome = registry.commit(open)
        if (fixed.has(item.id)) assert.equal(outcome, 'release_fixed')
        if (outcome === 'ok' && isLive(item) && isRelease(item)) fixed.set(item.id, item)
        for (const [id, release] of fixed) assert.deepEqual(registry.state.get('name', id), release)
      }
      releases += fixed.size
    }),
    { numRuns: 60 },
  )
  assert.ok(releases > 20, 'the attempts make releases')
})

test('a log whose signers agreed to change a release is refused by every verifier', async () => {
  await fc.assert(
    fc.asyncProperty(attempt, fc.nat(3), fc.boolean(), async (each, between, isHidden) => {
      const registry = new TestRegistry(SIGNERS, 1)
      const release: NameItem = {
        kind: 'name',
        id: each.name,
        prev: null,
        manifest: manifest('a'),
        mutable: false,
      }
      registry.publish([release])
      for (let at = 0; at < between; at += 1) registry.setName(`other@${at}`, 'b')
      const change = parsed(itemOf({ ...each, mutable: each.mutable === false ? true : each.mutable }, registry))
      if (change === undefined) return
      const open = registry.propose([change])
      assert.equal(registry.approve(open, SIGNERS[0]!), 'ok')
      const rest = registry.state.items().filter(({ id }) => id !== change.id)
      const state = RegistryState.of('deleted' in change ? rest : [...rest, change])
      // Behind another change, or as what is named last.
      registry.force(open, { state })
      if (isHidden) registry.setName('later@1', 'c')

      const replay = new LogReplay(registry.log.origin, VERIFIER, async () => await Promise.reject(new Error('asked')))
      const replayed = (async () => {
        for (const [index, leaf] of registry.leaves.entries()) await replay.take(index, encodeLeaf(leaf))
      })()
      await assert.rejects(replayed, /is a release/)

      const base = await registry.nameProof(each.name)
      const last = registry.head.version
      const whole = { ...base, commits: await registry.provenCommits(last, [1, 2 + between]) }
      const cut = { ...base, commits: await registry.provenCommits(last, [1]) }
      for (const proof of isHidden ? [whole, cut] : [whole]) {
        const verdict = verifyProof(proof, registry.trust(), VERIFIER, { now: START_MS })
        assert.equal(verdict.kind === 'refused' && verdict.code, 'release_changed')
      }
    }),
    { numRuns: 40 },
  )
})
