/** `GET /registry/stream`: every version in order, without a gap or with a word about it, and nobody waits for a reader. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Broadcast, type TaskBody } from '@cairn/kernel'
import { isStream } from '@cairn/transport'
import { Gate } from '../../../verify/virtual/disk/gated-disk.ts'
import type { RegistryParts } from '../src/parts.ts'
import type { Committed } from '../src/tasks/committer.ts'
import { Publisher } from '../src/tasks/publisher.ts'
import { TestService } from './harness.ts'
import { ALICE, named, QuorumClient, rootsOf } from './signers.ts'

const ONE_OF_ONE = rootsOf(1, [ALICE])

interface Frame {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: { readonly version: number; readonly hash: string; readonly corr_id?: string } | undefined
}

/** A client of the stream: reads when told to. */
class Reader {
  readonly #body: AsyncIterator<Uint8Array>

  private constructor(body: AsyncIterator<Uint8Array>) {
    this.#body = body
  }

  static async open(service: TestService, lastEventId?: string): Promise<Reader> {
    const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const answer = await service.world.run(service.begin('GET', '/registry/stream', { token: null, headers }))
    assert.equal(answer.status, 200)
    assert.ok(isStream(answer.body))
    return new Reader(answer.body[Symbol.asyncIterator]())
  }

  /** The next frame, heartbeats passed over. */
  async next(service: TestService): Promise<Frame> {
    for (;;) {
      const { value } = (await service.world.run(this.#body.next())) as { value: Uint8Array }
      const text = Buffer.from(value).toString()
      if (text.startsWith(':')) continue
      const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
      const data = field('data')
      return {
        id: field('id'),
        event: field('event'),
        data: data === undefined ? undefined : (JSON.parse(data) as Frame['data']),
      }
    }
  }

  async raw(service: TestService): Promise<string> {
    const { value } = (await service.world.run(this.#body.next())) as { value: Uint8Array }
    return Buffer.from(value).toString()
  }

  async close(): Promise<void> {
    await this.#body.return?.()
  }
}

async function versions(service: TestService, count: number, from = 0): Promise<void> {
  const quorum = new QuorumClient(service, 'send')
  const publish = async (at: number): Promise<unknown> =>
    await quorum.publish([named(`n-${from + at}@1`, 'x')], [ALICE])
  for (let at = 0; at < count; at += 64) {
    const batch = Array.from({ length: Math.min(64, count - at) }, async (_, each) => await publish(at + each))
    await service.world.run(Promise.all(batch))
  }
}

test('a subscriber hears every version from now on, with its id, and a heartbeat when there is nothing to say', async () => {
  const service = await TestService.start(ONE_OF_ONE)
  const reader = await Reader.open(service)
  assert.equal(await reader.raw(service), ': heartbeat\n\n')
  const facts = await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
  const { id, event, data } = await reader.next(service)
  assert.deepEqual([id, event, data?.version, data?.hash], ['1', 'registry.update', 1, facts.hash])
  assert.match(data?.corr_id ?? '', /^[0-9A-Z]{26}$/)
  await reader.close()
  assert.equal(service.metric('registry_sse_clients_connected_total'), 1)
  assert.equal(service.metric('registry_sse_clients_disconnected_total'), 1)
  await service.stop()
})

test('Last-Event-ID goes on without a gap; what is not kept any more, or never was, is `registry.compacted`', async () => {
  const service = await TestService.start(ONE_OF_ONE)
  await versions(service, 5)
  const back = await Reader.open(service, '2')
  for (const expected of [3, 4, 5]) assert.equal((await back.next(service)).data?.version, expected)
  const ahead = await Reader.open(service, '99')
  const lost = await ahead.next(service)
  assert.deepEqual([lost.event, lost.id, lost.data?.version], ['registry.compacted', '5', 5])
  await versions(service, 1, 5)
  for (const reader of [back, ahead]) assert.equal((await reader.next(service)).data?.version, 6)
  await back.close()
  await ahead.close()
  // Another life keeps none of them.
  const again = await service.restart(ONE_OF_ONE)
  const old = await Reader.open(again, '3')
  const compacted = await old.next(again)
  assert.deepEqual([compacted.event, compacted.data?.version], ['registry.compacted', 6])
  const odd = await Reader.open(again, 'not a version')
  await versions(again, 1, 6)
  for (const reader of [old, odd]) assert.equal((await reader.next(again)).data?.version, 7)
  await old.close()
  await odd.close()
  await again.stop()
})

test('a subscriber that does not read holds nobody up; it is told that it was compacted and goes on from the head', async () => {
  const service = await TestService.start(ONE_OF_ONE)
  const slow = await Reader.open(service)
  const quick = await Reader.open(service)
  await versions(service, 1100)
  assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 1100)
  const first = await slow.next(service)
  assert.deepEqual([first.event, first.data?.version], ['registry.compacted', 1100])
  assert.equal(service.metric('bus_lagged_total', { topic: 'updates', consumer: 'listener' }), 76)
  await versions(service, 1, 1100)
  assert.equal((await slow.next(service)).data?.version, 1101)
  await quick.close()
  await slow.close()
  await service.stop()
})

test('a publisher that is stalled never slows a commit, and tells everything once it goes on', async () => {
  const stall = new Gate()
  const alter = ({ publisher }: RegistryParts): void => {
    const { run } = publisher
    const stalled: TaskBody = async (context) => {
      await stall.pass()
      await run(context)
    }
    Object.assign(publisher, { run: stalled })
  }
  stall.shut()
  const service = await TestService.start({ ...ONE_OF_ONE, alter })
  const reader = await Reader.open(service)
  await versions(service, 5)
  assert.equal((await service.ask('GET', '/registry/head')).fields()['version'], 5)
  stall.open()
  for (const expected of [1, 2, 3, 4, 5]) assert.equal((await reader.next(service)).data?.version, expected)
  await reader.close()
  await service.stop()
})

test('Lagging: what a publisher misses is counted, and whoever listens sees the gap', async () => {
  const service = await TestService.start(ONE_OF_ONE)
  const { platform, parts } = service
  const committed = new Broadcast<Committed>(platform, { name: 'committed', capacity: 1024 })
  const publisher = new Publisher(platform, { committed, published: parts.published, events: parts.events })
  const { updates } = publisher.subscribe(undefined)
  const head = parts.published.value.head
  for (let version = 1; version <= 1100; version += 1) committed.publish({ ...head, version, corr_id: 'x' })
  const stop = new AbortController()
  const running = publisher.run({ name: 'publisher', draining: stop.signal, aborting: stop.signal })
  await service.world.clock.settle()
  assert.equal(service.metric('bus_lagged_total', { topic: 'committed', consumer: 'publisher' }), 76)
  assert.equal(service.metric('bus_overflow_dropped_total'), 76)
  const first = updates.tryReceive()
  assert.deepEqual(first?.tag === 'value' && first.value.version, 77, 'the oldest it still heard of')
  const { isWhole } = publisher.subscribe(0)
  assert.equal(isWhole, false)
  stop.abort()
  await assert.rejects(running)
  publisher.close()
  committed.close()
  await service.stop()
})
