/** Bodies as they come: in any pieces, in memory that is used again, under either of two secrets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { OLD_SECRET, TestService } from './harness.ts'

/** As a socket hands it over: each piece lies where the one before was. */
async function* throughOneBuffer(body: Buffer, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.alloc(pieceBytes)
  for (let at = 0; at < body.length; at += pieceBytes) {
    const length = body.copy(buffer, 0, at, at + pieceBytes)
    yield await Promise.resolve(buffer.subarray(0, length))
    buffer.fill(0)
  }
}

for (const pieceBytes of [1, 7, 4096, 50_000]) {
  test(`a body in pieces of ${pieceBytes} bytes, all in one buffer, is verified and stored as it was sent`, async () => {
    const service = await TestService.start()
    const text = JSON.stringify({
      commits: Array.from({ length: pieceBytes === 1 ? 40 : 4000 }, (_each, n) => `c${n}`),
    })
    const body = Buffer.from(text)
    const headers = { 'content-length': String(body.length) }
    const answer = await service.github(text, { headers, body: throughOneBuffer(body, pieceBytes) })
    assert.equal(answer.status, 202, answer.body.toString())
    assert.deepEqual(Buffer.from(service.storage.objects.get(addressOf(body))!), body)
    await service.stop()
  })
}

/** The wall clock of every world. */
const WORLD_BEGINS_AT = 1_700_000_000_000
const ROTATION_MS = 10_000
const WEBHOOKS = 300

test('secrets are rotated under load: none of either is lost, and none of a third, or after the end of the first, is taken', async () => {
  const world = new VirtualWorld(1)
  const endsAt = WORLD_BEGINS_AT + ROTATION_MS
  const secrets = [{ env: 'GITHUB_WEBHOOK_SECRET' }, { env: 'OLD_SECRET', not_after: new Date(endsAt).toISOString() }]
  const service = await TestService.start({ config: { providers: { github: { enabled: true, secrets } } } }, world)
  service.storage.latencyMs = 5
  const sendEach = async (n: number) => {
    await world.sleep((n * 2 * ROTATION_MS) / WEBHOOKS)
    const secret = [undefined, OLD_SECRET, 'a third one'][n % 3]
    const isOver = service.platform.clock.wall() >= endsAt
    const { status } = await service.sendGithub(`{"n":${n}}`, secret === undefined ? {} : { secret })
    return { n, status, expected: n % 3 === 0 || (n % 3 === 1 && !isOver) ? 202 : 401 }
  }
  const answers = await world.run(Promise.all(Array.from({ length: WEBHOOKS }, async (_each, n) => await sendEach(n))))
  for (const { n, status, expected } of answers) assert.equal(status, expected, `webhook ${n}`)
  const accepted = answers.filter(({ status }) => status === 202).map(({ n }) => `{"n":${n}}`)
  assert.ok(accepted.length > WEBHOOKS / 3 && accepted.length < (WEBHOOKS * 2) / 3)
  const delivered = (await service.drain()).map(({ message }) => String(message.body['address']))
  assert.deepEqual(new Set(delivered), new Set(accepted.map((body) => addressOf(Buffer.from(body)))))
  assert.equal(delivered.length, accepted.length)
  await service.stop()
})
