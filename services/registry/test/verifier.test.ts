/** Damage: the start and the deep verifier name the first bad entry exactly, and nothing is silently accepted. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { DIRECTORY, TestService, writeFile } from './harness.ts'
import { ALICE, named, rootsOf, Story } from './signers.ts'

const OPTIONS = rootsOf(1, [ALICE])
const SEGMENT = `${DIRECTORY}/journal/0000000001.seg`

async function withVersions(count: number): Promise<TestService> {
  const service = await TestService.start(OPTIONS)
  const story = new Story(service)
  for (let at = 0; at < count; at += 1) await story.publish([named(`n-${at}@1`, `meaning ${at}`)], [ALICE])
  return service
}

async function readAll(service: TestService, path: string): Promise<Buffer> {
  return await service.world.run(
    (async () => {
      await using file = await service.platform.disk.open(path, { mode: 'read' })
      const bytes = Buffer.alloc(await file.size())
      await file.read(0, bytes)
      return bytes
    })(),
  )
}

/** Flips one byte in the middle of the entry that contains this text. */
async function damage(service: TestService, text: string): Promise<void> {
  const bytes = await readAll(service, SEGMENT)
  const at = bytes.indexOf(text)
  assert.ok(at > 0)
  bytes[at + 5]! ^= 1
  await service.world.run(writeFile(service.platform, SEGMENT, bytes))
}

describe('the deep verifier', () => {
  test('reads everything, reports its progress, and goes on where it was after a restart', async () => {
    const service = await withVersions(90)
    await service.sleep(20_000)
    const { next, size, progress, bad, completed_at: at } = service.parts.verifier.report()
    assert.deepEqual([next, progress, bad, at === null], [size, 1, null, false])
    const read = service.metric('registry_verified_entries_total')
    assert.equal(read, size)
    assert.ok(service.metric('audit_chain_verify_seconds_count') >= size / 64)
    const again = await service.restart(OPTIONS)
    await again.sleep(1000)
    assert.equal(again.metric('registry_verified_entries_total'), 0, 'nothing new')
    await new Story(again).publish([named('more@1', 'x')], [ALICE])
    await again.sleep(1000)
    assert.deepEqual([again.metric('registry_verified_entries_total'), again.parts.verifier.report().progress], [3, 1])
    await again.ask('POST', '/admin/verify')
    await again.sleep(20_000)
    assert.equal(again.metric('registry_verified_entries_total'), 3 + size + 3)
    await again.stop()
  })

  test('names the first entry that is wrong, and says so until it is asked again', async () => {
    const service = await withVersions(20)
    await service.sleep(5_000)
    await damage(service, '"proposal_id"')
    await service.ask('POST', '/admin/verify')
    await service.sleep(5_000)
    const report = (await service.ask('GET', '/admin/verify')).json() as { bad: { index: number; why: string } }
    assert.equal(report.bad.index, 0, report.bad.why)
    await service.stop()
  })
})

describe('a start on a damaged log', () => {
  const refuses = async (service: TestService, index: number): Promise<void> => {
    service.machine.kill()
    await assert.rejects(TestService.start(OPTIONS, service.world, service.machine), (error) => {
      assert.ok(error instanceof CairnError && error.code === 'LogDamaged', String(error))
      assert.match(error.message, new RegExp(`entry ${index}\\b`))
      return true
    })
    service.machine.kill()
  }

  test('names the entry that is damaged, missing or cut off', async () => {
    for (const wanted of [1, 10, 29]) {
      const service = await withVersions(10)
      const entry = await service.world.run(service.parts.archive.entry(wanted))
      await service.stop()
      await damage(service, Buffer.from(entry).toString())
      await refuses(service, wanted)
    }
    const short = await withVersions(10)
    await short.stop()
    const bytes = await readAll(short, SEGMENT)
    const entry = Buffer.from('"type":"approval"')
    const last = bytes.lastIndexOf(entry)
    await short.world.run(writeFile(short.platform, SEGMENT, bytes.subarray(0, last)))
    await refuses(short, 29)
  })

  test('a damaged HEAD file is only a cache; a lost key is an error', async () => {
    const service = await withVersions(3)
    await service.stop()
    await service.world.run(writeFile(service.platform, `${DIRECTORY}/HEAD`, Buffer.from('{"size":1}')))
    service.machine.kill()
    const again = await TestService.start(OPTIONS, service.world, service.machine)
    assert.equal((await again.ask('GET', '/registry/head')).fields()['version'], 3)
    await again.stop()
    await again.world.run(again.platform.disk.unlink(`${DIRECTORY}/keys/log-key`))
    again.machine.kill()
    await assert.rejects(TestService.start(OPTIONS, again.world, again.machine), /log-key is missing/)
  })

  test('other trust roots than the log began with refuse to start; so does a file with another hash', async () => {
    const service = await withVersions(1)
    await service.stop()
    service.machine.kill()
    const other = rootsOf(1, [{ ...ALICE, id: 'somebody' }])
    await assert.rejects(TestService.start(other, service.world, service.machine), /began with another signer set/)
    service.machine.kill()
    const wrong = {
      ...OPTIONS,
      config: { bootstrap: { ...OPTIONS.config?.bootstrap, trust_roots_hash: `b3:${'0'.repeat(64)}` } },
    }
    await assert.rejects(TestService.start(wrong, service.world, service.machine), /is b3:[0-9a-f]{64}, not b3:0000/)
  })
})

test('without trust roots: one of one on loopback, and a refusal anywhere else', async () => {
  const service = await TestService.start()
  assert.match(
    await service.summary(),
    /^version 0 · quorum 1 of 1 · log key [0-9a-f]{4}…[0-9a-f]{2} · made its own signer: /,
  )
  const key = await readAll(service, `${DIRECTORY}/signer.key`)
  assert.match(key.toString(), /"schema":"cairn.signer-key\/1"/)
  const again = await service.restart()
  assert.match(await again.summary(), /^version 0 · quorum 1 of 1 · log key [0-9a-f]{4}…[0-9a-f]{2}$/)
  await again.stop()
  const config = { bind_addr: '0.0.0.0:7073', insecure_public: true }
  await assert.rejects(TestService.start({ config }), /trust_roots_path/)
})
