/** Deliveries that come again: after rotation, renaming, an upgrade, and when memory holds none of them any more. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RollingJournal } from '@cairn/mailbox'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../../verify/virtual/answer.ts'
import type { Asking } from '../../../../verify/virtual/virtual-service.ts'
import { VirtualWorld } from '../../../../verify/virtual/world.ts'
import { encodeRecord, type ReplayKey } from '../../src/domain/record.ts'
import { replayHash } from '../../src/domain/replay-keys.ts'
import { joinSpaces, type ReplaySpace, spaceNames } from '../../src/replay/spaces-core.ts'
import { type GithubOptions, githubSignature, OLD_SECRET, type ServiceOptions, TestService } from '../harness.ts'

const DAY_MS = 24 * 3_600_000
const SMALL = { segmentBytes: 16 * 1024 }
const NEW_SECRET = "It's a Secret to Everybody"

/** Everything in memory goes into a run, as it does when a segment goes. */
async function settled(service: TestService): Promise<void> {
  const { ledger } = service.parts
  await service.world.run(ledger.trim(0))
  await service.world.run(ledger.settleKeys())
}

async function isDuplicate(service: TestService, body: string, options: GithubOptions = {}): Promise<boolean> {
  const answer = await service.github(body, options)
  assert.equal(answer.status, 202)
  return answer.fields()['duplicate'] === true
}

async function runFiles(service: TestService): Promise<string[]> {
  return (await service.world.run(service.platform.disk.list('data/interop/replay'))).map(({ name }) => name)
}

test('keys go to the drive and count there as in memory, over restarts, until their time is over', async () => {
  let service = await TestService.start(SMALL)
  for (let n = 0; n < 120; n += 1) {
    assert.equal(await isDuplicate(service, `{"n":${n}}`), false)
    if (n % 30 === 29) {
      await service.drain()
      await settled(service)
    }
  }
  const { ledger } = service.parts
  assert.ok(ledger.keysOnDrive > 60, `${ledger.keysOnDrive} on the drive`)
  assert.equal(ledger.keyCount, 120)
  assert.ok((await runFiles(service)).length <= 4)
  for (let n = 0; n < 120; n += 1) assert.equal(await isDuplicate(service, `{"n":${n}}`), true, `webhook ${n}`)
  service = await service.restart({ ...SMALL, wallSkewMs: 89 * DAY_MS })
  assert.equal(service.parts.ledger.keyCount, 120)
  for (let n = 0; n < 120; n += 1) assert.equal(await isDuplicate(service, `{"n":${n}}`), true, `webhook ${n}`)
  service = await service.restart({ ...SMALL, wallSkewMs: 92 * DAY_MS })
  await settled(service)
  assert.equal(service.parts.ledger.keysOnDrive, 0)
  assert.equal(await isDuplicate(service, '{"n":0}'), false)
  await service.stop()
})

test('many at once of one key that only the drive knows are all duplicates', async () => {
  const before = await TestService.start(SMALL)
  for (let n = 0; n < 60; n += 1) await before.github(`{"n":${n}}`)
  await before.drain()
  await settled(before)
  const service = await before.restart(SMALL)
  const answers = await service.world.run(
    Promise.all(Array.from({ length: 8 }, async () => await service.sendGithub('{"n":0}'))),
  )
  assert.deepEqual([...new Set(answers.map((answer) => answer.fields()['duplicate']))], [true])
  assert.equal(await service.lease(), undefined)
  await service.stop()
})

test('a file of keys that is gone, or not what was written, is missed: nothing is taken until that is given up', async () => {
  for (const harm of ['gone', 'changed'] as const) {
    let service = await TestService.start(SMALL)
    for (let n = 0; n < 60; n += 1) await service.github(`{"n":${n}}`)
    await service.drain()
    await settled(service)
    const { world, machine, storage } = service
    await service.stop()
    machine.kill()
    const platform = machine.start()
    const [name = ''] = (await world.run(platform.disk.list('data/interop/replay'))).map((entry) => entry.name)
    const path = `data/interop/replay/${name}`
    await world.run(
      (async () => {
        if (harm === 'gone') return await platform.disk.unlink(path)
        const file = await platform.disk.open(path, { mode: 'append' })
        await file.append([new Uint8Array(1)])
        await file.sync()
        await file.close()
      })(),
    )
    await world.run(platform.workers.close())
    machine.kill()
    service = await TestService.start({ ...SMALL, storage, isUnready: true }, world, machine)
    await service.sleep(2000)
    const ready = await service.ask('GET', '/readyz')
    assert.match(String(ready.fields()['journal_problem']), /1 file of replay keys cannot be read/)
    isProblem(await service.github('{"n":0}'), 503, 'JOURNAL_LOST')
    await service.world.run(service.parts.ledger.adopt('c'))
    assert.equal((await service.github('{"n":0}')).status, 202)
    service = await service.restart(SMALL)
    assert.equal((await service.github('{"n":100}')).status, 202)
    await service.stop()
  }
})

describe('nothing is applied twice', () => {
  test('when a secret is rotated in the middle of redeliveries', async () => {
    const only = (env: string, notAfter?: string): NonNullable<ServiceOptions['config']> => ({
      providers: {
        github: { enabled: true, secrets: [notAfter === undefined ? { env } : { env, not_after: notAfter }] },
      },
    })
    const world = new VirtualWorld(1)
    let service = await TestService.start({ config: only('OLD_SECRET') }, world)
    const end = new Date(service.platform.clock.wall() + DAY_MS).toISOString()
    service = await service.restart({ config: only('OLD_SECRET', end) })
    assert.equal(await isDuplicate(service, '{"n":1}', { secret: OLD_SECRET }), false)
    const secrets = [{ env: 'OLD_SECRET', not_after: end }, { env: 'GITHUB_WEBHOOK_SECRET' }]
    service = await service.restart({ config: { providers: { github: { enabled: true, secrets } } } })
    assert.equal(await isDuplicate(service, '{"n":2}', { secret: OLD_SECRET }), false)
    service = await service.restart({ config: only('GITHUB_WEBHOOK_SECRET'), wallSkewMs: 3 * DAY_MS })
    assert.equal(await isDuplicate(service, '{"n":1}', { secret: NEW_SECRET }), true)
    // Both counted when it came, so it is remembered as long as the longer one may sign it again.
    service = await service.restart({ config: only('GITHUB_WEBHOOK_SECRET'), wallSkewMs: 60 * DAY_MS })
    assert.equal(await isDuplicate(service, '{"n":2}', { secret: NEW_SECRET }), true)
    await service.stop()
  })

  test('when another provider takes what a secret signs', async () => {
    const secrets = [{ env: 'GITHUB_WEBHOOK_SECRET' }]
    const header = { signature_header: 'x-hub-signature-256', signature_prefix: 'sha256=' }
    let service = await TestService.start({
      config: { providers: { generic: { enabled: true, secrets, ...header } } },
    })
    const [body, other] = ['{"n":1}', '{"n":2}']
    assert.equal((await service.ask('POST', '/webhooks/generic', signed(body))).fields()['duplicate'], undefined)
    service = await service.restart({ config: { providers: { github: { enabled: true, secrets } } } })
    assert.equal(await isDuplicate(service, body), true)
    assert.equal(await isDuplicate(service, other), false)
    service = await service.restart({ config: { providers: { generic: { enabled: true, secrets, ...header } } } })
    assert.equal((await service.ask('POST', '/webhooks/generic', signed(other))).fields()['duplicate'], true)
    await service.stop()
  })

  test('after an upgrade from 0.1, whose keys lie in the journal alone', async () => {
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const platform = machine.start()
    const keyOf = (body: string): ReplayKey => ({
      key: replayHash(`github:${addressOf(Buffer.from(body))}`),
      until: platform.clock.wall() + 90 * DAY_MS,
    })
    await world.run(
      (async () => {
        for (const path of ['data', 'data/interop']) await platform.disk.makeDirectory(path)
        const journal = await RollingJournal.open(platform, {
          path: 'data/interop/journal',
          witness: 'data/interop/witness',
          fold: () => {},
          tally: () => ({ count: 0, head: `b3:${'0'.repeat(64)}` }),
        })
        const keys = [0, 1, 2].map((n) => keyOf(`{"n":${n}}`))
        await journal.submit([encodeRecord({ tag: 'replay-keys', keys })]).durable()
        await journal.close()
        await platform.workers.close()
      })(),
    )
    machine.kill()
    let service = await TestService.start(SMALL, world, machine)
    assert.equal(await isDuplicate(service, '{"n":0}'), true)
    for (let n = 10; n < 70; n += 1) await service.github(`{"n":${n}}`)
    await service.drain()
    await settled(service)
    service = await service.restart({ ...SMALL, wallSkewMs: 80 * DAY_MS })
    for (const n of [0, 1, 2]) assert.equal(await isDuplicate(service, `{"n":${n}}`), true, `webhook ${n}`)
    assert.equal(await isDuplicate(service, '{"n":3}'), false)
    await service.stop()
  })
})

function signed(body: string): Asking {
  return { body, token: null, headers: { 'x-hub-signature-256': githubSignature(body) } }
}

describe('replay spaces', () => {
  const member = (provider: string, ...secrets: string[]) => ({ provider, secrets })
  const namesAfter = (
    ...steps: (readonly ReturnType<typeof member>[])[]
  ): ((provider: string) => readonly string[]) => {
    let spaces: readonly ReplaySpace[] = []
    for (const step of steps) spaces = joinSpaces(spaces, step)
    return (provider) => spaceNames(spaces, provider)
  }

  test('a new one is named after its provider, and a rotated secret stays in it', () => {
    assert.deepEqual(
      namesAfter([member('github', 'a')], [member('github', 'a', 'b')], [member('github', 'b')])('github'),
      ['github'],
    )
  })

  test('two that come to share a secret are one, in whatever order', () => {
    const names = namesAfter([member('github', 'a'), member('generic', 'g')], [member('generic', 'g', 'a')])
    assert.deepEqual([names('github').toSorted(), names('generic')], [['generic', 'github'], names('github')])
  })

  test('nothing changes where nothing new is known', () => {
    const spaces = joinSpaces([], [member('github', 'a', 'b')])
    assert.equal(joinSpaces(spaces, [member('github', 'b')]), spaces)
  })
})
