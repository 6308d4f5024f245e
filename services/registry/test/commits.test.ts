/** What happens between a commit and its answer: batches, compare-and-set, and the power going at every arrow. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { Gate } from '../../../verify/virtual/disk/gated-disk.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import type { CrashPoint } from '../src/domain/crash-points.ts'
import type { VersionSummary } from '../src/domain/ledger.ts'
import { TestService } from './harness.ts'
import { readRecords } from './journal-records.ts'
import { ALICE, BOB, named, type Opened, QuorumClient, rootsOf } from './signers.ts'

const ONE_OF_TWO = rootsOf(1, [ALICE, BOB])

async function approved(service: TestService, name: string, meaning = 'x'): Promise<Opened> {
  const quorum = new QuorumClient(service)
  const opened = await quorum.propose([named(name, meaning)])
  assert.equal((await quorum.approve(opened, ALICE)).status, 200)
  return opened
}

describe('batches', () => {
  test('64 approved proposals on different names are committed in a few batches, each version once', async () => {
    const service = await TestService.start(ONE_OF_TWO)
    const proposals: Opened[] = []
    for (let at = 0; at < 64; at += 1) proposals.push(await approved(service, `name-${at}@1`))
    const before = service.metric('registry_batches_total')
    const quorum = new QuorumClient(service, 'send')
    const answers = await service.world.run(Promise.all(proposals.map(async (each) => await quorum.commit(each))))
    const versions = answers.map((answer) => (answer.json() as VersionSummary).version)
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      Array.from({ length: 64 }, (_, at) => at + 1),
    )
    assert.ok(
      service.metric('registry_batches_total') - before <= 3,
      'the first alone at most, then the others together',
    )
    for (const { version, hash } of answers.map((answer) => answer.json() as VersionSummary)) {
      const next = await service.ask('GET', `/registry/${version + 1}`)
      if (next.status === 200) assert.equal(next.fields()['prev_hash'], hash)
    }
    await service.stop()
  })

  test('of two proposals for one name exactly one is committed, in one batch as in two', async () => {
    for (const mode of ['send', 'ask'] as const) {
      const service = await TestService.start(ONE_OF_TWO)
      const pair = [await approved(service, 'site@1', 'one'), await approved(service, 'site@1', 'two')]
      const quorum = new QuorumClient(service, mode)
      const answers =
        mode === 'send'
          ? await service.world.run(Promise.all(pair.map(async (each) => await quorum.commit(each))))
          : [await quorum.commit(pair[0]!), await quorum.commit(pair[1]!)]
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201, 409]))
      isProblem(answers.find(({ status }) => status === 409)!, 409, 'ChainMismatch')
      assert.equal(service.metric('commit_cas_fail_total'), 1)
      assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 1)
      await service.stop()
    }
  })

  test('a proposal committed many times at once is one version, and everybody hears the same', async () => {
    const service = await TestService.start(ONE_OF_TWO)
    const opened = await approved(service, 'site@1')
    const quorum = new QuorumClient(service, 'send')
    const answers = await service.world.run(
      Promise.all(Array.from({ length: 20 }, async () => await quorum.commit(opened))),
    )
    assert.equal(new Set(answers.map(({ status, body }) => `${status} ${body.toString()}`)).size, 1)
    assert.equal(service.metric('registry_entries_total', { kind: 'commit' }), 1)
    const again = await service.restart(ONE_OF_TWO)
    assert.deepEqual((await new QuorumClient(again).commit(opened)).body, answers[0]!.body)
    await again.stop()
  })

  test('what is committed in a batch is closed to what comes after it in the same batch', async () => {
    const shut = new Gate()
    const reach = async (point: CrashPoint): Promise<void> => await (point === 'signed' ? shut.pass() : undefined)
    const service = await TestService.start({ ...ONE_OF_TWO, reach })
    const [first, other] = [await approved(service, 'a@1'), await approved(service, 'b@1')]
    const before = service.metric('registry_batches_total')
    const quorum = new QuorumClient(service, 'send')
    // While one batch is held, the next one gathers: an approval, the commit, and the approval that comes too late.
    shut.shut()
    const held = quorum.propose([named('c@1', 'x')])
    await service.sleep(10)
    const work = [quorum.approve(other, BOB), quorum.commit(first), quorum.approve(first, BOB)]
    await service.sleep(10)
    shut.open()
    await service.world.run(held)
    const [, committed, late] = await service.world.run(Promise.all(work))
    assert.equal(service.metric('registry_batches_total') - before, 2, 'all three in one batch')
    assert.equal(committed?.status, 201)
    isProblem(late!, 409, 'AlreadyCommitted')
    const open = (await service.ask('GET', '/registry/proposals')).fields()['proposals'] as Opened[]
    const ids = open.map(({ proposal_id: id }) => id)
    assert.deepEqual(ids, [other.proposal_id, (await held).proposal_id], 'it is not open again')
    await service.stop()
  })

  test('each entry carries the HEAD before it, a commit the HEAD it makes, also within a batch', async () => {
    const service = await TestService.start(ONE_OF_TWO)
    const first = await approved(service, 'a@1')
    const quorum = new QuorumClient(service, 'send')
    const work = [quorum.commit(first), quorum.propose([named('b@1', 'x')]), quorum.approve(first, BOB)]
    await service.world.run(Promise.all(work))
    await service.stop()
    const { entries } = await readRecords(service)
    let version = 0
    for (const entry of entries) {
      const leaf = JSON.parse(entry) as { type: string; head: { version: number } }
      if (leaf.type === 'commit') version += 1
      assert.equal(leaf.head.version, version, entry)
    }
    assert.equal(version, 1)
  })
})

describe('the power goes', () => {
  const POINTS: readonly CrashPoint[] = [
    'entries-written',
    'entries-synced',
    'signed',
    'checkpoint-written',
    'checkpoint-synced',
    'published',
    'acknowledged',
  ]

  for (const point of POINTS) {
    for (const how of ['crash', 'kill'] as const) {
      test(`${how} at ${point}: HEAD is the last acknowledged version or the one under way, and never another`, async () => {
        const world = new VirtualWorld(7)
        const machine = world.machine('node')
        let armed = false
        const reach = (reached: CrashPoint): Promise<void> | undefined => {
          if (!armed || reached !== point) return undefined
          machine[how]()
          return new Promise(() => {})
        }
        const service = await TestService.start({ ...ONE_OF_TWO, reach }, world, machine)
        const done = (await new QuorumClient(service).commit(await approved(service, 'a@1'))).json() as VersionSummary
        const pending = await approved(service, 'b@1')
        armed = true
        const begun = service.send('POST', `/registry/commit/${pending.proposal_id}`)
        begun.catch(() => undefined)
        await world.run(world.sleep(1000))
        assert.equal(machine.isUp, false, 'the point was reached')
        armed = false
        const again = await TestService.start({ ...ONE_OF_TWO, reach }, world, machine)
        const { version, hash } = (await again.ask('GET', '/registry/head')).json() as VersionSummary
        const mustBeThere = !['entries-written'].includes(point)
        assert.ok(version === 2 || (version === 1 && !mustBeThere), `version ${version}`)
        if (version === 1) assert.equal(hash, done.hash)
        const repeated = (await new QuorumClient(again).commit(pending)).json() as VersionSummary
        assert.equal(repeated.version, 2)
        assert.deepEqual((await new QuorumClient(again).commit(pending)).json(), repeated)
        const rolled = point === 'entries-synced' || point === 'signed'
        if (rolled) assert.equal(again.metric('registry_recoveries_total', { kind: 'crash' }), 1)
        await again.stop()
        for (const [size, roots] of (await readRecords(again)).roots) assert.equal(roots.size, 1, `size ${size}`)
      })
    }
  }

  test('at the very first start: genesis is there once, whole, with the keys of the first attempt', async () => {
    for (let calls = 1; calls < 90; calls += 3) {
      const world = new VirtualWorld(3)
      const machine = world.machine('node')
      const dying = TestService.open(ONE_OF_TWO, world, machine)
      dying.catch(() => undefined)
      machine.crashAfter(calls)
      await world.run(world.sleep(5_000))
      const wasUp = machine.isUp
      if (wasUp) machine.kill()
      const service = await TestService.start(ONE_OF_TWO, world, machine)
      assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 0)
      const { version } = await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
      assert.equal(version, 1)
      await service.stop()
      for (const roots of (await readRecords(service)).roots.values()) assert.equal(roots.size, 1)
      if (wasUp) return
    }
    assert.fail('the first start needs more calls than this test gives it')
  })
})
