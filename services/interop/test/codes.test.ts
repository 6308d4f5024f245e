/** Every reason of the table, every error kind and every metric of ours, triggered. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CairnError } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import { INTEROP_METRICS } from '../src/metrics.ts'
import { REASONS, type ReasonCode } from '../src/providers/provider.ts'
import { anchoringRegistry, TestService, tokenFor } from './harness.ts'

type Trigger = (service: TestService) => Promise<Answer>

const JSON_TYPE = { 'content-type': 'application/json' }

const TRIGGERS: Readonly<Record<ReasonCode, Trigger>> = {
  UNAUTH: async (service) => await service.github('{}', { secret: 'wrong' }),
  BAD_ORIGIN: async (service) => await service.github('{}', { headers: { 'x-forwarded-host': 'elsewhere.example' } }),
  EXPIRED_TOKEN: async (service) =>
    await service.ask('POST', '/put', { body: { payload: '' }, token: tokenFor(['interop:put'], 1) }),
  SCOPE_MISMATCH: async (service) =>
    await service.ask('POST', '/put', { body: { payload: '' }, token: tokenFor(['audit:read']) }),
  BODY_LIMIT: async (service) => await service.github('x'.repeat(1024 * 1024 + 1)),
  DECOMP_LIMIT: async (service) =>
    await service.ask('POST', '/put', {
      body: gzipSync(Buffer.alloc(4 * 1024 * 1024)),
      headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    }),
  RATE_LIMIT: async (service) => {
    const release = Promise.withResolvers<void>()
    async function* slowly(): AsyncGenerator<Uint8Array> {
      await release.promise
      yield Buffer.from('{}')
    }
    const held = Array.from({ length: 16 }, async () => {
      return await service.send('POST', '/webhooks/github', { token: null, body: slowly(), from: '192.0.2.1' })
    })
    await service.sleep(1)
    const answer = await service.github('{}', { from: '192.0.2.1' })
    release.resolve()
    await service.world.run(Promise.all(held))
    return answer
  },
  BACKPRESSURE: async (service) => {
    service.storage.latencyMs = 1500
    const webhooks = Array.from({ length: 600 }, async (_each, n) => {
      return await service.sendGithub(`{"n":${n}}`, { from: `10.0.${n >> 8}.${n & 255}` })
    })
    const answers = await service.world.run(Promise.all(webhooks))
    service.storage.latencyMs = 0
    return answers.find(({ status }) => status === 429) ?? assert.fail('nobody was turned away')
  },
  DOWNSTREAM_UNAVAILABLE: async (service) => {
    service.storage.failure = new CairnError('StorageBusy', 'The drive does not answer.', { code: 'drive_stalled' })
    const answer = await service.github('{}')
    service.storage.failure = undefined
    return answer
  },
  POLICY_BLOCKED: async (service) => await service.ask('POST', '/webhooks/unknown', { body: '{}', token: null }),
  JOURNAL_LOST: async (service) => {
    await service.world.run(service.parts.ledger.compare({ count: 7, head: addressOf(Buffer.from('a line')) }))
    return await service.github('{}')
  },
  MALFORMED: async (service) => await service.ask('POST', '/put', { body: '{', headers: JSON_TYPE }),
}

const PROVIDERS = {
  github: { enabled: true, secrets: [{ env: 'GITHUB_WEBHOOK_SECRET' }], allowed_hosts: ['github.example'] },
}

describe('every reason', () => {
  for (const [reason, trigger] of Object.entries(TRIGGERS)) {
    test(reason, async () => {
      const service = await TestService.start(reason === 'BAD_ORIGIN' ? { config: { providers: PROVIDERS } } : {})
      isProblem(await trigger(service), REASONS[reason as ReasonCode].status, reason)
      await service.world.run(service.running.stop())
    })
  }
})

test('every metric of ours moves', async () => {
  const { client } = anchoringRegistry()
  const moved = new Set<string>()
  const service = await TestService.start({
    registry: client,
    config: { audit: { anchor_interval: '1s' }, mailbox: { max_deliveries: 1 } },
    wrap: (platform) => {
      const { metrics } = platform
      const watch =
        <A extends readonly unknown[]>(run: (name: string, ...rest: A) => void) =>
        (name: string, ...rest: A): void => {
          moved.add(name)
          run(name, ...rest)
        }
      const watched = Object.assign(Object.create(metrics) as typeof metrics, {
        count: watch(metrics.count.bind(metrics)),
        set: watch(metrics.set.bind(metrics)),
        observe: watch(metrics.observe.bind(metrics)),
      })
      return { ...platform, metrics: watched }
    },
  })
  await service.github('{"n":1}')
  await service.github('{"n":1}')
  const stream = { 'content-type': 'application/octet-stream' }
  await service.ask('POST', '/put', { body: Buffer.alloc(100_000), headers: stream })
  const { receipt } = (await service.lease())!
  await service.ask('POST', `/mailbox/github/${receipt.id}/nack`, { body: receipt })
  await service.ask('POST', '/mailbox/github/replay', { body: {} })
  const flood = Array.from({ length: 700 }, async (_each, n) => {
    return await service.sendGithub(`{"bad":${n}}`, { secret: 'wrong', from: `10.0.${n >> 8}.${n & 255}` })
  })
  await service.world.run(Promise.all(flood))
  await service.sleep(3000)
  service.machine.faults.rates = { 'io-error': 1 }
  await service.github('{"n":2}')
  service.machine.faults.rates = {}
  await service.sleep(6000)
  const unmoved = Object.keys(INTEROP_METRICS).filter((name) => !moved.has(name))
  // Asked for by the reconciler alone, whose own tests see it move.
  assert.deepEqual(unmoved, ['redeliveries_asked_total'])
  await service.stop()
})

test('every task runs under its declared name, and a crash of one is counted and survived', async () => {
  const service = await TestService.start()
  const running = new Set(
    service.platform.topology
      .snapshot()
      .filter(({ kind }) => kind === 'task')
      .map(({ name }) => name),
  )
  for (const name of [
    'worker',
    'audit-sink',
    'brownout-sentinel',
    'journal-keeper',
    'proposer',
    'forwarder',
    'listener',
  ]) {
    assert.ok(
      [...running].some((each) => each.startsWith(name)),
      `${name} is not among ${[...running].join(', ')}`,
    )
  }
  await service.stop()
})
