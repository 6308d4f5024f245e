/** Over real sockets and in real time what the simulator shows in virtual time. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { addressOf } from '@cairn/wire'
import { TOPICS } from './interop-life.ts'
import { RealInterop, type Told } from './real-sockets.ts'

/** Says the beginning of a request and then a byte now and then; resolves with what it was told when it is cut. */
async function slowloris(port: number, from: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  let told = ''
  socket.on('data', (piece: Buffer) => (told += piece.toString()))
  socket.on('error', () => undefined)
  socket.write('POST /webhooks/github HTTP/1.1\r\nHost: localhost\r\n')
  const trickle = setInterval(() => socket.write('X: y\r\n'), 100)
  await once(socket, 'close')
  clearInterval(trickle)
  return told
}

const ADDRESSES = 64
const BAD_MIN = 1000
const GOOD = 24

test('bad signatures and slowloris from 64 addresses, over sockets: webhooks and reads are served, the slow are cut', async (t) => {
  // The limits a node has by default, but for the header timeout, which is waited for here, and with this machine.
  await using interop = await RealInterop.open({ ingress: { header_timeout: '1s', request_timeout: '30s' } })
  const { text } = await interop.push('{"kept":true}', '127.0.0.1')
  const { address } = JSON.parse(text) as { address: string }
  const addressOfSender = (n: number): string => `127.0.${1 + (n % ADDRESSES)}.1`
  const slow = Array.from({ length: ADDRESSES }, async (_each, n) => await slowloris(interop.port, addressOfSender(n)))
  const [good, reads]: [Told[], Told[]] = [[], []]
  let bad = 0
  const statuses = new Map<number, number>()
  const flood = Array.from({ length: ADDRESSES }, async (_each, client) => {
    while (bad < BAD_MIN || reads.length < GOOD) {
      bad += 1
      const { status } = await interop.push('{}', addressOfSender(client), 'not the secret')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  const genuine = Array.from({ length: 4 }, async (_each, client) => {
    for (let n = client; n < GOOD; n += 4) {
      good.push(await interop.push(JSON.stringify({ n }), '127.0.0.1'))
      reads.push(await interop.ask('GET', `/o/${address}`))
    }
  })
  await Promise.all(genuine)
  const ready = await interop.ask('GET', '/readyz?class=read')
  await Promise.all(flood)
  assert.deepEqual([...statuses.keys()], [401])
  assert.ok(good.every(({ status }) => status === 202))
  assert.ok(reads.every(({ status, text: body }) => status === 200 && body === '{"kept":true}'))
  assert.equal(ready.status, 200, ready.text)
  for (const told of await Promise.all(slow)) assert.match(told, /^HTTP\/1\.1 408 /)
  assert.equal(interop.metrics.value('webhook_verify_total', { provider: 'github', result: 'fail' }), statuses.get(401))
  assert.equal((await interop.drain(TOPICS[0])).length, GOOD + 1)
  const slowest = (told: readonly Told[]): string => Math.max(...told.map(({ ms }) => ms)).toFixed(0)
  t.diagnostic(
    `${statuses.get(401)} refused; slowest of ${GOOD} webhooks ${slowest(good)} ms, of as many reads ${slowest(reads)} ms`,
  )
})

const OLD = 'the one before'

test('secrets are rotated while webhooks come: none of either is lost, none of a third or of an ended one is taken', async () => {
  // Long enough to start on a machine that is busy.
  const endsAt = Date.now() + 4000
  const secrets = [{ env: 'HOOK_SECRET' }, { env: 'OLD_SECRET', not_after: new Date(endsAt).toISOString() }]
  await using interop = await RealInterop.open(
    { providers: { github: { enabled: true, secrets } } },
    { OLD_SECRET: OLD },
  )
  const accepted = new Set<string>()
  const counts = { before: 0, after: 0 }
  const send = async (n: number): Promise<void> => {
    const body = JSON.stringify({ n })
    const sentAt = Date.now()
    if (n % 3 === 1) counts[sentAt < endsAt ? 'before' : 'after'] += 1
    const { status, text } = await interop.push(body, '127.0.0.1', [undefined, OLD, 'a third one'][n % 3])
    if (status === 202) accepted.add(addressOf(Buffer.from(body)))
    if (n % 3 === 0) assert.equal(status, 202, text)
    else if (n % 3 === 2 || sentAt >= endsAt) assert.equal(status, 401, text)
    else if (Date.now() < endsAt) assert.equal(status, 202, text)
  }
  const sent: Promise<void>[] = []
  for (let n = 0; Date.now() < endsAt || counts.after < 10; n += 1) {
    sent.push(send(n))
    await wait(10)
  }
  await Promise.all(sent)
  assert.ok(counts.before > 2, `only ${counts.before} came before the end`)
  for (const topic of TOPICS) {
    const delivered = await interop.drain(topic)
    assert.equal(delivered.length, accepted.size)
    assert.deepEqual(new Set(delivered), accepted)
  }
})
