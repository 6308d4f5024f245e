/** A journal that lost something is missed: by its witness, or by the registry. It is read, and takes nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { verifyAudit } from '@cairn/clients'
import { parseAddress } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { anchoringRegistry, type ServiceOptions, TestService } from './harness.ts'

const JOURNAL = 'data/interop/journal'
const WITNESS = 'data/interop/witness'
const LINES = 10
const SEED = new Uint8Array(32).fill(5)

type Tamper = (platform: VirtualPlatform) => Promise<void>

/** Ten webhooks, and a clean stop. */
async function stopped(options: ServiceOptions = {}): Promise<TestService> {
  const service = await TestService.start(options)
  for (let n = 1; n <= LINES; n += 1) assert.equal((await service.github(`{"n":${n}}`)).status, 202)
  await service.sleep(61_000)
  await service.stop()
  service.machine.kill()
  return service
}

/** Between two lives somebody, or something, changes what is on the drive. */
async function tampered({ world, machine }: TestService, tamper: Tamper): Promise<void> {
  const platform = machine.start()
  await world.run(tamper(platform))
  await world.run(platform.workers.close())
  machine.kill()
}

async function startedAgain(
  { world, machine, storage }: TestService,
  options: ServiceOptions = {},
): Promise<TestService> {
  const service = await TestService.start({ storage, isUnready: true, ...options }, world, machine)
  await service.sleep(2000)
  return service
}

async function segments(platform: VirtualPlatform): Promise<string[]> {
  const names = (await platform.disk.list(JOURNAL)).map(({ name }) => name)
  return names.filter((name) => name.endsWith('.seg')).map((name) => `${JOURNAL}/${name}`)
}

async function changed(platform: VirtualPlatform, change: (bytes: Uint8Array) => Uint8Array): Promise<void> {
  const [path = ''] = await segments(platform)
  const file = await platform.disk.open(path, { mode: 'append' })
  const bytes = new Uint8Array(await file.size())
  await file.read(0, bytes)
  await file.truncate(0)
  await file.append([change(bytes)])
  await file.sync()
  await file.close()
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  bytes[at] = (bytes[at] ?? 0) ^ 1
  return bytes
}

/** Where each record begins: they start with four bytes that nothing else has. */
function recordsIn(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: number[] = []
  for (let at = 128; at + 4 <= bytes.length; at += 8) if (view.getUint32(at, true) === 0x7ca1_12ec) found.push(at)
  return found
}

const CASES: readonly { readonly name: string; readonly says: RegExp; readonly tamper: Tamper }[] = [
  {
    name: 'its journal was deleted',
    says: /0 of 10 audit lines are there/,
    tamper: async (platform) => {
      for (const path of await segments(platform)) await platform.disk.unlink(path)
      await platform.disk.syncDirectory(JOURNAL)
    },
  },
  {
    name: 'its journal was cut to half',
    says: /[1-9] of 10 audit lines are there/,
    tamper: async (platform) => await changed(platform, (bytes) => bytes.slice(0, bytes.length / 2)),
  },
  {
    name: 'its journal was cut where a record ends',
    says: /9 of 10 audit lines are there/,
    tamper: async (platform) => await changed(platform, (bytes) => bytes.slice(0, recordsIn(bytes).at(-1))),
  },
  {
    name: 'a bit of the last record flipped after a clean stop',
    says: /9 of 10 audit lines are there.*1 place in it cannot be read/,
    tamper: async (platform) => await changed(platform, (bytes) => flipped(bytes, (recordsIn(bytes).at(-1) ?? 0) + 90)),
  },
  {
    name: 'a bit in the middle of it flipped',
    says: /1 place in it cannot be read/,
    tamper: async (platform) => await changed(platform, (bytes) => flipped(bytes, (recordsIn(bytes)[4] ?? 0) + 90)),
  },
]

describe('interop reads and takes nothing, and says why, when', () => {
  for (const { name, says, tamper } of CASES) {
    test(name, async () => {
      const before = await stopped()
      await tampered(before, tamper)
      let service = await startedAgain(before)
      const ready = await service.ask('GET', '/readyz')
      assert.equal(ready.status, 503)
      assert.deepEqual(ready.fields()['missing'], ['journal_whole'])
      assert.match(String(ready.fields()['journal_problem']), says)
      assert.match(String(ready.fields()['journal_problem']), /cairn interop adopt/)
      assert.equal((await service.ask('GET', '/readyz?class=read')).status, 200)
      isProblem(await service.github('{"n":1}'), 503, 'JOURNAL_LOST')
      isProblem(await service.ask('POST', '/put', { body: { payload: '' } }), 503, 'JOURNAL_LOST')
      assert.equal((await service.ask('GET', '/audit')).status, 200)
      await service.stop()
      service.machine.kill()

      service = await startedAgain(before)
      assert.equal((await service.ask('GET', '/readyz')).status, 503, 'a second start does not forget')
      const adopted = await service.ask('POST', '/admin/adopt')
      assert.deepEqual([adopted.status, adopted.fields()['line']], [200, LINES + 1])
      assert.match(String(adopted.fields()['lost']), says)
      assert.equal((await service.github('{"n":"new"}')).status, 202)
      await service.stop()
      service.machine.kill()

      service = await startedAgain(before)
      assert.equal((await service.ask('GET', '/readyz')).status, 200, 'what was given up is not missed again')
      isProblem(await service.ask('POST', '/admin/adopt'), 409, 'nothing_lost')
      const page = (await service.ask('GET', '/audit?limit=1000')).fields()
      assert.deepEqual([page['count'], page['next']], [LINES + 2, LINES + 3])
      const lines = (page['lines'] as string[]).map((line) => Buffer.from(line))
      const told = lines.map((line) => JSON.parse(line.toString()) as { action: string; event: string })
      assert.match(told.find(({ action }) => action === 'adopt')?.event ?? '', says)
      const verdict = verifyAudit(lines, [])
      assert.equal(verdict.tag, 'sound', JSON.stringify(verdict))
      await service.stop()
    })
  }
})

test('after a crash a torn end is cut, and nothing is missed: it was never acknowledged', async () => {
  const service = await TestService.start()
  for (let n = 1; n <= 3; n += 1) await service.github(`{"n":${n}}`)
  service.machine.kill()
  await tampered(
    service,
    async (platform) => await changed(platform, (bytes) => Buffer.concat([bytes, Buffer.alloc(40, 7)])),
  )
  const again = await startedAgain(service)
  assert.equal((await again.ask('GET', '/readyz')).status, 200)
  assert.ok(((await again.ask('GET', '/audit')).fields()['count'] as number) >= 3)
  await again.stop()
})

test('a witness that is missing or damaged takes nothing from a journal that is whole', async () => {
  const damage: readonly Tamper[] = [
    async (platform) => await platform.disk.unlink(WITNESS),
    async (platform) => {
      const file = await platform.disk.open(WITNESS, { mode: 'append' })
      await file.truncate(40)
      await file.sync()
      await file.close()
    },
  ]
  for (const tamper of damage) {
    const before = await stopped()
    await tampered(before, tamper)
    const service = await startedAgain(before)
    assert.equal((await service.ask('GET', '/readyz')).status, 200)
    await service.stop()
  }
})

describe('the registry knows how many lines there were', () => {
  const everything: Tamper = async (platform) => {
    // With whatever else the journal keeps beside its segments.
    for (const { name } of await platform.disk.list(JOURNAL)) await platform.disk.unlink(`${JOURNAL}/${name}`)
    await platform.disk.unlink(WITNESS)
    await platform.disk.syncDirectory(JOURNAL)
    await platform.disk.syncDirectory('data/interop')
  }

  test('so a start without journal and witness takes nothing; adopted, it goes on from there', async () => {
    const { heads, client } = anchoringRegistry()
    const options = { registry: client, identitySeed: SEED }
    const before = await stopped(options)
    assert.equal(heads.at(-1)?.count, LINES)
    await tampered(before, everything)
    const service = await startedAgain(before, options)
    const ready = await service.ask('GET', '/readyz')
    assert.match(String(ready.fields()['journal_problem']), /0 of 10 audit lines are there/)
    isProblem(await service.github('{"n":1}'), 503, 'JOURNAL_LOST')
    await service.sleep(120_000)
    assert.equal(heads.length, 1, 'nothing is anchored over it')
    const adopted = await service.ask('POST', '/admin/adopt')
    assert.equal(adopted.fields()['line'], LINES + 1)
    await service.github('{"n":1}')
    await service.sleep(61_000)
    assert.equal(heads.at(-1)?.count, LINES + 3, 'the refusal of before is a line too')
    assert.equal((await service.ask('GET', '/readyz')).status, 200)
    const page = (await service.ask('GET', '/audit')).fields()
    const anchors = heads.map(({ head, count }) => ({ head: parseAddress(head), count }))
    const verdict = verifyAudit(
      (page['lines'] as string[]).map((line) => Buffer.from(line)),
      anchors,
    )
    assert.equal(verdict.tag, 'sound', JSON.stringify(verdict))
    await service.stop()
  })

  test('and heads of another node are not ours', async () => {
    const { heads, client } = anchoringRegistry()
    heads.push({ head: parseAddress(`b3:${'ab'.repeat(32)}`), count: 500, chain: '00'.repeat(16) })
    heads.push({ head: parseAddress(`b3:${'ab'.repeat(32)}`), count: 500 })
    const service = await TestService.start({ registry: client, identitySeed: SEED })
    await service.github('{"n":1}')
    await service.sleep(61_000)
    assert.equal((await service.ask('GET', '/readyz')).status, 200)
    await service.stop()
  })

  test('a registry that does not know an anchor it gave is shown what it had signed then', async () => {
    const { heads, shown, client } = anchoringRegistry()
    const options = { registry: client, identitySeed: SEED }
    const service = await stopped(options)
    assert.deepEqual([heads.length, shown], [1, []])
    heads.pop()
    const again = await startedAgain(service, options)
    assert.deepEqual(shown, ['checkpoint of 1'])
    assert.equal((await again.ask('GET', '/readyz')).status, 200, 'nothing of ours is missing')
    await again.stop()
  })

  test('a registry that is away does not keep interop from starting, and is asked again', async () => {
    const { heads, client } = anchoringRegistry()
    const options = { registry: client, identitySeed: SEED }
    const before = await stopped(options)
    await tampered(before, everything)
    let isAway = true
    const registry = {
      ...client,
      newestAuditHead: async (...args: Parameters<typeof client.newestAuditHead>) => {
        if (isAway) throw new Error('away')
        return await client.newestAuditHead(...args)
      },
    }
    const service = await startedAgain(before, { registry, identitySeed: SEED })
    assert.equal((await service.ask('GET', '/readyz')).status, 200)
    isAway = false
    await service.sleep(61_000)
    assert.equal((await service.ask('GET', '/readyz')).status, 503)
    assert.equal(heads.length, 1)
    await service.stop()
  })
})
