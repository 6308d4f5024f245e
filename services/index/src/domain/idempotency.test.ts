import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RequestContext } from '@cairn/http'
import { isKind, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { VirtualClock } from '@cairn/kernel/testing'
import { MemoryDisk, makeDirectories, replaceSmallFile } from '@cairn/platform'
import { Idempotency } from './idempotency.ts'

type Opened = Awaited<ReturnType<typeof scene>>

async function scene(clock = new VirtualClock(), disk?: MemoryDisk) {
  const runtime = { ...systemRuntime(new MemoryLog(), new MemoryMetrics()), clock }
  const drive = disk ?? new MemoryDisk(runtime, 16 * 1024 * 1024)
  if (disk === undefined) await makeDirectories(drive, 'index')
  const idempotency = await Idempotency.open(drive, 'index', clock)
  let done = 0
  const request = (key: string | undefined, body: object = { cid: 1 }, tid = 'me', path = '/admin/pin') => {
    const headers = { get: (name: string) => (name === 'idempotency-key' ? key : undefined) }
    return { path, body, token: { tid }, headers } as unknown as RequestContext<unknown, unknown, unknown>
  }
  const act = async () => {
    done += 1
    return await Promise.resolve({ status: 202, body: { done } })
  }
  const once = async (...asked: Parameters<typeof request>) => {
    const { status, body } = await idempotency.once(request(...asked), act)
    assert.equal(status, 202)
    assert.ok(typeof body === 'string')
    return (JSON.parse(body) as { done: number }).done
  }
  return { clock, disk: drive, idempotency, once, request }
}

/** What a process that was killed now would find. */
async function again({ clock, disk }: Opened): Promise<Opened> {
  return await scene(clock, disk)
}

test('the same request is done once within a day, and again after it', async () => {
  const { clock, once } = await scene()
  assert.deepEqual([await once('a'), await once('a')], [1, 1])
  clock.advance(24 * 3_600_000 - 1)
  assert.equal(await once('a'), 1)
  clock.advance(1)
  assert.equal(await once('a'), 2)
})

test('another key, body, token or route is another request; without a key every request is', async () => {
  const { once } = await scene()
  const answers = [
    await once('a'),
    await once('b'),
    await once('a', { cid: 2 }),
    await once('a', { cid: 1 }, 'you'),
    await once('a', { cid: 1 }, 'me', '/admin/unpin'),
    await once(undefined),
    await once(undefined),
  ]
  assert.deepEqual(answers, [1, 2, 3, 4, 5, 6, 7])
})

test('what is under way is shared; what failed is tried again', async () => {
  const { idempotency, request, once } = await scene()
  const failing = idempotency.once(request('a'), async () => await Promise.reject(new Error('no')))
  const same = idempotency.once(request('a'), async () => assert.fail('done twice'))
  await assert.rejects(failing, /no/)
  await assert.rejects(same, /no/)
  assert.equal(await once('a'), 1)
})

test('an answer outlives the process, and is forgotten a day after it was given', async () => {
  const first = await scene()
  assert.deepEqual([await first.once('a'), await first.once('b')], [1, 2])
  first.clock.advance(12 * 3_600_000)
  const second = await again(first)
  // The other lives have done nothing yet: what they would do is called 1 again.
  assert.equal(await second.once('b'), 2)
  assert.equal(await second.once('c'), 1)
  first.clock.advance(12 * 3_600_000)
  const third = await again(second)
  assert.deepEqual([await third.once('c'), await third.once('b')], [1, 1])
})

test('what was not durable was not answered; a damaged file is not taken for an empty one', async () => {
  const { disk, clock, idempotency, request } = await scene()
  const gone = idempotency.once(request('a'), async () => await Promise.reject(new Error('no')))
  await assert.rejects(gone, /no/)
  assert.equal(await again({ disk, clock } as Opened).then(({ once }) => once('a')), 1)
  await replaceSmallFile(disk, 'index/answers.json', Buffer.from('{"v":1'))
  await assert.rejects(Idempotency.open(disk, 'index', clock), (error) => isKind(error, 'Integrity'))
})
