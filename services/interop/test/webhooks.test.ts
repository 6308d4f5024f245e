import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { OLD_SECRET, TestService, tokenFor } from './harness.ts'

const PUSH = '{"ref":"refs/heads/main"}'
const DAY_MS = 24 * 3_600_000
const UNAVAILABLE = new CairnError('StorageBusy', 'The drive is full.', { code: 'no_space', status: 507 })

test('a webhook is verified, stored and held, queued and audited before its 202', async () => {
  const service = await TestService.start()
  const answer = await service.github(PUSH)
  const address = addressOf(Buffer.from(PUSH))
  assert.equal(answer.status, 202)
  const { corr_id: corrId } = answer.fields()
  assert.deepEqual(answer.fields(), { accepted: true, address, corr_id: corrId })
  assert.deepEqual(Buffer.from(service.storage.objects.get(address)!).toString(), PUSH)
  assert.equal(service.storage.holds.get(address), 'interop')
  const { message } = (await service.lease())!
  const { webhook, received_at: at, ...facts } = message.body
  assert.deepEqual(facts, {
    provider: 'github',
    event: 'push',
    delivery: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    address,
    bytes: PUSH.length,
    content_type: 'application/json',
    corr_id: corrId,
  })
  assert.match(String(webhook), /^[0-9A-Z]{26}$/)
  assert.equal(typeof at, 'number')
  const audit = (await service.ask('GET', '/audit')).fields()
  assert.equal(audit['count'], 1)
  const [line] = (audit['lines'] as string[]).map((text) => JSON.parse(text) as Record<string, unknown>)
  assert.deepEqual(
    [line!['decision'], line!['reason'], line!['b3'], line!['secret'], line!['corr_id']],
    ['allow', '', address, 'env:GITHUB_WEBHOOK_SECRET', corrId],
  )
  await service.stop()
})

test('what goes to storage for an event may touch this body only, for a minute', async () => {
  const service = await TestService.start()
  await service.github(PUSH)
  const address = addressOf(Buffer.from(PUSH))
  for (const { operation, context } of service.storage.calls) {
    const kinds = new Map(context.caveats?.map((caveat) => [caveat.kind, caveat]))
    assert.deepEqual(kinds.get('address'), { kind: 'address', address }, operation)
    const exp = kinds.get('exp')
    assert.ok(exp?.kind === 'exp' && exp.at <= service.platform.clock.wall() / 1000 + 60)
  }
  assert.equal(service.metric('capabilities_issued_total', { scope: 'storage:write' }), 1)
  await service.stop()
})

test('the same GitHub body with a new delivery id is a duplicate: 202, not applied, audited', async () => {
  const service = await TestService.start()
  await service.github(PUSH)
  const again = await service.github(PUSH, { delivery: 'another' })
  assert.equal(again.status, 202)
  assert.equal(again.fields()['duplicate'], true)
  assert.equal((await service.drain()).length, 1)
  assert.equal(service.metric('interop_dedup_rejects_total', { provider: 'github' }), 1)
  const lines = (await service.ask('GET', '/audit')).fields()['lines'] as string[]
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as Record<string, unknown>)['reason']),
    ['', 'duplicate'],
  )
  await service.stop()
})

test('a delivery that comes again three days later, after a restart, is not applied again', async () => {
  let service = await TestService.start()
  await service.github(PUSH)
  await service.stripe('evt_1')
  await service.drain()
  await service.drain('stripe')
  service = await service.restart({ wallSkewMs: 3 * DAY_MS })
  assert.equal((await service.github(PUSH, { delivery: 'later' })).fields()['duplicate'], true)
  // Signed anew, as a sender does that tries again: the id inside is what counts.
  assert.equal((await service.stripe('evt_1')).fields()['duplicate'], true)
  assert.deepEqual([await service.lease(), await service.lease('stripe')], [undefined, undefined])
  await service.stop()
})

test('of many deliveries of one body at once, one is applied and the others wait for what becomes of it', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 100
  const answers = await service.world.run(
    Promise.all(Array.from({ length: 10 }, async () => await service.sendGithub(PUSH))),
  )
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202])
  assert.equal(answers.filter((answer) => answer.fields()['duplicate'] === true).length, 9)
  assert.equal(service.storage.calls.filter(({ operation }) => operation === 'put').length, 1)
  assert.equal((await service.drain()).length, 1)
  await service.stop()
})

test('if the first of two fails, the second is applied in its place', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 100
  service.storage.failure = UNAVAILABLE
  const both = Promise.all([service.sendGithub(PUSH), service.sendGithub(PUSH)])
  await service.world.run(service.world.sleep(150))
  service.storage.failure = undefined
  const [first, second] = await service.world.run(both)
  isProblem(first, 503, 'DOWNSTREAM_UNAVAILABLE')
  assert.equal(second.status, 202)
  assert.equal(second.fields()['duplicate'], undefined)
  assert.equal((await service.drain()).length, 1)
  await service.stop()
})

test('two secrets count at once: neither loses a webhook, and a third secret is refused', async () => {
  const service = await TestService.start()
  assert.equal((await service.github('{"n":1}')).status, 202)
  assert.equal((await service.github('{"n":2}', { secret: OLD_SECRET })).status, 202)
  isProblem(await service.github('{"n":3}', { secret: 'neither' }), 401, 'UNAUTH')
  assert.equal((await service.drain()).length, 2)
  await service.stop()
})

test('a ping of GitHub is answered once it is verified, and is no message', async () => {
  const service = await TestService.start()
  isProblem(await service.github('{"zen":"x","hook_id":1}', { event: 'ping', secret: 'wrong' }), 401, 'UNAUTH')
  const answer = await service.github('{"zen":"x","hook_id":1}', { event: 'ping' })
  assert.equal(`${answer.status} ${answer.body.toString()}`, '200 pong')
  assert.equal(await service.lease(), undefined)
  await service.stop()
})

test('an event for several rules becomes a message for each, in one record; an event for none goes to its provider', async () => {
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
  const rule = (event: string, then: string) => ({ provider: 'github' as const, event, then })
  const rules = [rule('push', 'mailbox:builds'), rule('*', 'mailbox:all')]
  const service = await TestService.start({ config: { rules } })
  await service.github('{"n":1}')
  await service.github('{"n":2}', { event: 'star' })
  assert.equal((await service.drain('builds')).length, 1)
  assert.equal((await service.drain('all')).length, 2)
  assert.equal(await service.lease(), undefined)
  await service.stop()
})

test('a body in a coding is 415: what is verified is what was sent', async () => {
  const service = await TestService.start()
  const answer = await service.github(PUSH, { headers: { 'content-encoding': 'gzip' } })
  isProblem(answer, 415, 'MALFORMED')
  await service.stop()
})

test('a storage that does not take our own token is our trouble, not that of the sender', async () => {
  const service = await TestService.start()
  service.storage.failure = new CairnError('Unauthorized', 'The time of `exp` has passed.', { code: 'token_expired' })
  const refused = await service.github(PUSH)
  isProblem(refused, 503, 'DOWNSTREAM_UNAVAILABLE')
  assert.ok(refused.headers['retry-after'] !== undefined)
  service.storage.failure = undefined
  assert.equal((await service.github(PUSH)).status, 202)
  await service.stop()
})

test('without storage, with a drive that fails, or with a journal that does, nothing is accepted and nothing remembered', async () => {
  const alone = await TestService.start({ storage: undefined })
  isProblem(await alone.github(PUSH), 503, 'DOWNSTREAM_UNAVAILABLE')
  await alone.stop()

  const service = await TestService.start()
  service.storage.failure = UNAVAILABLE
  isProblem(await service.github(PUSH), 503, 'DOWNSTREAM_UNAVAILABLE')
  service.storage.failure = undefined
  service.machine.faults.rates = { 'io-error': 1 }
  const refused = await service.github(PUSH)
  assert.equal(refused.status, 503)
  service.machine.faults.rates = {}
  await service.sleep(6000)
  const accepted = await service.github(PUSH)
  assert.equal(accepted.status, 202)
  assert.equal(accepted.fields()['duplicate'], undefined)
  assert.ok(service.metric('storage_backoff_total', { op: 'accepted' }) > 0)
  assert.equal((await service.drain()).length, 1)
  await service.stop()
})

test('a full store of replay keys and a full mailbox answer 503; nothing is forgotten to make room', async () => {
  const keys = await TestService.start({ config: { replay: { max_keys: 2 } } })
  for (const n of [1, 2]) assert.equal((await keys.github(`{"n":${n}}`)).status, 202)
  isProblem(await keys.github('{"n":3}'), 503, 'BACKPRESSURE')
  assert.equal((await keys.github('{"n":1}')).fields()['duplicate'], true)
  await keys.stop()

  const mailbox = await TestService.start({ config: { mailbox: { max_messages: 1 } } })
  assert.equal((await mailbox.github('{"n":1}')).status, 202)
  isProblem(await mailbox.github('{"n":2}'), 503, 'BACKPRESSURE')
  await mailbox.drain()
  assert.equal((await mailbox.github('{"n":2}')).status, 202)
  await mailbox.stop()
})

test('a sender that leaves does not take its webhook along: the outcome is there when it comes again', async () => {
  const service = await TestService.start()
  service.storage.latencyMs = 500
  const leave = new AbortController()
  const sent = service.sendGithub(PUSH, { signal: leave.signal })
  await service.world.run(service.world.sleep(100))
  leave.abort()
  await service.world.run(sent)
  await service.sleep(2000)
  assert.equal((await service.github(PUSH)).fields()['duplicate'], true)
  assert.equal((await service.drain()).length, 1)
  await service.stop()
})

test('an administrator is told who is let in, where the secrets are and what rules there are, but no secret', async () => {
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
  const rules = [{ provider: 'github' as const, event: 'push', then: 'propose:site@1.0' }]
  const secrets = [{ env: 'GITHUB_WEBHOOK_SECRET' }, { env: 'OLD_SECRET', not_after: '2020-01-01T00:00:00Z' }]
  const slack = { enabled: false, secrets: [{ env: 'a_secret_by_mistake' }] }
  const service = await TestService.start({
    config: { rules, providers: { github: { enabled: true, secrets }, slack } },
  })
  isProblem(await service.ask('GET', '/webhooks', { token: null }), 401, 'UNAUTH')
  isProblem(await service.ask('GET', '/webhooks', { token: tokenFor(['audit:read']) }), 403, 'SCOPE_MISMATCH')
  const answer = await service.ask('GET', '/webhooks')
  const { providers, rules: told, generic } = answer.fields()
  assert.deepEqual((providers as object[]).slice(0, 2), [
    {
      provider: 'github',
      enabled: true,
      secrets: [
        { id: 'env:GITHUB_WEBHOOK_SECRET', not_after: null },
        { id: 'env:OLD_SECRET', not_after: Date.parse('2020-01-01T00:00:00Z') },
      ],
    },
    { provider: 'slack', enabled: false, secrets: [] },
  ])
  assert.deepEqual(told, [{ provider: 'github', event: 'push', effect: 'propose:site@1.0' }])
  assert.equal((generic as Record<string, string>)['signed'], '{body}')
  for (const secret of [OLD_SECRET, 'Everybody', 'a_secret_by_mistake']) assert.ok(!answer.body.includes(secret))
  await service.stop()
})

test('whatever storage cannot do now, the sender hears one thing: to come again', async () => {
  const service = await TestService.start()
  const codes = ['under_replicated', 'copies_away', 'drive_failed', 'rebuilding', 'http_503', 'one_that_is_new']
  const failures = [
    ...codes.map((code) => new CairnError('StorageBusy', 'Not now.', { code })),
    new CairnError('StorageBusy', 'The disk is full.', { code: 'no_space', status: 507 }),
    new CairnError('BreakerOpen', 'It has failed too often.'),
    new CairnError('Timeout', 'Nobody answers.', { code: 'unreachable', status: 502 }),
    new CairnError('Internal', 'The answer is none.', { code: 'bad_answer', status: 502 }),
  ]
  for (const failure of failures) {
    service.storage.failure = failure
    isProblem(await service.github(PUSH), 503, 'DOWNSTREAM_UNAVAILABLE')
    isProblem(await service.ask('POST', '/put', { body: 'a' }), 503, 'DOWNSTREAM_UNAVAILABLE')
    isProblem(await service.ask('GET', `/o/${addressOf(Buffer.from('a'))}`), 503, 'DOWNSTREAM_UNAVAILABLE')
  }
  await service.stop()
})
