import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { TestService, tokenFor } from './harness.ts'

test('the life of a message over HTTP: lease, give back, lease, acknowledge', async () => {
  const service = await TestService.start()
  await service.github('{"n":1}')
  const first = (await service.lease())!
  assert.equal(await service.lease(), undefined)
  const path = `/mailbox/github/${first.receipt.id}`
  assert.equal((await service.ask('POST', `${path}/nack`, { body: first.receipt })).status, 204)
  const second = (await service.lease())!
  assert.equal(second.receipt.attempt, 2)
  isProblem(await service.ask('POST', `${path}/ack`, { body: first.receipt }), 409, 'lease_lost')
  isProblem(await service.ask('POST', `${path}/ack`, { body: { ...second.receipt, id: 'other' } }), 400, 'MALFORMED')
  assert.equal((await service.ask('POST', `${path}/ack`, { body: second.receipt })).status, 204)
  isProblem(await service.ask('POST', `${path}/ack`, { body: second.receipt }), 409, 'lease_lost')
  await service.stop()
})

test('a lease that waits gets the webhook that comes, and ends with nothing at its time', async () => {
  const service = await TestService.start()
  const waiting = service.send('POST', '/mailbox/github/lease?wait=10')
  await service.world.run(service.world.sleep(3000))
  await service.github('{"n":1}')
  assert.equal((await service.world.run(waiting)).status, 200)
  const beganAt = service.platform.clock.now()
  assert.equal((await service.ask('POST', '/mailbox/github/lease?wait=10')).status, 204)
  assert.ok(service.platform.clock.now() - beganAt >= 10_000)
  isProblem(await service.ask('POST', '/mailbox/github/lease?wait=21'), 400, 'MALFORMED')
  await service.stop()
})

test('a wait ends with the service, with nothing taken', async () => {
  const service = await TestService.start()
  const waiting = service.send('POST', '/mailbox/github/lease?wait=20')
  await service.world.run(service.world.sleep(100))
  await service.stop()
  assert.equal((await waiting).status, 204)
})

test('ten failures make a dead letter, a replay brings it back under its id, and an operator sees both', async () => {
  const service = await TestService.start()
  await service.github('{"n":1}')
  let id = ''
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const { receipt } = (await service.lease())!
    id = receipt.id
    assert.equal(receipt.attempt, attempt)
    await service.ask('POST', `/mailbox/github/${id}/nack`, { body: receipt })
  }
  assert.equal(await service.lease(), undefined)
  const dead = (await service.ask('GET', '/mailbox/github/dead')).fields()['messages'] as {
    id: string
    attempts: number
  }[]
  assert.deepEqual(
    dead.map((each) => [each.id, each.attempts]),
    [[id, 10]],
  )
  isProblem(
    await service.ask('GET', '/mailbox/github/dead', { token: tokenFor(['mailbox:recv']) }),
    403,
    'SCOPE_MISMATCH',
  )
  assert.deepEqual((await service.ask('POST', '/mailbox/github/replay', { body: {} })).fields(), { replayed: 1 })
  assert.equal((await service.lease())?.message.id, id)
  await service.sleep(1100)
  assert.equal(service.metric('mailbox_messages', { state: 'dead' }), 0)
  await service.stop()
})

test('a restart voids leases and loses nothing', async () => {
  let service = await TestService.start()
  for (const n of [1, 2, 3]) await service.github(`{"n":${n}}`)
  const held = (await service.lease())!
  service = await service.restart()
  isProblem(
    await service.ask('POST', `/mailbox/github/${held.receipt.id}/ack`, { body: held.receipt }),
    409,
    'lease_lost',
  )
  const all = await service.drain()
  assert.deepEqual(
    all.map(({ receipt }) => receipt.attempt),
    [2, 1, 1],
  )
  await service.stop()
})

test('peeking takes nothing, in pages; topics of our own can be seen and not taken from', async () => {
  const service = await TestService.start()
  for (const n of [1, 2, 3]) await service.github(`{"n":${n}}`)
  const first = (await service.ask('GET', '/mailbox/github?limit=2')).fields()
  assert.equal((first['messages'] as unknown[]).length, 2)
  const second = (await service.ask('GET', `/mailbox/github?limit=2&after=${String(first['next'])}`)).fields()
  assert.deepEqual([(second['messages'] as unknown[]).length, second['next']], [1, null])
  assert.equal((await service.ask('GET', '/mailbox/@forward')).status, 200)
  isProblem(await service.ask('POST', '/mailbox/@forward/lease'), 400, 'MALFORMED')
  isProblem(await service.ask('POST', '/mailbox/UPPER/lease'), 400, 'MALFORMED')
  await service.stop()
})

test('the journal stays bounded while messages come and go; what is remembered stays', async () => {
  let service = await TestService.start({ segmentBytes: 16 * 1024, config: { journal: { keep_bytes: '1MiB' } } })
  await service.github('{"kept":1}')
  const kept = service.parts.ledger
  for (let n = 0; n < 120; n += 1) {
    await service.stripe(`evt_${n}`)
    if (n % 20 === 19) {
      await service.drain('stripe')
      await service.world.run(kept.trim(48 * 1024))
      assert.ok(kept.bytes < 96 * 1024, `the journal has ${kept.bytes} bytes`)
    }
  }
  const { first, count } = service.parts.chain
  assert.ok(first > 1 && count >= 121, `lines ${first} to ${count}`)
  service = await service.restart({ segmentBytes: 16 * 1024 })
  assert.equal(service.parts.chain.count, count)
  assert.equal(service.parts.chain.first, first)
  assert.equal((await service.stripe('evt_0')).fields()['duplicate'], true)
  assert.equal((await service.github('{"kept":1}')).fields()['duplicate'], true)
  assert.equal((await service.drain()).length, 1)
  await service.stop()
})
