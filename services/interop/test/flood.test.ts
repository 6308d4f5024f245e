/** A flood of what is not genuine, under the limits a node has by default: what is genuine gets through. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import { TestService } from './harness.ts'

const MEBIBYTE = 1024 * 1024
const RATES = { max_rps: 500, burst: 250 }
/** Of 500 bad ones each, a tenth of a second apart. */
const WAVES = process.env['CAIRN_LONG'] === '1' ? 20 : 8
const NONE = `/o/b3:${'0'.repeat(64)}`

function addressOf(n: number): string {
  return `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
}

describe('the rate is that of genuine webhooks', () => {
  test('bad signatures ten times the rate, from many addresses: every valid webhook is accepted, every read answered', async () => {
    const service = await TestService.start({ config: { ingress: RATES } })
    service.storage.latencyMs = 2
    const good: Answer[] = []
    for (let wave = 0; wave < WAVES; wave += 1) {
      const bad = Array.from({ length: 500 }, async (_each, n) => {
        return await service.sendGithub('{}', { secret: 'wrong', from: addressOf(wave * 500 + n) })
      })
      const valid = Array.from({ length: 4 }, async (_each, n) => await service.sendGithub(`{"n":${wave * 4 + n}}`))
      const reads = Array.from({ length: 4 }, async () => await service.send('GET', NONE))
      good.push(...(await service.world.run(Promise.all([...valid, ...reads]))))
      for (const answer of await service.world.run(Promise.all(bad))) isProblem(answer, 401, 'UNAUTH')
      await service.sleep(90)
    }
    const statuses = Object.groupBy(good, ({ status }) => status)
    assert.deepEqual([statuses[202]?.length, statuses[404]?.length], [4 * WAVES, 4 * WAVES])
    await service.stop()
  })

  test('genuine ones beyond the rate are RATE_LIMIT, nothing of them is kept, and they are taken a moment later', async () => {
    const service = await TestService.start({ config: { ingress: RATES } })
    const sendAll = Array.from({ length: 400 }, async (_each, n) => {
      return { n, answer: await service.sendGithub(`{"n":${n}}`, { from: addressOf(n) }) }
    })
    const refused = (await service.world.run(Promise.all(sendAll))).filter(({ answer }) => answer.status !== 202)
    assert.ok(refused.length > 100 && refused.length <= 150, String(refused.length))
    for (const { answer } of refused) isProblem(answer, 429, 'RATE_LIMIT')
    assert.ok(service.metric('quota_exhaustions_total', { kind: 'rps' }) >= refused.length)
    assert.equal(service.storage.objects.size, 400 - refused.length)
    await service.sleep(1000)
    for (const { n } of refused) assert.equal((await service.github(`{"n":${n}}`)).status, 202)
    assert.equal((await service.drain()).length, 400)
    await service.stop()
  })

  test('anything else beyond the rate is RATE_LIMIT before it is looked at, and takes nothing from webhooks', async () => {
    const service = await TestService.start({ config: { ingress: RATES } })
    const reads = Array.from({ length: 300 }, async () => await service.send('GET', NONE))
    const answers = await service.world.run(Promise.all(reads))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length >= 40)
    for (const answer of refused) isProblem(answer, 429, 'RATE_LIMIT')
    assert.equal((await service.github('{"n":1}')).status, 202)
    await service.stop()
  })
})

describe('bodies that are not verified yet', () => {
  /** Sends all but the end, and then nothing. */
  async function* stuck(bytes: number, release: Promise<void>): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes; at += 65_536) yield await Promise.resolve(Buffer.alloc(65_536))
    await release
  }

  test('their memory is bounded over all addresses: who has taken longest leaves, and who comes is served', async () => {
    const service = await TestService.start({ config: { verification: { max_bytes: 25 * MEBIBYTE } } })
    const release = Promise.withResolvers<void>()
    const slow = Array.from({ length: 60 }, async (_each, n) => {
      return await service.send('POST', '/webhooks/github', {
        headers: { 'content-length': String(MEBIBYTE) },
        token: null,
        body: stuck(MEBIBYTE - 65_536, release.promise),
        from: addressOf(n),
      })
    })
    await service.sleep(10)
    assert.ok(service.parts.gate.bytes <= 25 * MEBIBYTE && service.parts.gate.bytes > 20 * MEBIBYTE)
    assert.equal((await service.github('{"n":1}')).status, 202)
    const first = await service.world.run(slow[0]!)
    isProblem(first, 429, 'BACKPRESSURE')
    release.resolve()
    const answers = await service.world.run(Promise.all(slow))
    assert.ok(answers.filter(({ status }) => status === 429).length >= 34)
    assert.deepEqual([service.parts.gate.bytes, service.parts.gate.addresses], [0, 0])
    await service.stop()
  })

  test('more slow senders than there are seats keep out nobody: who has taken longest leaves', async () => {
    const service = await TestService.start()
    const release = Promise.withResolvers<void>()
    const slow = Array.from({ length: 1500 }, async (_each, n) => {
      return await service.send('POST', '/webhooks/github', {
        headers: { 'content-length': '100' },
        token: null,
        body: stuck(0, release.promise),
        from: addressOf(n),
      })
    })
    await service.sleep(10)
    assert.equal(service.parts.gate.addresses, 1024)
    assert.equal((await service.github('{"n":1}')).status, 202)
    assert.equal((await service.ask('GET', NONE)).status, 404)
    release.resolve()
    const answers = await service.world.run(Promise.all(slow))
    assert.equal(answers.filter(({ code }) => code === 'BACKPRESSURE').length, 1500 - 1024 + 1)
    await service.stop()
  })
})
