import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type AuditAnchor, type AuditFacts, verifyAudit } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { readSmallFile } from '@cairn/platform'
import { parseAddress } from '@cairn/wire'
import { anchoringRegistry, TestService, tokenFor } from './harness.ts'

async function linesOf(service: TestService, limit = 1000): Promise<Uint8Array[]> {
  const lines: string[] = []
  for (let cursor = 1; ; ) {
    const page = (await service.ask('GET', `/audit?cursor=${cursor}&limit=${limit}`)).fields()
    lines.push(...(page['lines'] as string[]))
    if ((page['lines'] as string[]).length === 0) return lines.map((line) => Buffer.from(line))
    cursor = page['next'] as number
  }
}

/** A service with ten lines, six of them anchored. */
async function anchored(): Promise<{ service: TestService; lines: Uint8Array[]; anchors: AuditAnchor[] }> {
  const { heads, client } = anchoringRegistry()
  const service = await TestService.start({ registry: client })
  for (let n = 0; n < 6; n += 1) await service.github(`{"n":${n}}`)
  await service.sleep(60_000)
  for (let n = 6; n < 9; n += 1) await service.github(`{"n":${n}}`)
  await service.github('{"n":9}', { secret: 'wrong' })
  await service.sleep(1000)
  const anchors = heads.map(({ head, count }) => ({ head: parseAddress(head), count }))
  return { service, lines: await linesOf(service, 4), anchors }
}

test('a chain that was left alone is sound, and says how far the registry vouches for it', async () => {
  const { service, lines, anchors } = await anchored()
  assert.equal(lines.length, 10)
  const verdict = verifyAudit(lines, anchors)
  assert.ok(verdict.tag === 'sound')
  assert.deepEqual([verdict.anchored, verdict.count, verdict.first], [6, 10, 1])
  const page = (await service.ask('GET', '/audit')).fields()
  assert.deepEqual([page['anchored'], page['count'], page['head']], [6, 10, verdict.head])
  assert.deepEqual(page['anchor'], { ...anchors[0], log_index: 0 })
  await service.stop()
})

test('every edited, dropped or moved line is found, and so is an end that was cut off', async () => {
  const { service, lines, anchors } = await anchored()
  for (let at = 0; at < lines.length; at += 1) {
    const edited = [...lines]
    edited[at] = Buffer.from(
      Buffer.from(lines[at]!)
        .toString()
        .replace(/"at":(\d+)/, '"at":1'),
    )
    // The last line has none after it: only an anchor could speak for it.
    if (at < lines.length - 1) assert.equal(verifyAudit(edited, anchors).tag, 'broken', `line ${at + 1} edited`)
    const spaced = [...lines]
    spaced[at] = Buffer.from(Buffer.from(lines[at]!).toString().replace('{', '{ '))
    assert.equal(verifyAudit(spaced, anchors).tag, 'broken', `line ${at + 1} in another form`)
    if (at > 0 && at < lines.length - 1) {
      assert.equal(verifyAudit(lines.toSpliced(at, 1), anchors).tag, 'broken', `line ${at + 1} dropped`)
    }
    if (at < lines.length - 1) {
      const moved = lines.toSpliced(at, 2, lines[at + 1]!, lines[at]!)
      assert.equal(verifyAudit(moved, anchors).tag, 'broken', `line ${at + 1} moved`)
    }
  }
  const cut = verifyAudit(lines.slice(0, 5), anchors)
  assert.ok(cut.tag === 'broken' && cut.seq === 6)
  const forged = verifyAudit(lines, [{ head: anchors[0]!.head, count: 5 }])
  assert.ok(forged.tag === 'broken' && forged.seq === 5)
  await service.stop()
})

test('the chain goes on over a restart, and so does what was anchored', async () => {
  const { service, anchors } = await anchored()
  const again = await service.restart()
  await again.github('{"n":"after"}')
  const verdict = verifyAudit(await linesOf(again), anchors)
  assert.ok(verdict.tag === 'sound')
  assert.deepEqual([verdict.anchored, verdict.count], [6, 11])
  assert.equal((await again.ask('GET', '/audit')).fields()['anchored'], 6)
  await again.stop()
})

test('a write that fails leaves no hole: the chain goes on from the last line that is durable', async () => {
  const service = await TestService.start()
  await service.github('{"n":1}')
  service.machine.faults.rates = { 'io-error': 1 }
  const failed = await service.world.run(
    Promise.all([2, 3, 4].map(async (n) => await service.sendGithub(`{"n":${n}}`))),
  )
  assert.deepEqual(
    failed.map(({ status }) => status),
    [503, 503, 503],
  )
  service.machine.faults.rates = {}
  await service.sleep(6000)
  for (const n of [2, 3, 4]) assert.equal((await service.github(`{"n":${n}}`)).status, 202)
  await service.sleep(3000)
  const verdict = verifyAudit(await linesOf(service), [])
  assert.ok(verdict.tag === 'sound', JSON.stringify(verdict))
  await service.stop()
})

test('a flood of refusals drops the oldest of them, counted, and never a line of what was allowed', async () => {
  const service = await TestService.start()
  let accepted = 0
  for (let wave = 0; wave < 5; wave += 1) {
    const bad = Array.from({ length: 500 }, async (_each, n) => {
      return await service.sendGithub(`{"bad":${n}}`, { secret: 'wrong', from: `10.${wave}.${n >> 8}.${n & 255}` })
    })
    const good = Array.from({ length: 3 }, async (_each, n) => await service.sendGithub(`{"good":${3 * wave + n}}`))
    const answers = await service.world.run(Promise.all([...bad, ...good]))
    accepted += answers.filter(({ status }) => status === 202).length
  }
  assert.equal(accepted, 15)
  assert.ok(service.metric('audit_drop_total') > 1000)
  await service.sleep(10_000)
  const lines = (await linesOf(service)).map((line) => JSON.parse(Buffer.from(line).toString()) as { decision: string })
  assert.equal(lines.filter(({ decision }) => decision === 'allow').length, 15)
  const denied = lines.filter(({ decision }) => decision === 'deny').length
  assert.equal(denied + service.metric('audit_drop_total'), 2500)
  await service.stop()
})

test('a drive that refuses every line does not keep the service from stopping in time', async () => {
  const service = await TestService.start()
  service.machine.drive.capacityBytes = 0
  for (let at = 0; at < 100; at += 1) await service.ask('POST', '/webhooks/nobody', { body: 'x', token: null })
  await service.sleep(500)
  await service.stop()
  assert.equal(service.metric('audit_drop_total'), 100)
})

test('what the ingress refuses is in the audit too, under the code its sender was told', async () => {
  const service = await TestService.start({ config: { ingress: { max_rps: 0, max_inflight: 1 } } })
  const json = { 'content-type': 'application/json' }
  const large = JSON.stringify({ payload: 'A'.repeat(1024 * 1024) })
  const answers = [
    await service.ask('POST', '/put', { body: { payload: '' }, token: null }),
    await service.ask('POST', '/put', { body: { payload: '' }, token: tokenFor(['audit:read']) }),
    await service.ask('POST', '/put', { body: { payload: '' }, token: tokenFor(['interop:put'], 1) }),
    await service.ask('POST', '/put', { body: large, headers: json }),
    await service.ask('POST', '/put', {
      body: gzipSync(Buffer.alloc(4 * 1024 * 1024)),
      headers: { ...json, 'content-encoding': 'gzip' },
    }),
    await service.github('{}', { headers: { 'content-encoding': 'gzip' } }),
    await service.github('{}', { headers: { 'sec-fetch-site': 'cross-site' } }),
    await service.ask('POST', '/webhooks/nobody', { body: '{}', token: null }),
  ]
  service.storage.failure = new CairnError('StorageBusy', 'The drive does not answer.', { code: 'drive_stalled' })
  answers.push(await service.github('{"n":1}'))
  service.storage.failure = undefined
  service.storage.latencyMs = 100
  const both = [
    service.send('POST', '/put', { body: { payload: '' } }),
    service.send('POST', '/put', { body: { payload: '' } }),
  ]
  const busy = (await service.world.run(Promise.all(both))).filter(({ status }) => status === 429)
  assert.equal(busy.length, 1)
  await service.sleep(1000)
  const lines = (await linesOf(service)).map((line) => JSON.parse(Buffer.from(line).toString()) as AuditFacts)
  const denied = lines.filter(({ decision }) => decision === 'deny')
  const told = [...answers, ...busy].map(({ code, headers }) => `${code} ${headers['x-corr-id']}`)
  assert.deepEqual(new Set(denied.map(({ reason, corr_id: corrId }) => `${reason} ${corrId}`)), new Set(told))
  assert.equal(denied.length, told.length)
  assert.deepEqual(
    denied.map(({ action, provider }) => `${action} ${provider}`.trim()),
    [...Array.from({ length: 5 }, () => 'put'), 'webhook github', 'webhook github', 'webhook', 'webhook github', 'put'],
  )
  for (const reason of new Set(denied.map(({ reason }) => reason))) {
    assert.equal(service.metric('rejected_total', { reason }), denied.filter((each) => each.reason === reason).length)
  }
  await service.stop()
})

test('in amnesia no file is written, no line is counted into one, and the log says so', async () => {
  const service = await TestService.start({ config: { audit: { sink: 'file' } }, amnesia: true })
  await service.github('{"n":1}')
  await service.sleep(2000)
  assert.equal(service.metric('audit_emitted_total', { sink: 'file' }), 0)
  const found = await service.world.run(readSmallFile(service.platform.disk, 'data/interop/audit.log'))
  assert.equal(found, undefined)
  assert.ok(service.platform.log.lines.some(({ level, message }) => level === 'warn' && message.includes('no file')))
  await service.stop()
})

test('lines go to a file beside the journal, where asked, and go on where it ended', async () => {
  let service = await TestService.start({ config: { audit: { sink: 'file' } } })
  for (const n of [1, 2]) await service.github(`{"n":${n}}`)
  await service.sleep(2000)
  service = await service.restart({ config: { audit: { sink: 'file' } } })
  await service.github('{"n":3}')
  await service.sleep(2000)
  const bytes =
    (await service.world.run(readSmallFile(service.platform.disk, 'data/interop/audit.log'))) ?? assert.fail()
  const lines = Buffer.from(bytes)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => Buffer.from(line))
  const verdict = verifyAudit(lines, [])
  assert.ok(verdict.tag === 'sound' && verdict.count === 3, JSON.stringify(verdict))
  assert.equal(service.metric('audit_emitted_total', { sink: 'file' }), 1)
  await service.stop()
})
