/** A registry from a backup only reads, until it is shown that nothing it signed is missing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSecret, systemCrypto, writeSecret } from '@cairn/platform'
import { encodeCheckpoint, encodeNote, noteSigner, signNote } from '@cairn/tlog'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { writeFile } from '../../../verify/virtual/virtual-service.ts'
import type { CrashPoint } from '../src/domain/crash-points.ts'
import { DIRECTORY, type ServiceOptions, TestService } from './harness.ts'
import { readRecords } from './journal-records.ts'
import { ALICE, named, QuorumClient, rootsOf } from './signers.ts'

const OPTIONS = rootsOf(1, [ALICE])
const KEYS = ['log-key', 'cosigner-key']

interface Backup {
  readonly service: TestService
  readonly note: Uint8Array
  readonly seeds: readonly Uint8Array[]
}

/** A registry with some versions, stopped, its keys taken away: what a backup of it holds. */
async function backedUp(options: ServiceOptions = OPTIONS): Promise<Backup> {
  const service = await TestService.start(options)
  for (let at = 0; at < 3; at += 1) await new QuorumClient(service).publish([named(`n-${at}@1`, 'x')], [ALICE])
  const { body: note } = await service.ask('GET', '/log/checkpoint')
  const { world, platform } = service
  const seeds: Uint8Array[] = []
  for (const name of KEYS) {
    seeds.push((await world.run(readSecret(platform, DIRECTORY, name)))!)
    await world.run(platform.disk.unlink(`${DIRECTORY}/keys/${name}`))
  }
  await service.stop()
  service.machine.kill()
  return { service, note, seeds }
}

async function putBack({ service, seeds }: Backup, platform = service.platform): Promise<void> {
  for (const [at, name] of KEYS.entries()) await service.world.run(writeSecret(platform, DIRECTORY, name, seeds[at]!))
}

async function started({ service }: Backup, options = OPTIONS): Promise<TestService> {
  return await TestService.start(options, service.world, service.machine)
}

async function onlyReads(service: TestService): Promise<void> {
  const ready = await service.ask('GET', '/readyz')
  assert.deepEqual([ready.status, ready.fields()['write_ready']], [200, false])
  assert.match(String(ready.fields()['write_problem']), /restored from a backup.*cairn registry adopt/)
  const body = { payload: { items: [named('late@1', 'x')] } }
  isProblem(await service.ask('POST', '/registry/proposals', { body }), 503, 'NotReady')
  for (const path of [
    '/registry/head',
    '/registry/3',
    '/registry/names/n-1@1',
    '/registry/proof/name/n-1@1',
    '/log/checkpoint',
  ])
    assert.equal((await service.ask('GET', path)).status, 200, path)
}

async function adopt(service: TestService, note: Uint8Array, query = '') {
  return await service.ask('POST', `/admin/adopt${query}`, { body: note })
}

const MOVED = '?moved=true'

describe('a registry that was restored', () => {
  test('serves what was signed and signs nothing, also once its keys are back, until it is adopted', async () => {
    const backup = await backedUp()
    const reading = await started(backup)
    await onlyReads(reading)
    await reading.sleep(25 * 60_000)
    assert.deepEqual(
      (await reading.ask('GET', '/log/checkpoint')).body,
      Buffer.from(backup.note),
      'not even a new time',
    )
    await putBack(backup, reading.platform)
    const again = await reading.restart(OPTIONS)
    await onlyReads(again)
    isProblem(await adopt(again, backup.note), 409, 'OwnCheckpoint')
    const adopted = await adopt(again, new Uint8Array(), MOVED)
    assert.deepEqual([adopted.status, adopted.json()], [200, { size: 10 }])
    assert.match(String((await again.ask('GET', '/readyz')).fields()['write_problem']), /adopted; start the node again/)
    const writing = await again.restart(OPTIONS)
    assert.equal((await new QuorumClient(writing).publish([named('late@1', 'x')], [ALICE])).version, 4)
    isProblem(await adopt(writing, backup.note), 409, 'NotRestored')
    await writing.stop()
    for (const [size, roots] of (await readRecords(writing)).roots) assert.equal(roots.size, 1, `size ${size}`)
  })

  test('is not adopted with a checkpoint it has not all entries of, one of other entries, or one by another key', async () => {
    const backup = await backedUp()
    const service = await started(backup)
    const { identity, logKey } = service.parts.signer
    const signed = (size: number, root: Uint8Array, seed = backup.seeds[0]!): Uint8Array => {
      const text = encodeCheckpoint({ origin: identity.origin, size, root, extensions: [] })
      return encodeNote(signNote(text, [noteSigner(logKey, (message) => systemCrypto.ed25519Signer(seed)(message))]))
    }
    isProblem(await adopt(service, signed(11, new Uint8Array(32))), 409, 'Behind')
    isProblem(await adopt(service, signed(9, new Uint8Array(32))), 409, 'Forked')
    isProblem(await adopt(service, signed(9, new Uint8Array(32), new Uint8Array(32).fill(9))), 422, 'InvalidSig')
    isProblem(await adopt(service, Buffer.from('no note')), 400, 'Malformed')
    await onlyReads(service)
    isProblem(await adopt(service, backup.note, MOVED), 409, 'NoKeys')
    await putBack(backup, service.platform)
    assert.equal(
      (await adopt(service, signed(9, await service.parts.log.rootAt(9)))).status,
      200,
      'an older one is no harm',
    )
    await service.stop()
  })

  test('does not show entries that nobody has signed; adopted, it completes them', async () => {
    let armed = false
    const reach = (point: CrashPoint): Promise<void> | undefined => {
      if (!armed || point !== 'entries-synced') return undefined
      service.machine.kill()
      return Promise.withResolvers<void>().promise
    }
    const service = await TestService.start({ ...OPTIONS, reach })
    await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
    const { body: note } = await service.ask('GET', '/log/checkpoint')
    armed = true
    service
      .send('POST', '/registry/proposals', { body: { payload: { items: [named('b@1', 'y')] } } })
      .catch(() => undefined)
    await service.world.run(service.world.sleep(100))
    armed = false
    const platform = service.machine.start()
    await service.world.run(writeFile(platform, `${DIRECTORY}/restored`, Buffer.from('')))
    service.machine.kill()
    const reading = await TestService.start(OPTIONS, service.world, service.machine)
    assert.deepEqual([reading.parts.log.size, reading.parts.published.value.size], [4, 4])
    assert.equal((await adopt(reading, note, MOVED)).status, 200)
    const writing = await reading.restart(OPTIONS)
    assert.equal(writing.parts.published.value.size, 5)
    await writing.stop()
  })

  test('without its keys and without the file that names them it does not start', async () => {
    const backup = await backedUp()
    const platform = backup.service.machine.start()
    await backup.service.world.run(platform.disk.unlink(`${DIRECTORY}/trust.json`))
    await backup.service.world.run(platform.workers.close())
    backup.service.machine.kill()
    await assert.rejects(started(backup), /keys of the log are missing, and so is trust.json/)
  })

  test('a damaged file of whose signatures count is named, with its keys there or not', async () => {
    for (const hasKeys of [true, false]) {
      const backup = await backedUp()
      const platform = backup.service.machine.start()
      if (hasKeys) await putBack(backup, platform)
      await backup.service.world.run(writeFile(platform, `${DIRECTORY}/trust.json`, Buffer.alloc(200)))
      await backup.service.world.run(platform.workers.close())
      backup.service.machine.kill()
      await assert.rejects(started(backup), /trust\.json, which says whose signatures count, is damaged; restore it/)
    }
  })
})
