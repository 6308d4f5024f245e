/** Damage: the start and the deep verifier name the first bad entry exactly, and nothing is silently accepted. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { writeSecret } from '@cairn/platform'
import { type Draft, Journal } from '@cairn/store'
import { leafHash } from '@cairn/tlog'
import { writeFile } from '../../../verify/virtual/virtual-service.ts'
import { isLeaf, KIND, leafDraft, numberOf } from '../src/domain/record.ts'
import { DIRECTORY, TestService } from './harness.ts'
import { ALICE, named, QuorumClient, rootsOf } from './signers.ts'

const OPTIONS = rootsOf(1, [ALICE])
const SEGMENT = `${DIRECTORY}/journal/0000000001.seg`

async function withVersions(count: number): Promise<TestService> {
  const service = await TestService.start(OPTIONS)
  const quorumClient = new QuorumClient(service)
  for (let at = 0; at < count; at += 1) await quorumClient.publish([named(`n-${at}@1`, `meaning ${at}`)], [ALICE])
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

/** Flips one byte of the checkpoint of so many entries, the first there is. */
async function damageCheckpoint(service: TestService, size: number): Promise<void> {
  const bytes = await readAll(service, SEGMENT)
  const at = bytes.indexOf(`\n${size}\n`)
  assert.ok(at > 0)
  bytes[at + 20]! ^= 1
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
    await new QuorumClient(again).publish([named('more@1', 'x')], [ALICE])
    await again.sleep(1000)
    assert.deepEqual([again.metric('registry_verified_entries_total'), again.parts.verifier.report().progress], [3, 1])
    await again.ask('POST', '/admin/verify')
    await again.sleep(20_000)
    assert.equal(again.metric('registry_verified_entries_total'), 3 + size + 3)
    await again.stop()
  })

  test('asked for right after the start, a round begins at the beginning, whatever the last life had written down', async () => {
    const service = await withVersions(20)
    await service.sleep(5_000)
    await service.stop()
    service.machine.kill()
    const options = { ...OPTIONS, alter: ({ verifier }: TestService['parts']): void => verifier.begin() }
    const again = await TestService.start(options, service.world, service.machine)
    await again.sleep(5_000)
    assert.equal(again.metric('registry_verified_entries_total'), again.parts.published.value.size)
    await again.stop()
  })

  test('holds every checkpoint against the tree: one that is damaged is named by the entry before it', async () => {
    const service = await withVersions(5)
    await service.sleep(2_000)
    await damageCheckpoint(service, 7)
    await service.ask('POST', '/admin/verify')
    await service.sleep(2_000)
    const { bad } = service.parts.verifier.report()
    assert.deepEqual([bad?.index, service.metric('registry_verify_bad_index')], [6, 6])
    assert.match(bad?.why ?? '', /the checkpoint after it is damaged/)
    await service.stop()
  })

  test('a checkpoint that is damaged when the registry starts is an error that names it, in health as well', async () => {
    for (const size of [7, 16]) {
      const service = await withVersions(5)
      await service.stop()
      await damageCheckpoint(service, size)
      service.machine.kill()
      const again = await TestService.start(OPTIONS, service.world, service.machine)
      await again.sleep(1_000)
      assert.deepEqual(again.parts.verifier.report().bad?.index, size - 1)
      const ready = (await again.ask('GET', '/readyz')).fields()
      assert.match(String(ready['log_problem']), new RegExp(`^Entry ${size - 1}: the checkpoint after it is damaged`))
      assert.equal(ready['degraded'], true)
      assert.ok(again.platform.log.lines.some(({ level, fields }) => level === 'error' && fields['index'] === size - 1))
      // Asked again it looks again, and finds the same.
      await again.ask('POST', '/admin/verify')
      await again.sleep(2_000)
      assert.deepEqual(again.parts.verifier.report().bad?.index, size - 1)
      await again.stop()
    }
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

/** The journal written anew with another audit head, approval or proposal at this index, as somebody would who knows how. */
async function rewrite({ world, machine }: TestService, index: number): Promise<void> {
  const platform = machine.start()
  const run = async (): Promise<void> => {
    const path = `${DIRECTORY}/journal`
    const old = await Journal.open(platform, { path, sink: () => undefined })
    const drafts: Draft[] = []
    for await (const event of old.replay()) {
      if (event.tag === 'damage') continue
      const { kind, flags, id } = event
      const payload = event.payload.slice()
      const isIt = isLeaf(kind) && numberOf(id) === index
      drafts.push(isIt ? rewritten(kind, index, payload) : { kind, flags, id: id.slice(), payload })
    }
    await old.close()
    for (const { name } of await platform.disk.list(path)) await platform.disk.unlink(`${path}/${name}`)
    const fresh = await Journal.open(platform, { path, sink: () => undefined })
    await fresh.submit(drafts).durable()
    await fresh.close()
    await platform.workers.close()
  }
  await world.run(run())
  machine.kill()
}

function rewritten(kind: number, index: number, entry: Uint8Array): Draft {
  const text = Buffer.from(entry)
    .toString()
    .replace(/"proposal_id":"p_./, (id) => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`)
  const changed = Buffer.from(text)
  assert.notDeepEqual(changed, Buffer.from(entry))
  const type = kind === KIND.approval ? 'approval' : 'proposal'
  return { ...leafDraft(type, index, leafHash(changed), changed), kind }
}

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

  test('names exactly the entry that somebody rewrote, with sums that are right again', async () => {
    for (const wanted of [5, 13]) {
      const service = await withVersions(10)
      await service.stop()
      service.machine.kill()
      await rewrite(service, wanted)
      await refuses(service, wanted)
      // Without the file HEAD the signed checkpoint says the same.
      const platform = service.machine.start()
      await service.world.run(platform.disk.unlink(`${DIRECTORY}/HEAD`))
      await service.world.run(platform.workers.close())
      await refuses(service, wanted)
    }
  })

  test('a key file that was exchanged for another is named', async () => {
    for (const name of ['log-key', 'cosigner-key']) {
      const service = await withVersions(2)
      await service.stop()
      await service.world.run(writeSecret(service.platform, DIRECTORY, name, new Uint8Array(32).fill(5)))
      service.machine.kill()
      await assert.rejects(TestService.start(OPTIONS, service.world, service.machine), (error) => {
        assert.ok(error instanceof CairnError && error.code === 'KeyMismatch', String(error))
        assert.match(error.message, new RegExp(`The key file ${name} is not the key that signed the last checkpoint`))
        return true
      })
    }
  })

  test('a damaged HEAD file is only a cache; a lost key lets it read and no more', async () => {
    const service = await withVersions(3)
    await service.stop()
    await service.world.run(writeFile(service.platform, `${DIRECTORY}/HEAD`, Buffer.from('{"size":1}')))
    service.machine.kill()
    const again = await TestService.start(OPTIONS, service.world, service.machine)
    assert.equal((await again.ask('GET', '/registry/head')).fields()['version'], 3)
    await again.stop()
    await again.world.run(again.platform.disk.unlink(`${DIRECTORY}/keys/log-key`))
    again.machine.kill()
    const reading = await TestService.start(OPTIONS, again.world, again.machine)
    assert.equal((await reading.ask('GET', '/readyz')).fields()['write_ready'], false)
    await reading.stop()
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
