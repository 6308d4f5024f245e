/** What the index's view of the registry takes over, and what it does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline } from '@cairn/kernel'
import { VirtualClock } from '@cairn/kernel/testing'
import { encodeProof, parseProof, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { encodeCheckpoint, encodeNote, noteSigner, parseCheckpoint, parseNote, signNote } from '@cairn/tlog'
import { manifest } from '../../../packages/names/test/registry.ts'
import { signer } from '../../../packages/names/test/signers.ts'
import { fork, LyingRegistry, SIGNERS } from './lying-registry.ts'
import { scene } from './scene.ts'
import { MAX_CHECKPOINT_AGE_MS } from './viewing.ts'

const NO_CONTEXT = { deadline: Deadline.after(new VirtualClock(), 1000) }

test('a name comes with a proof that holds offline; a name nobody set means nothing', async () => {
  const { registry, viewing } = await scene()
  assert.equal(await viewing.meaning('site@1.0', registry.log.trust()), manifest('a'))
  assert.deepEqual(await viewing.resolve('none@1'), { tag: 'absent' })
  assert.deepEqual(await viewing.resolve('no name at all'), { tag: 'absent' })
  assert.deepEqual(viewing.view.readyFields(), { status: 'following', version: 2, entries: 9 })
  assert.equal(viewing.platform.metrics.value('index_registry_version'), 2)
  await viewing.stop()
})

test('an event wakes the view at once; without events it looks every five seconds', async () => {
  const { registry, viewing } = await scene()
  const beganAt = viewing.world.clock.now()
  registry.log.setName('site@1.0', 'c')
  registry.tellHead()
  await viewing.reach(3)
  assert.ok(viewing.world.clock.now() - beganAt < 200)
  assert.equal(await viewing.meaning('site@1.0', registry.log.trust()), manifest('c'))
  registry.log.setName('site@1.0', 'd')
  await viewing.reach(4)
  assert.ok(viewing.world.clock.now() - beganAt <= 5_200)
  await viewing.stop()
})

test('a proof is fetched once for each state of the log, and then answered from memory', async () => {
  const { registry, viewing } = await scene()
  await viewing.resolve('site@1.0')
  await viewing.resolve('site@1.0')
  assert.equal(registry.asked.get('proof'), 1)
  registry.log.setName('other@1', 'c')
  registry.tellHead()
  await viewing.reach(3)
  await viewing.resolve('site@1.0')
  assert.equal(registry.asked.get('proof'), 2)
  await viewing.stop()
})

test('a proof can continue what the asker has seen', async () => {
  const { registry, viewing } = await scene()
  const answer = await viewing.resolve('site@1.0', 4)
  assert.ok(answer.tag === 'found')
  assert.match(new TextDecoder().decode(answer.proof), /"consistency":\{"from":4,/)
  // The log is ahead of the view: it looks as far as the proof goes before it says anything.
  registry.log.setName('site@1.0', 'e')
  const later = await viewing.resolve('site@1.0', 4)
  assert.deepEqual([later.tag, later.tag === 'found' && later.address], ['found', manifest('e')])
  // A size that the log has not reached is the asker's trouble, not the registry's.
  assert.equal((await viewing.resolve('site@1.0', 4000)).tag, 'found')
  assert.equal(viewing.view.status.value.tag, 'following')
  await viewing.stop()
})

/** The same log, one more version, and what is told of it; under `reason` it is refused. */
interface Lie {
  readonly what: string
  readonly reason: string
  readonly begin: (registry: LyingRegistry) => void
}

const MALLORY = signer(99)

const LIES: readonly Lie[] = [
  {
    what: 'a checkpoint by a key that nobody trusts',
    reason: 'checkpoint_signature',
    begin: ({ lies, log }) => {
      log.setName('site@1.0', 'c')
      const text = encodeCheckpoint({ ...log.log, size: log.leaves.length, root: log.root(), extensions: [] })
      const [own] = log.logKeys()
      lies.checkpoint = () => encodeNote(signNote(text, [noteSigner(own!.key, (message) => MALLORY.sign(message))]))
    },
  },
  {
    what: 'an old checkpoint',
    reason: 'older_than_pin',
    begin: ({ lies, log }) => {
      lies.checkpoint = () => log.checkpoint({ size: 5 })
    },
  },
  {
    what: 'another history of the same length',
    reason: 'forked',
    begin: (registry) => {
      registry.show(fork(['site@1.0', 'other@1']))
    },
  },
  {
    what: 'another history that is longer',
    reason: 'forked',
    begin: (registry) => {
      registry.show(fork(['site@1.0', 'other@1', 'third@1']))
    },
  },
  {
    what: 'a shorter history than was seen',
    reason: 'older_than_pin',
    begin: (registry) => {
      registry.show(fork(['site@1.0']))
    },
  },
  {
    what: 'a signed root that the entries do not have',
    reason: 'forked',
    begin: ({ lies, log }) => {
      log.setName('site@1.0', 'c')
      lies.tile = (_index, honest) => honest.map((byte, at) => (at === 10 * 32 ? byte ^ 1 : byte))
    },
  },
  {
    what: 'another entry than was hashed',
    reason: 'wrong_entry',
    begin: ({ lies, log }) => {
      log.setName('site@1.0', 'c')
      lies.entry = (index, honest) => (index === 11 ? honest.map((byte, at) => (at === 99 ? byte ^ 1 : byte)) : honest)
    },
  },
  {
    what: 'a commit without an approval',
    reason: 'rule_broken',
    begin: ({ log }) => {
      log.force(
        log.propose([
          { kind: 'name', id: 'site@1.0', prev: log.state.hashOf('name', 'site@1.0'), manifest: manifest('c') },
        ]),
      )
    },
  },
  {
    what: 'a commit with one approval too few',
    reason: 'rule_broken',
    begin: ({ log }) => {
      const prev = log.state.hashOf('name', 'site@1.0')
      const open = log.propose([{ kind: 'name', id: 'site@1.0', prev, manifest: manifest('c') }])
      log.approve(open, SIGNERS[0]!)
      log.force(open)
    },
  },
  {
    what: 'a commit with another state root than its items make',
    reason: 'rule_broken',
    begin: ({ log }) => {
      const prev = log.state.hashOf('name', 'site@1.0')
      const open = log.propose([{ kind: 'name', id: 'site@1.0', prev, manifest: manifest('c') }])
      for (const who of SIGNERS.slice(0, 2)) log.approve(open, who)
      log.force(open, { state_root: `sha256:${'00'.repeat(32)}` })
    },
  },
  {
    what: 'an answer that is no checkpoint',
    reason: 'malformed',
    begin: ({ lies }) => {
      lies.checkpoint = () => new TextEncoder().encode('hello')
    },
  },
  {
    what: 'an event about a version that does not exist',
    reason: 'forged_event',
    begin: (registry) => {
      const { artifact } = registry.log.commits.at(-1)!
      const { payload_b3, committed_at } = artifact
      registry.tell({ tag: 'update', facts: { version: 99, hash: manifest('9'), payload_b3, committed_at } })
    },
  },
  {
    what: 'an event that gives HEAD another hash',
    reason: 'forged_event',
    begin: (registry) => {
      const { payload_b3, committed_at } = registry.log.commits.at(-1)!.artifact
      registry.tell({ tag: 'update', facts: { version: 2, hash: manifest('9'), payload_b3, committed_at } })
    },
  },
  {
    what: 'a skip to a version that does not exist',
    reason: 'forged_event',
    begin: (registry) => {
      const { payload_b3, committed_at } = registry.log.commits.at(-1)!.artifact
      registry.tell({ tag: 'compacted', head: { version: 99, hash: manifest('9'), payload_b3, committed_at } })
    },
  },
]

for (const { what, reason, begin } of LIES) {
  test(`${what} changes nothing, is counted and told`, async () => {
    const { registry, viewing } = await scene()
    const trust = registry.log.trust()
    const known = await viewing.resolve('site@1.0')
    begin(registry)
    const status = await viewing.until('refused')
    assert.ok(status.tag === 'refused')
    assert.equal(status.reason, reason, status.detail)
    // A log that has forgotten, or that tells something else, is shown what was seen of it.
    const isTakenBack = reason === 'older_than_pin' || reason === 'forked'
    assert.equal(registry.shown.length > 0, isTakenBack)
    for (const note of registry.shown) assert.equal(parseCheckpoint(parseNote(note).text).size, 9)
    assert.ok(viewing.refused(reason) > 0)
    assert.equal(viewing.checks('refused'), viewing.refused(reason))
    const { status: told, version, entries } = viewing.view.readyFields()
    assert.deepEqual([told, version, entries], ['refused', 2, 9])
    assert.equal(viewing.view.changes.value, 2)
    const still = await viewing.resolve('site@1.0')
    assert.ok(still.tag === 'found' && known.tag === 'found')
    assert.deepEqual([still.address, still.version], [manifest('a'), 2])
    assert.equal(await viewing.meaning('site@1.0', trust), manifest('a'))
    await viewing.stop()
  })
}

test('a registry that shows its last checkpoint again and again is stale: said, and answers carry the age', async () => {
  const { registry, viewing } = await scene()
  const wall = (): number => Math.floor(viewing.platform.clock.wall())
  registry.log.nowMs = Math.max(registry.log.nowMs, wall()) + 1000
  await viewing.sleep(6000)
  assert.equal(viewing.view.readyFields()['status'], 'following')
  const replayed = registry.log.checkpoint()
  registry.lies.checkpoint = () => replayed
  registry.log.setName('site@1.0', 'c')
  await viewing.sleep(MAX_CHECKPOINT_AGE_MS + 10_000)
  const { status, checkpoint_age_s: ageS } = viewing.view.readyFields()
  assert.equal(status, 'stale')
  assert.ok(Number(ageS) >= MAX_CHECKPOINT_AGE_MS / 1000)
  const old = await viewing.resolve('site@1.0')
  assert.ok(old.tag === 'found' && old.freshnessMs > MAX_CHECKPOINT_AGE_MS, JSON.stringify(old))
  delete registry.lies.checkpoint
  registry.log.nowMs += MAX_CHECKPOINT_AGE_MS
  await viewing.reach(3)
  assert.equal(viewing.view.readyFields()['status'], 'following')
  assert.equal(await viewing.meaning('site@1.0', registry.log.trust()), manifest('c'))
  await viewing.stop()
})

test('a lie is forgiven when the log is honest again, and followed from where it was', async () => {
  const { registry, viewing } = await scene()
  const { log } = registry
  log.setName('site@1.0', 'c')
  registry.lies.entry = (_index, honest) => honest.map((byte) => byte ^ 1)
  await viewing.until('refused')
  registry.lies = {}
  await viewing.until('following')
  assert.equal(await viewing.meaning('site@1.0', log.trust()), manifest('c'))
  await viewing.stop()
})

test('a forged event is counted once; what the log proves is followed all the same', async () => {
  const { registry, viewing } = await scene()
  const { payload_b3, committed_at } = registry.log.commits.at(-1)!.artifact
  registry.log.setName('site@1.0', 'c')
  registry.tell({ tag: 'update', facts: { version: 99, hash: manifest('9'), payload_b3, committed_at } })
  await viewing.until('refused')
  assert.equal(await viewing.meaning('site@1.0', registry.log.trust()), manifest('c'))
  await viewing.until('following')
  await viewing.sleep(20_000)
  assert.equal(viewing.refused('forged_event'), 1)
  await viewing.stop()
})

test('a log that broke a rule under its own signature stays refused, however long it grows', async () => {
  const { registry, viewing } = await scene()
  const { log } = registry
  const prev = log.state.hashOf('name', 'site@1.0')
  log.force(log.propose([{ kind: 'name', id: 'site@1.0', prev, manifest: manifest('c') }]))
  await viewing.until('refused')
  log.setName('later@1', 'd')
  await viewing.sleep(10_000)
  const { status, version } = viewing.view.readyFields()
  assert.deepEqual([status, version], ['refused', 2])
  assert.deepEqual(await viewing.resolve('later@1'), { tag: 'absent' })
  await viewing.stop()
})

test('a proof that does not hold is not given away: what was proved before is, or nothing', async () => {
  const { registry, viewing } = await scene()
  await viewing.resolve('site@1.0')
  registry.log.setName('third@1', 'c')
  registry.tellHead()
  await viewing.reach(3)
  registry.lies.proof = (honest) => honest.map((byte, at) => (at === 500 ? byte ^ 1 : byte))
  const kept = await viewing.resolve('site@1.0')
  assert.deepEqual([kept.tag, kept.tag === 'found' && kept.version], ['found', 2])
  const unasked = await viewing.resolve('third@1')
  assert.ok(unasked.tag === 'unready' && /no proof of third@1/.test(unasked.detail), JSON.stringify(unasked))
  assert.ok(viewing.view.status.value.tag === 'refused')
  delete registry.lies.proof
  await viewing.until('following')
  await viewing.stop()
})

test('a proof that is good in itself but not the one asked for is not given away', async () => {
  const early = new LyingRegistry()
  early.log.setName('site@1.0', 'a')
  const old = await early.client.proof({ name: 'site@1.0' }, undefined, NO_CONTEXT)
  const { registry, viewing } = await scene()
  const other = await registry.client.proof({ name: 'other@1' }, undefined, NO_CONTEXT)
  const version = await registry.client.proof({ version: 2 }, undefined, NO_CONTEXT)
  const forked = new LyingRegistry()
  forked.show(fork(['site@1.0', 'other@1']))
  const elsewhere = await forked.client.proof({ name: 'site@1.0' }, undefined, NO_CONTEXT)
  const cases = [
    [old, 'older_than_pin'],
    [other, 'wrong_subject'],
    [version, 'wrong_subject'],
    [elsewhere, 'forked'],
  ] as const
  for (const [proof, reason] of cases) {
    registry.lies.proof = () => proof
    const answer = await viewing.resolve('site@1.0')
    assert.equal(answer.tag, 'unready', reason)
    assert.equal(viewing.refused(reason), reason === 'wrong_subject' && proof === version ? 2 : 1, reason)
  }
  await viewing.stop()
})

test('a second version of the same number, rightly approved, is not taken for the one that was proved', async () => {
  const { registry, viewing } = await scene()
  const { log } = registry
  const prev = log.state.hashOf('name', 'site@1.0')
  const item = { kind: 'name', id: 'site@1.0', prev, manifest: manifest('c') } as const
  const open = log.propose([item])
  for (const who of SIGNERS.slice(0, 2)) log.approve(open, who)
  log.force(open, { version: 2, prev_hash: log.commits[2]!.artifact.prev_hash })
  const { state, index } = log.commits.at(-1)!
  const ends = [log.commits[0]!, log.commits.at(-1)!]
  const proof = encodeProof({
    type: 'name',
    name: 'site@1.0',
    item,
    itemProof: state.prove('name', 'site@1.0'),
    lastLeaf: { leaf: log.leaves[index]!, inclusion: await log.inclusion(index) },
    checkpoint: log.checkpoint(),
    commits: await Promise.all(
      ends.map(async (end) => ({
        artifact: end.artifact,
        index: end.index,
        inclusion: await log.inclusion(end.index),
      })),
    ),
    signerSet: state.prove('signer_set', 'root'),
    consistency: await log.consistency(9),
  })
  assert.equal(
    verifyProof(parseProof(proof), log.trust(), systemCrypto, { now: 0 }).kind,
    'verified',
    'by itself it holds',
  )
  registry.lies.proof = () => proof
  assert.equal((await viewing.resolve('site@1.0')).tag, 'unready')
  assert.equal(viewing.refused('other_meaning'), 1)
  await viewing.stop()
})

test('a meaning that was replaced is not told any more, even if the new one cannot be proved', async () => {
  const { registry, viewing } = await scene()
  await viewing.resolve('site@1.0')
  registry.log.setName('site@1.0', 'c')
  registry.tellHead()
  await viewing.reach(3)
  registry.isGone = true
  assert.equal((await viewing.resolve('site@1.0')).tag, 'unready')
  await viewing.stop()
})
