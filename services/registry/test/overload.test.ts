/** Every bound, every overflow policy and every error kind of the registry, each triggered once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { ALICE, address, BOB, named, type Opened, QuorumClient, rootsOf, sign } from './signers.ts'

const ONE_OF_TWO = rootsOf(1, [ALICE, BOB])

function withGates(config: ServiceOptions['config'] = {}) {
  const shut = gates()
  const options: ServiceOptions = {
    ...ONE_OF_TWO,
    config: { ...ONE_OF_TWO.config, drive_timeout: '60s', ...config },
    wrap: (platform) => gated(platform, shut),
  }
  return { shut, options }
}

const LONG_TIMEOUT = { ingress: { request_timeout: '50s', max_inflight: 5000 } }

async function settle(service: TestService): Promise<void> {
  await service.world.clock.settle()
}

/** Starts a batch that hangs in the drive; what comes after it stays in the queues. */
async function hang(service: TestService, shut: ReturnType<typeof gates>): Promise<{ first: Promise<unknown> }> {
  shut.writes.shut()
  const first = service.send('POST', '/log/audit-heads', { body: { head: address('first'), count: 1 } })
  await settle(service)
  return { first }
}

test('Busy: a full queue of proposals answers 429 at once and counts it; approvals have their own room', async () => {
  const { shut, options } = withGates(LONG_TIMEOUT)
  const service = await TestService.start(options)
  const opened = await new QuorumClient(service).propose([named('a@1', 'x')])
  const { first } = await hang(service, shut)
  const quorum = new QuorumClient(service, 'send')
  const waiting = Array.from({ length: 512 }, async (_, at) => await quorum.propose([named(`n-${at}@1`, 'x')]))
  await settle(service)
  const late = await service.send('POST', '/registry/proposals', {
    body: { payload: { items: [named('late@1', 'x')] } },
  })
  isProblem(late, 429, 'Busy')
  isProblem(await service.send('POST', `/registry/commit/${opened.proposal_id}`), 429, 'Busy')
  assert.equal(service.metric('busy_rejections_total', { endpoint: '/registry/proposals' }), 1)
  assert.equal(service.metric('busy_rejections_total', { endpoint: '/registry/commit/:id' }), 1)
  const approval = quorum.approve(opened, ALICE)
  await settle(service)
  const facts = service.platform.topology.snapshot().filter(({ kind }) => kind === 'queue')
  const depth = (name: string): unknown => facts.find((each) => each.name === name)?.facts['depth']
  assert.deepEqual([depth('proposals'), depth('approvals')], [512, 1])
  shut.writes.open()
  await service.world.run(Promise.all([first, approval, ...waiting]))
  assert.equal((await approval).status, 200)
  await service.stop()
})

test('Busy: a full queue of approvals answers 429 at once; proposals still get in', async () => {
  const { shut, options } = withGates(LONG_TIMEOUT)
  const service = await TestService.start(options)
  const quorum = new QuorumClient(service, 'send')
  const proposals: Opened[] = []
  for (let from = 0; from < 513; from += 171) {
    const some = Array.from({ length: 171 }, async (_, at) => await quorum.propose([named(`n-${from + at}@1`, 'x')]))
    proposals.push(...(await service.world.run(Promise.all(some))))
  }
  const { first } = await hang(service, shut)
  const waiting = proposals.slice(0, 512).map(async (each) => await quorum.approve(each, ALICE))
  await settle(service)
  isProblem(await quorum.approve(proposals[512]!, ALICE), 429, 'Busy')
  assert.equal(service.metric('busy_rejections_total', { endpoint: '/registry/approvals/:id' }), 1)
  const proposed = quorum.propose([named('late@1', 'x')])
  shut.writes.open()
  await service.world.run(Promise.all([first, proposed, ...waiting]))
  await service.stop()
})

test('Timeout: a commit whose deadline passes is 504 and counted; it is made all the same, and repeating it says so', async () => {
  const { shut, options } = withGates()
  const service = await TestService.start(options)
  const quorum = new QuorumClient(service)
  const opened = await quorum.propose([named('a@1', 'x')])
  await quorum.approve(opened, ALICE)
  shut.writes.shut()
  const headers = { 'request-timeout': '200ms' }
  const path = `/registry/commit/${opened.proposal_id}`
  const beganAt = service.world.clock.now()
  isProblem(await service.ask('POST', path, { headers }), 504, 'Timeout')
  const took = service.world.clock.now() - beganAt
  assert.ok(took >= 200 && took < 300, `${took} ms`)
  assert.equal(service.metric('io_timeouts_total', { op: 'commit' }), 1)
  const queued = service.send('POST', path, { headers })
  await service.sleep(300)
  isProblem(await service.world.run(queued), 504, 'Timeout')
  shut.writes.open()
  await service.sleep(100)
  const repeated = await quorum.commit(opened)
  assert.deepEqual([repeated.status, repeated.fields()['version']], [201, 1])
  assert.equal(service.metric('registry_entries_total', { kind: 'commit' }), 1, 'what waited too long was not begun')
  assert.ok(service.metric('commit_latency_seconds_count') >= 1)
  await service.stop()
})

test('Canceled: a client that leaves while it waits takes its command with it', async () => {
  const { shut, options } = withGates()
  const service = await TestService.start(options)
  const { first } = await hang(service, shut)
  const gone = new AbortController()
  const body = { payload: { items: [named('gone@1', 'x')] } }
  const left = service.send('POST', '/registry/proposals', { body, signal: gone.signal })
  await settle(service)
  gone.abort()
  assert.equal((await left).code, 'client_gone')
  shut.writes.open()
  await service.world.run(first)
  await service.sleep(100)
  const { proposals } = (await service.ask('GET', '/registry/proposals')).json() as { proposals: unknown[] }
  assert.deepEqual(proposals, [], 'it was not begun')
  await service.stop()
})

test('ChainMismatch, Lagging and StorageBusy have tests of their own; every code of a refusal is one of the table', async () => {
  const service = await TestService.start(ONE_OF_TWO)
  const quorum = new QuorumClient(service)
  const opened = await quorum.propose([named('a@1', 'x')])
  const codes = new Set<string | undefined>()
  codes.add((await quorum.commit(opened)).code)
  codes.add((await quorum.approve(opened, { ...ALICE, seed: BOB.seed })).code)
  codes.add((await service.ask('GET', '/registry/77')).code)
  assert.deepEqual([...codes], ['QuorumFailed', 'InvalidSig', 'NotFound'])
  await service.stop()
})

test('more than 4096 open proposals are refused with 429', async () => {
  const service = await TestService.start(ONE_OF_TWO)
  const quorum = new QuorumClient(service, 'send')
  for (let from = 0; from < 4096; from += 256) {
    const some = Array.from({ length: 256 }, async (_, at) => await quorum.propose([named(`n-${from + at}@1`, 'x')]))
    await service.world.run(Promise.all(some))
  }
  const over = await service.ask('POST', '/registry/proposals', {
    body: { payload: { items: [named('late@1', 'x')] } },
  })
  isProblem(over, 429, 'Busy')
  await service.sleep(600)
  assert.equal(service.metric('registry_pending_proposals'), 4096)
  await service.stop()
})

test('retention_cmd: a pruner that is behind makes the checkpointor skip a cycle, and say so', async () => {
  const hold = Promise.withResolvers<void>()
  const service = await TestService.start({
    ...ONE_OF_TWO,
    config: { ...ONE_OF_TWO.config, checkpoint_interval: '1m' },
    alter: ({ pruner }) => {
      const { run } = pruner
      Object.assign(pruner, {
        run: async (context: Parameters<typeof run>[0]) => {
          await hold.promise
          await run(context)
        },
      })
    },
  })
  await service.sleep(8.5 * 60_000)
  assert.equal(service.metric('registry_prune_skipped_total', { reason: 'full' }), 0)
  await service.sleep(2 * 60_000)
  assert.equal(service.metric('registry_prune_skipped_total', { reason: 'full' }), 2)
  const before = service.parts.published.value.timedAt
  assert.ok(service.platform.clock.wall() - before < 61_000, 'checkpoints go on')
  hold.resolve()
  await service.sleep(1000)
  await service.stop()
})

test('streams have their own bound and do not count as in flight', async () => {
  const config = { ...ONE_OF_TWO.config, ingress: { max_streams: 2, max_inflight: 4 } }
  const service = await TestService.start({ ...ONE_OF_TWO, config })
  const streams = [1, 2].map(async () => await service.begin('GET', '/registry/stream', { token: null }))
  const open = await service.world.run(Promise.all(streams))
  isProblem(await service.ask('GET', '/registry/stream'), 429, 'Busy')
  assert.equal((await service.ask('GET', '/registry/head')).status, 200)
  for (const { body } of open) await (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
  await service.stop()
})

test('a flood of bad signatures does not reach the Committer', async () => {
  const service = await TestService.start(ONE_OF_TWO)
  const opened: Opened = await new QuorumClient(service).propose([named('a@1', 'x')])
  const batches = service.metric('registry_batches_total')
  const body = { signer_id: ALICE.id, sig: sign('something else', ALICE) }
  for (let at = 0; at < 50; at += 1)
    isProblem(await service.ask('POST', `/registry/approvals/${opened.proposal_id}`, { body }), 422, 'InvalidSig')
  assert.equal(service.metric('registry_batches_total'), batches)
  await service.stop()
})
