/** A directory that is put back from an older copy is told from the log, by what is known of it outside. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemCrypto } from '@cairn/platform'
import { encodeCheckpoint, encodeNote, noteSigner, parseCheckpoint, parseNote, signNote } from '@cairn/tlog'
import { isProblem } from '../../../verify/virtual/answer.ts'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { writeFile } from '../../../verify/virtual/virtual-service.ts'
import { signedRecordPath } from '../src/domain/signed-record.ts'
import { DIRECTORY, type ServiceOptions, TestService } from './harness.ts'
import { readRecords } from './journal-records.ts'
import { ALICE, named, QuorumClient, rootsOf } from './signers.ts'

const OPTIONS: ServiceOptions = { ...rootsOf(1, [ALICE]), environment: { CAIRN_STATE: 'state' } }
/** Nothing is kept outside: what somebody shows is all there is. */
const ALONE: ServiceOptions = rootsOf(1, [ALICE])
const BELOW = [DIRECTORY, `${DIRECTORY}/journal`, `${DIRECTORY}/keys`] as const

type Copy = ReadonlyMap<string, Uint8Array>

/** Runs between two lives. */
async function between<T>({ world, machine }: TestService, run: (platform: VirtualPlatform) => Promise<T>): Promise<T> {
  const platform = machine.start()
  const result = await world.run(run(platform))
  await world.run(platform.workers.close())
  machine.kill()
  return result
}

async function copyOf({ disk }: VirtualPlatform): Promise<Copy> {
  const copy = new Map<string, Uint8Array>()
  for (const directory of BELOW)
    for (const { name, kind } of await disk.list(directory)) {
      if (kind !== 'file') continue
      await using file = await disk.open(`${directory}/${name}`, { mode: 'read' })
      const bytes = new Uint8Array(await file.size())
      await file.read(0, bytes)
      copy.set(`${directory}/${name}`, bytes)
    }
  return copy
}

async function putBack(platform: VirtualPlatform, copy: Copy): Promise<void> {
  for (const path of (await copyOf(platform)).keys()) await platform.disk.unlink(path)
  for (const [path, bytes] of copy) await writeFile(platform, path, bytes)
  for (const directory of BELOW) await platform.disk.syncDirectory(directory)
}

interface RolledBack {
  readonly service: TestService
  readonly older: Copy
  readonly newer: Copy
  /** The newest checkpoint, as somebody outside may have kept it. */
  readonly note: Uint8Array
}

/** A copy is taken, more is committed, and the copy is put back while nothing runs. */
async function rolledBack(options: ServiceOptions): Promise<RolledBack> {
  let service = await TestService.start(options)
  for (let at = 0; at < 2; at += 1) await new QuorumClient(service).publish([named(`n-${at}@1`, 'x')], [ALICE])
  await service.stop()
  service.machine.kill()
  const older = await between(service, copyOf)
  service = await TestService.start(options, service.world, service.machine)
  for (let at = 2; at < 6; at += 1) await new QuorumClient(service).publish([named(`n-${at}@1`, 'x')], [ALICE])
  const { body: note } = await service.ask('GET', '/log/checkpoint')
  await service.stop()
  service.machine.kill()
  const newer = await between(service, copyOf)
  await between(service, async (platform) => await putBack(platform, older))
  return { service, older, newer, note }
}

async function started({ service }: RolledBack, options: ServiceOptions): Promise<TestService> {
  return await TestService.start(options, service.world, service.machine)
}

async function onlyReads(service: TestService): Promise<void> {
  const ready = await service.ask('GET', '/readyz')
  assert.deepEqual([ready.status, ready.fields()['write_ready'], ready.fields()['degraded']], [200, false, true])
  assert.match(String(ready.fields()['write_problem']), /put back from an older copy.*cairn registry adopt/)
  const body = { payload: { items: [named('late@1', 'x')] } }
  isProblem(await service.ask('POST', '/registry/proposals', { body }), 503, 'NotReady')
  assert.equal((await service.ask('GET', '/registry/names/n-1@1')).status, 200)
}

const adopt = async (service: TestService, note: Uint8Array, query = '') =>
  await service.ask('POST', `/admin/adopt${query}`, { body: note })

describe('a registry whose directory was put back from an older copy', () => {
  test('signs nothing when more is known outside; with the newest copy it goes on by itself', async () => {
    const quorum = await rolledBack(OPTIONS)
    const { size } = parseCheckpoint(parseNote(quorum.note).text)
    const reading = await started(quorum, OPTIONS)
    const { body: own } = await reading.ask('GET', '/log/checkpoint')
    assert.ok(parseCheckpoint(parseNote(own).text).size < size)
    await onlyReads(reading)
    await reading.sleep(25 * 60_000)
    assert.deepEqual((await reading.ask('GET', '/log/checkpoint')).body, own, 'not even a new time')
    isProblem(await adopt(reading, quorum.note), 409, 'Behind')
    isProblem(await adopt(reading, own), 409, 'Behind')
    isProblem(await adopt(reading, new Uint8Array(), '?moved=true'), 409, 'Behind')
    const again = await reading.restart(OPTIONS)
    await onlyReads(again)
    await again.stop()
    again.machine.kill()
    await between(quorum.service, async (platform) => await putBack(platform, quorum.newer))
    const writing = await started(quorum, OPTIONS)
    assert.equal((await new QuorumClient(writing).publish([named('late@1', 'x')], [ALICE])).version, 7)
    await writing.stop()
    for (const [at, roots] of (await readRecords(writing)).roots) assert.equal(roots.size, 1, `size ${at}`)
  })

  test('does not forget what was known outside when that is gone too', async () => {
    const quorum = await rolledBack(OPTIONS)
    const reading = await started(quorum, OPTIONS)
    await onlyReads(reading)
    const { origin } = reading.parts.signer.identity
    await reading.stop()
    reading.machine.kill()
    await between(quorum.service, async ({ disk }) => await disk.unlink(signedRecordPath('state', origin)))
    const again = await started(quorum, OPTIONS)
    await onlyReads(again)
    await again.stop()
  })

  test('stops writing at once when somebody shows what it has forgotten', async () => {
    const quorum = await rolledBack(ALONE)
    const service = await started(quorum, ALONE)
    assert.equal((await service.ask('GET', '/readyz')).fields()['write_ready'], true)
    const { body: own } = await service.ask('GET', '/log/checkpoint')
    const shown = async (note: Uint8Array) =>
      await service.ask('POST', '/log/checkpoint/seen', { body: note, token: null })
    const { size } = parseCheckpoint(parseNote(own).text)
    assert.deepEqual((await shown(own)).json(), { size, log_size: size, known: true })
    isProblem(await shown(Buffer.from('no note')), 400, 'Malformed')
    const text = encodeCheckpoint({
      origin: service.parts.signer.identity.origin,
      size: 99,
      root: new Uint8Array(32),
      extensions: [],
    })
    const forged = signNote(text, [
      noteSigner(service.parts.signer.logKey, systemCrypto.ed25519Signer(new Uint8Array(32).fill(9))),
    ])
    isProblem(await shown(encodeNote(forged)), 422, 'InvalidSig')
    assert.equal((await service.ask('GET', '/readyz')).fields()['write_ready'], true, 'anybody could say so')
    const answer = (await shown(quorum.note)).fields()
    assert.deepEqual([answer['known'], answer['log_size']], [false, size])
    await onlyReads(service)
    const again = await service.restart(ALONE)
    await onlyReads(again)
    await again.stop()
  })

  test('that has signed something else since is told by the first checkpoint of before', async () => {
    const quorum = await rolledBack(ALONE)
    const service = await started(quorum, ALONE)
    for (let at = 0; at < 5; at += 1) await new QuorumClient(service).publish([named(`other-${at}@1`, 'y')], [ALICE])
    assert.ok(service.parts.log.size > parseCheckpoint(parseNote(quorum.note).text).size)
    await service.ask('POST', '/log/checkpoint/seen', { body: quorum.note, token: null })
    assert.match(
      String((await service.ask('GET', '/readyz')).fields()['write_problem']),
      /something else for its first/,
    )
    isProblem(await adopt(service, quorum.note), 409, 'Forked')
    await service.stop()
  })
})

describe('what is kept outside', () => {
  test('is brought up to date after each commit, and never says more than the log holds', async () => {
    const service = await TestService.start(OPTIONS)
    const { origin } = service.parts.signer.identity
    const kept = async (): Promise<number> => {
      const note = await service.world.run(service.parts.records.read(origin))
      return parseCheckpoint(parseNote(note ?? assert.fail('nothing is kept')).text).size
    }
    await service.sleep(1)
    for (let at = 0; at < 3; at += 1) {
      await new QuorumClient(service).publish([named(`n-${at}@1`, 'x')], [ALICE])
      assert.ok((await kept()) <= service.parts.log.size)
    }
    await service.sleep(1000)
    assert.equal(await kept(), service.parts.log.size)
    service.machine.crash()
    const again = await TestService.start(OPTIONS, service.world, service.machine)
    assert.equal((await again.ask('GET', '/readyz')).fields()['write_ready'], true)
    await again.stop()
  })

  test('that cannot be read or written keeps nothing from working, and is told once', async () => {
    // A file where the directory would be.
    const service = await TestService.start({ ...OPTIONS, files: { ...OPTIONS.files, 'state/logs': Buffer.from('x') } })
    for (let at = 0; at < 3; at += 1) await new QuorumClient(service).publish([named(`n-${at}@1`, 'x')], [ALICE])
    await service.sleep(2000)
    assert.notEqual(service.parts.records.problem, undefined)
    const again = await service.restart(OPTIONS)
    assert.equal((await new QuorumClient(again).publish([named('more@1', 'x')], [ALICE])).version, 4)
    await again.stop()
  })

  test('is nothing in amnesia', async () => {
    const service = await TestService.start({ ...OPTIONS, disk: 'memory' })
    await new QuorumClient(service).publish([named('a@1', 'x')], [ALICE])
    await service.sleep(1000)
    assert.equal(await service.world.run(service.parts.records.read(service.parts.signer.identity.origin)), undefined)
    await service.stop()
  })

  test('a copy that runs beside the original is told from it, and stops', async () => {
    const quorum = await rolledBack(OPTIONS)
    const { origin } = quorum.service.parts.signer.identity
    await between(quorum.service, async ({ disk }) => await disk.unlink(signedRecordPath('state', origin)))
    const service = await started(quorum, OPTIONS)
    await new QuorumClient(service).publish([named('copy@1', 'x')], [ALICE])
    await service.sleep(1000)
    // The original, elsewhere, has written down what it signed meanwhile.
    const record = {
      schema: 'cairn.signed/1',
      origin,
      size: 1,
      note: Buffer.from(quorum.note).toString(),
      directory: 'd',
    }
    const bytes = Buffer.from(JSON.stringify({ ...record, size: parseCheckpoint(parseNote(quorum.note).text).size }))
    await service.world.run(writeFile(service.platform, signedRecordPath('state', origin), bytes))
    const body = { payload: { items: [named('copy@2', 'x')] } }
    assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 202)
    await service.sleep(1000)
    await onlyReads(service)
    await service.stop()
  })
})

test('a log that is gone whole is an error that names it, and no new log', async () => {
  const service = await TestService.start(OPTIONS)
  await service.stop()
  service.machine.kill()
  await between(service, async ({ disk }) => {
    for (const { name } of await disk.list(`${DIRECTORY}/journal`)) await disk.unlink(`${DIRECTORY}/journal/${name}`)
    await disk.unlink(`${DIRECTORY}/HEAD`)
    await disk.syncDirectory(`${DIRECTORY}/journal`)
    await disk.syncDirectory(DIRECTORY)
  })
  await assert.rejects(
    TestService.start(OPTIONS, service.world, service.machine),
    /trust\.json says that the log had begun/,
  )
})
