import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '@cairn/kernel'
import { json, type RequestContext } from '@cairn/platform'
import { Idempotency } from './idempotency.ts'

function scene() {
  const clock = new VirtualClock()
  const idempotency = new Idempotency(clock)
  let done = 0
  const request = (key: string | undefined, body: object = { cid: 1 }, tid = 'me', path = '/admin/pin') => {
    const headers = { get: (name: string) => (name === 'idempotency-key' ? key : undefined) }
    return { path, body, token: { tid }, headers } as unknown as RequestContext<unknown, unknown, unknown>
  }
  const act = async () => {
    done += 1
    return await Promise.resolve(json(200, done))
  }
  const once = async (...asked: Parameters<typeof request>) => (await idempotency.once(request(...asked), act)).body
  return { clock, idempotency, once, request }
}

test('the same request is done once within a day, and again after it', async () => {
  const { clock, once } = scene()
  assert.deepEqual([await once('a'), await once('a')], ['1', '1'])
  clock.advance(24 * 3_600_000 - 1)
  assert.equal(await once('a'), '1')
  clock.advance(1)
  assert.equal(await once('a'), '2')
})

test('another key, body, token or route is another request; without a key every request is', async () => {
  const { once } = scene()
  const answers = [
    await once('a'),
    await once('b'),
    await once('a', { cid: 2 }),
    await once('a', { cid: 1 }, 'you'),
    await once('a', { cid: 1 }, 'me', '/admin/unpin'),
    await once(undefined),
    await once(undefined),
  ]
  assert.deepEqual(answers, ['1', '2', '3', '4', '5', '6', '7'])
})

test('what is under way is shared; what failed is tried again', async () => {
  const { idempotency, request, once } = scene()
  const failing = idempotency.once(request('a'), async () => await Promise.reject(new Error('no')))
  const same = idempotency.once(request('a'), async () => assert.fail('done twice'))
  await assert.rejects(failing, /no/)
  await assert.rejects(same, /no/)
  assert.equal(await once('a'), '1')
})
