import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RegistryHead } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import {
  createAuditHeadLeaf,
  createCommitLeaf,
  encodeLeaf,
  headOf,
  type Pin,
  type SignerSetItem,
  signerSetHash,
} from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { leafHash } from '@cairn/tlog'
import { manifest, SampleLog, sampleSigner } from '../test/sample-log.ts'
import { type LogWalk, walkLog } from './registry-walk.ts'

const ALICE = sampleSigner(1, 'alice')
const BOB = sampleSigner(2, 'bob')
const CAROL = sampleSigner(3, 'carol')
const DAVE = sampleSigner(4, 'dave')

const twoOfThree = (): SampleLog => new SampleLog([ALICE, BOB, CAROL], 2)

async function walked(log: SampleLog, pin?: Pin): Promise<LogWalk> {
  const { entries } = log
  const head = log.told()
  const common = { origin: log.log.origin, size: entries.length, root: log.root(), head, pin, verifier: systemCrypto }
  return await walkLog(log.registry(), { ...common, onProgress: () => {} })
}

/** Where the walk ends, and why. */
async function badOf(log: SampleLog, pin?: Pin): Promise<{ index: number | undefined; detail: string }> {
  const { bad } = await walked(log, pin)
  assert.ok(bad !== undefined, 'nothing was found wrong')
  return bad
}

/** Names and a change of signers, a proposal nobody committed, and an anchor. */
function sample(): SampleLog {
  const log = twoOfThree()
  log.setName('site@1.0', 'a', [ALICE, BOB])
  log.setName('site@1.0', 'b', [BOB, CAROL])
  log.rotate([ALICE, BOB, DAVE], 2, [ALICE, BOB])
  log.setName('other@1', 'c', [ALICE, DAVE])
  log.approve(log.propose([log.nameItem('open@1', 'd')]), DAVE)
  log.append(createAuditHeadLeaf(log.head, { head: manifest('audit'), count: 3 }))
  return log
}

test('an honest log holds, and what was read is counted', async () => {
  const log = sample()
  const { bad, entries, tiles, minimumIndex, replay } = await walked(log)
  assert.deepEqual(bad, undefined)
  assert.deepEqual([entries, tiles, minimumIndex, replay.isWhole], [log.entries.length, 1, 0, true])
  assert.deepEqual(replay.tally, {
    versions: 5,
    proposals: 5,
    approvals: 10,
    signerSets: 2,
    auditHeads: 1,
    snapshots: 0,
    unreadPayloads: 0,
  })
  assert.deepEqual(replay.head, log.head)
})

test('a log of many tiles holds, and each of them is read', async () => {
  const log = twoOfThree()
  log.setName('site@1.0', 'a', [ALICE, BOB])
  while (log.entries.length < 3 * 256 + 17) log.append(createAuditHeadLeaf(log.head, { head: manifest('x'), count: 1 }))
  const { bad, tiles } = await walked(log)
  assert.deepEqual(bad, undefined)
  // Four of level 0, the last of them partial, and the partial one above.
  assert.equal(tiles, 5)
})

test('the first entry that is not the one of its tile is named', async () => {
  for (const at of [0, 3, 7]) {
    const log = sample()
    const published = log.tree().partialTiles()[0]!.bytes
    published[at * 32] = published[at * 32]! ^ 1
    log.served.set(`tile/0/000.p/${log.entries.length}`, published)
    assert.deepEqual(await badOf(log), { index: at, detail: `Entry ${at} is not the one its tile was made of.` })
  }
})

test('a tile above that does not match names the entries below it', async () => {
  const log = twoOfThree()
  while (log.entries.length < 600) log.append(createAuditHeadLeaf(log.head, { head: manifest('x'), count: 1 }))
  const upper = log.tree().partialTiles()[1]!.bytes
  upper[32] = upper[32]! ^ 1
  log.served.set('tile/1/000.p/2', upper)
  const bad = await badOf(log)
  assert.equal(bad.index, 256)
  assert.match(bad.detail, /^tile\/1\/000\.p\/2 does not match the entries 256 to 511/)
})

test('entries that agree with their tiles but not with the checkpoint are another log', async () => {
  const log = sample()
  const { entries } = log
  const [root, head] = [log.root(entries.length - 1), log.told()]
  const options = { origin: log.log.origin, size: entries.length, root, head, pin: undefined, verifier: systemCrypto }
  const { bad } = await walkLog(log.registry(), { ...options, onProgress: () => {} })
  assert.deepEqual([bad?.index, bad?.detail.includes('another root than the checkpoint')], [undefined, true])
})

test('what cannot be had although it must be there is a fault of the log, named by its first entry', async () => {
  const missing = new CairnError('NotFound', 'No such tile.')
  const bundle = sample()
  bundle.served.set(`tile/entries/000.p/${bundle.entries.length}`, missing)
  assert.equal((await badOf(bundle)).index, 0)
  const tile = sample()
  tile.served.set(`tile/0/000.p/${tile.entries.length}`, missing)
  assert.equal((await badOf(tile)).index, 0)
  const damaged = sample()
  const read = new CairnError('Integrity', 'The log is damaged at entry 4.', { code: 'LogDamaged' })
  damaged.served.set(`tile/entries/000.p/${damaged.entries.length}`, read)
  assert.match((await badOf(damaged)).detail, /damaged at entry 4/)
})

test('a network that fails says nothing about the log', async () => {
  const log = sample()
  const lost = new CairnError('Timeout', 'Gone.', { code: 'connection_lost' })
  log.served.set(`tile/0/000.p/${log.entries.length}`, lost)
  await assert.rejects(walked(log), (error) => error === lost)
})

test('what was seen before must still be there', async () => {
  const log = sample()
  const pin = (size: number): Pin => ({ trust: log.trust, size, root: log.root(size) })
  for (const size of [1, 5, log.entries.length]) assert.equal((await walked(log, pin(size))).bad, undefined)
  const forked = { ...pin(5), root: leafHash(new Uint8Array(1)) }
  assert.match((await badOf(log, forked)).detail, /two histories/)
})

test('HEAD as it is told must be the one of the log', async () => {
  const log = sample()
  const honest = log.head
  log.head = { version: honest.version, hash: manifest('no') }
  const other = await badOf(log)
  assert.match(other.detail, /but the registry tells/)
  log.head = { version: honest.version + 1, hash: manifest('no') }
  assert.match((await badOf(log)).detail, /says that HEAD is version 5/)
})

test('everything that is told of HEAD is held against the log', async () => {
  const log = sample()
  const common = { origin: log.log.origin, size: log.entries.length, root: log.root(), pin: undefined }
  const { log_index: at } = log.told()
  const lies: readonly [Partial<RegistryHead>, number | undefined, RegExp][] = [
    [{ payload_b3: manifest('no') }, at, /its payload_b3 is b3:.*, but the registry tells b3:/],
    [{ committed_at: 1 }, at, /its committed_at is \d+, but the registry tells 1\./],
    [{ log_index: 3 }, at, /its log_index is \d+, but the registry tells 3\./],
    [{ origin: 'elsewhere' }, at, /its origin is .*, but the registry tells elsewhere\./],
    [{ minimum_index: 2 }, undefined, /entries below 2 were removed, and serves them/],
  ]
  for (const [lie, index, why] of lies) {
    const options = { ...common, head: { ...log.told(), ...lie }, verifier: systemCrypto, onProgress: () => {} }
    const { bad } = await walkLog(log.registry(), options)
    assert.equal(bad?.index, index)
    assert.match(bad?.detail ?? '', why)
  }
})

/** What a log could try that signs whatever it likes; each ends at the entry that breaks the rules. */
const LIES: Readonly<Record<string, [(log: SampleLog) => void, RegExp]>> = {
  'a commit without quorum': [
    (log) => {
      const open = log.propose([log.nameItem('evil@1', 'e')])
      log.approve(open, ALICE)
      log.force(
        log.artifactOf({ ...open, approvals: [...open.approvals, { ...open.approvals[0]!, signer_id: 'bob' }] }),
      )
    },
    /needs 2 approvals and has 1/,
  ],
  'an approval by an outsider': [
    (log) => log.approve(log.propose([log.nameItem('evil@1', 'e')]), sampleSigner(9, 'mallory')),
    /mallory is not a signer/,
  ],
  'an approval by a signer who was replaced': [
    (log) => {
      log.rotate([ALICE, BOB, DAVE], 2, [ALICE, BOB])
      log.approve(log.propose([log.nameItem('evil@1', 'e')]), CAROL)
    },
    /carol is not a signer/,
  ],
  'an approval made for another proposal': [
    (log) => {
      const [one, two] = [log.propose([log.nameItem('a@1', 'a')]), log.propose([log.nameItem('b@1', 'b')])]
      log.approve(one, ALICE)
      log.approve(two, ALICE, { sig: one.approvals[0]!.sig })
    },
    /not alice's signature/,
  ],
  'an approval made for another log': [
    (log) =>
      log.approve(log.propose([log.nameItem('a@1', 'a')]), ALICE, {}, { ...log.log, origin: 'elsewhere.example/1' }),
    /not alice's signature/,
  ],
  'the same approval twice': [
    (log) => {
      const open = log.propose([log.nameItem('a@1', 'a')])
      log.approve(open, ALICE)
      log.approve(open, ALICE)
    },
    /approved this proposal already/,
  ],
  "a new key's signature counted as a vote": [
    (log) => {
      const prev = signerSetHash(log.state.signerSet)
      const next: SignerSetItem = { kind: 'signer_set', id: 'root', prev, m: 1, signers: [DAVE.signer] }
      log.approve(log.propose([next]), DAVE, { role: 'current' })
    },
    /claims another role/,
  ],
  'a commit of a proposal that had expired': [
    (log) => {
      const open = log.propose([log.nameItem('a@1', 'a')])
      log.approve(open, ALICE)
      log.approve(open, BOB)
      log.force({ ...log.artifactOf(open), committed_at: open.proposal.expires_at })
    },
    /has expired/,
  ],
  'a proposal for signers who are not in force': [
    (log) => void log.propose([log.nameItem('a@1', 'a')], { signer_set_hash: manifest('other') }),
    /another signer set/,
  ],
  'a proposal id used twice': [
    (log) => {
      const { proposal } = log.propose([log.nameItem('a@1', 'a')])
      log.propose([log.nameItem('b@1', 'b')], { proposal_id: proposal.proposal_id })
    },
    /was there before/,
  ],
  'an approval of nothing': [
    (log) => {
      const open = log.propose([log.nameItem('a@1', 'a')])
      log.approve({ ...open, proposal: { ...open.proposal, proposal_id: `p_${'f'.repeat(32)}` } }, ALICE)
    },
    /not an open proposal/,
  ],
  'a state root that is not the sum of the versions': [
    (log) => {
      const open = log.propose([log.nameItem('a@1', 'a')])
      log.approve(open, ALICE)
      log.approve(open, BOB)
      log.force({ ...log.artifactOf(open), state_root: `sha256:${'0'.repeat(64)}` })
    },
    /not the commit that/,
  ],
  'a version on another than the one before': [
    (log) => {
      const open = log.propose([log.nameItem('a@1', 'a')])
      log.approve(open, ALICE)
      log.approve(open, BOB)
      log.force({ ...log.artifactOf(open), prev_hash: manifest('other') })
    },
    /not the commit that/,
  ],
  'a commit that replaces what it has not seen': [
    (log) => {
      const rivals = [log.propose([log.nameItem('a@1', 'a')]), log.propose([log.nameItem('a@1', 'b')])]
      for (const open of rivals) for (const key of [ALICE, BOB]) log.approve(open, key)
      const artifact = log.artifactOf(rivals[1]!)
      log.commit(rivals[0]!)
      log.force({ ...artifact, version: log.head.version + 1, prev_hash: log.head.hash })
    },
    /has changed/,
  ],
  'a commit made twice': [
    (log) => {
      const open = log.propose([log.nameItem('a@1', 'a')])
      log.approve(open, ALICE)
      log.approve(open, BOB)
      log.commit(open)
      log.append(createCommitLeaf(log.artifacts[1]!))
    },
    /not an open proposal/,
  ],
  'a second genesis': [(log) => void log.append(createCommitLeaf(log.artifacts[0]!)), /has only one/],
  'a leaf with another HEAD': [
    (log) =>
      void log.append(createAuditHeadLeaf({ ...log.head, hash: manifest('x') }, { head: manifest('y'), count: 1 })),
    /says that HEAD is version/,
  ],
  'an entry that is not a leaf': [(log) => void log.entries.push(new TextEncoder().encode('{}')), /not known/],
  'a leaf in another spelling': [
    (log) => {
      const leaf = encodeLeaf(createAuditHeadLeaf(log.head, { head: manifest('y'), count: 1 }))
      log.entries.push(new Uint8Array([...leaf, 0x20]))
    },
    /canonical/,
  ],
}

for (const [lie, [tell, why]] of Object.entries(LIES)) {
  test(`the log is caught at the entry: ${lie}`, async () => {
    const log = twoOfThree()
    log.setName('site@1.0', 'a', [ALICE, BOB])
    tell(log)
    const bad = await badOf(log)
    assert.equal(bad.index, log.entries.length - 1)
    assert.match(bad.detail, why)
  })
}

test('genesis belongs to the origin, and has one form', async () => {
  const log = sample()
  const { origin: _origin, ...rest } = { ...log.log }
  const { entries } = log
  const common = { size: entries.length, root: log.root(), head: log.told(), pin: undefined, verifier: systemCrypto }
  const other = await walkLog(log.registry(), { ...common, origin: 'elsewhere.example/0', onProgress: () => {} })
  assert.equal(other.bad?.index, 0)
  assert.match(other.bad.detail, new RegExp(`${rest.genesis} is not that of elsewhere`))
  const altered = twoOfThree()
  altered.entries[0] = encodeLeaf(createCommitLeaf({ ...altered.artifacts[0]!, prev_hash: manifest('x') }))
  assert.match((await badOf(altered)).detail, /^Entry 0 breaks the rules of the registry: /)
  const forged = twoOfThree()
  const genesis = { ...forged.artifacts[0]!, committed_at: 5 }
  forged.entries[0] = encodeLeaf(createCommitLeaf(genesis))
  forged.head = headOf(genesis)
  assert.equal((await badOf(forged)).index, 0)
})

test('a payload that did not fit into its leaf is read from its version, and must be the one that was signed', async () => {
  const log = twoOfThree()
  const items = Array.from({ length: 800 }, (_, number) => log.nameItem(`n${number}@1`, 'a'))
  const open = log.propose(items)
  for (const key of [ALICE, BOB]) log.approve(open, key)
  log.commit(open)
  assert.ok(log.entries[1]!.length < 2000, 'the leaf does not hold the payload')
  const { bad: none, replay } = await walked(log)
  assert.deepEqual([none, replay.tally.unreadPayloads], [undefined, 0])
  log.artifacts[1] = { ...log.artifacts[1]!, payload: { items: items.slice(1) } }
  const bad = await badOf(log)
  assert.equal(bad.index, 4)
  assert.match(bad.detail, /not the one it names/)
  const waiting = twoOfThree()
  waiting.propose(items)
  assert.equal((await walked(waiting)).replay.tally.unreadPayloads, 1)
})

test('where retention removed the beginning, hashes and the chain of what is left are held, and that is said', async () => {
  const log = twoOfThree()
  while (log.entries.length < 256) log.append(createAuditHeadLeaf(log.head, { head: manifest('x'), count: 1 }))
  log.setName('site@1.0', 'a', [ALICE, BOB])
  log.setName('site@1.0', 'b', [ALICE, BOB])
  const pruned = new CairnError('NotFound', 'Removed.', { code: 'Pruned', status: 410 })
  log.served.set('tile/entries/000', pruned)
  const { bad, minimumIndex, replay, entries } = await walked(log)
  assert.deepEqual(bad, undefined)
  assert.deepEqual([minimumIndex, replay.isWhole, entries], [256, false, 8])
  log.append(createAuditHeadLeaf({ version: 1, hash: manifest('x') }, { head: manifest('y'), count: 1 }))
  const broken = await badOf(log)
  assert.equal(broken.index, log.entries.length - 1)
  assert.match(broken.detail, /version 1, does not follow version 2/)
  // Entries that are gone in the middle were not removed by retention.
  const torn = sample()
  while (torn.entries.length < 600) torn.append(createAuditHeadLeaf(torn.head, { head: manifest('x'), count: 1 }))
  torn.served.set('tile/entries/001', pruned)
  assert.equal((await badOf(torn)).index, 256)
})
