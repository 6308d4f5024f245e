/**
 * A fault at every call that a put, a read and a delete make to the drive. Whatever happens: the right status, no byte
 * that is not the object's, what was acknowledged stays, and the drive is trusted again only after it proved itself.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { type Answer, isProblem } from '../../../verify/virtual/answer.ts'
import type { Fault, FaultyOperation } from '../../../verify/virtual/faults.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { TestService } from './harness.ts'
import { CHUNK, frames } from './objects.ts'

const OLD = noise(3 * CHUNK, 1)
const NEW = noise(2 * CHUNK + 5, 2)

const WRITE_FAULTS: readonly (readonly [FaultyOperation, Fault])[] = [
  ['append', 'io-error'],
  ['append', 'no-space'],
  ['append', 'short-write'],
  ['append', 'bit-flip'],
  ['sync', 'io-error'],
]
const READ_FAULTS: readonly (readonly [FaultyOperation, Fault])[] = [
  ['read', 'io-error'],
  ['read', 'bit-flip'],
  ['open', 'io-error'],
]

async function begin(): Promise<TestService> {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  await service.ask('POST', '/o?stream', { body: OLD })
  await service.sleep(1000)
  return service
}

/** The store works, whatever it went through: within seconds it takes writes, and nothing promised is gone. */
async function isSound(service: TestService, promised: readonly Buffer[]): Promise<void> {
  service.machine.faults.clear()
  await service.sleep(15_000)
  assert.equal((await service.ask('GET', '/readyz')).status, 200)
  assert.ok((await service.ask('POST', '/o', { body: noise(100, 77) })).status < 300)
  for (const bytes of promised) {
    const read = await service.ask('GET', `/o/${addressOf(bytes)}`)
    assert.ok(read.status === 200 && read.body.equals(bytes), `${read.status} ${read.code}`)
  }
}

/** Never wrong bytes; refused with a status that says whose fault it is. */
function isHonest(answer: Answer, bytes: Buffer): void {
  if (answer.status < 300) {
    assert.ok(answer.broken !== undefined || answer.body.equals(bytes))
    assert.ok(answer.body.equals(bytes.subarray(0, answer.body.length)))
  } else {
    assert.match(`${answer.status} ${answer.code}`, /^(502 integrity|503 \w+|507 no_space)$/)
  }
}

describe('a fault while an object is put', () => {
  for (const [operation, fault] of WRITE_FAULTS) {
    test(`${fault} at each ${operation}`, async () => {
      for (let nth = 1; nth <= 4; nth += 1) {
        const service = await begin()
        service.machine.faults.plan({ operation, nth, fault })
        const put = await service.ask('PUT', `/o/${addressOf(NEW)}?stream`, { body: NEW })
        if (put.status >= 300) {
          assert.match(`${put.status} ${put.code}`, /^(503 (write_failed|not_ready|index_\w+)|507 no_space)$/)
          assert.ok(fault !== 'no-space' || operation !== 'append' || put.status === 507)
          isProblem(await service.ask('GET', `/o/${addressOf(NEW)}`), 404, 'not_found')
        }
        // A bit that flips on its way to the drive is found when it is read, and never handed out.
        const promised = put.status < 300 && fault !== 'bit-flip' ? [OLD, NEW] : [OLD]
        isHonest(await service.ask('GET', `/o/${addressOf(OLD)}`), OLD)
        await isSound(service, promised)
        assert.ok((await service.ask('PUT', `/o/${addressOf(NEW)}?stream`, { body: NEW })).status < 300)
        await service.sleep(1000)
        assert.ok((await service.ask('GET', `/o/${addressOf(NEW)}`)).body.equals(NEW) || fault === 'bit-flip')
        await service.stop()
      }
    })
  }
})

describe('a fault while an object is read', () => {
  for (const [operation, fault] of READ_FAULTS) {
    test(`${fault} at each ${operation}`, async () => {
      for (let nth = 1; nth <= 6; nth += 1) {
        const service = await begin()
        service.machine.faults.plan({ operation, nth, fault })
        isHonest(await service.ask('GET', `/o/${addressOf(OLD)}`), OLD)
        isHonest(
          await service.ask('GET', `/o/${addressOf(OLD)}`, { headers: { range: 'bytes=65530-65540' } }),
          OLD.subarray(65530, 65541),
        )
        await isSound(service, [OLD])
        await service.stop()
      }
    })
  }
})

describe('a fault while an object is deleted', () => {
  for (const [operation, fault] of WRITE_FAULTS) {
    test(`${fault} at each ${operation}`, async () => {
      for (let nth = 1; nth <= 2; nth += 1) {
        const service = await begin()
        service.machine.faults.plan({ operation, nth, fault })
        const deleted = await service.ask('DELETE', `/o/${addressOf(OLD)}`)
        assert.match(`${deleted.status} ${deleted.code}`, /^(204 undefined|503 \w+|507 no_space)$/)
        const read = await service.ask('GET', `/o/${addressOf(OLD)}`)
        if (deleted.status === 204) isProblem(read, 404, 'not_found')
        else isHonest(read, OLD)
        await isSound(service, [])
        await service.stop()
      }
    })
  }
})

test('after a failed write the service is unready for writes, still reads, and is ready once a new segment proved itself', async () => {
  const service = await begin()
  const { faults } = service.machine
  faults.plan({ operation: 'sync', fault: 'io-error' })
  // No new segment either, for a while.
  for (let nth = 1; nth <= 3; nth += 1) faults.plan({ operation: 'open', path: /journal/, nth, fault: 'io-error' })
  isProblem(await service.ask('POST', '/o', { body: 'lost' }), 503, 'write_failed')
  isProblem(await service.ask('POST', '/o', { body: 'refused' }), 503, 'not_ready')
  isProblem(await service.ask('DELETE', `/o/${addressOf(OLD)}`), 503, 'not_ready')
  await service.sleep(600)
  const ready = await service.ask('GET', '/readyz')
  faults.clear()
  if (ready.status === 503) assert.deepEqual(ready.fields()['missing'], ['store_writable'])
  await isSound(service, [OLD])
  await service.stop()
})

test('a stream whose chunks were lost to a failed sync is 503, not a conflict, and can be sent again', async () => {
  const service = await begin()
  const more = Promise.withResolvers<void>()
  // Every chunk is written; only the end of the body is still to come.
  const whole = NEW.subarray(0, 2 * CHUNK)
  const body = (async function* () {
    yield whole
    await more.promise
  })()
  const streaming = service.send('PUT', `/o/${addressOf(whole)}?stream`, { body })
  await service.sleep(100)
  service.machine.faults.plan({ operation: 'sync', fault: 'io-error' })
  isProblem(await service.ask('POST', '/o', { body: 'somebody else syncs' }), 503, 'write_failed')
  await service.sleep(10_000)
  more.resolve()
  isProblem(await service.world.run(streaming), 503, 'write_failed')
  isProblem(await service.ask('GET', `/o/${addressOf(whole)}`), 404, 'not_found')
  assert.equal((await service.ask('PUT', `/o/${addressOf(whole)}?stream`, { body: whole })).status, 201)
  await isSound(service, [OLD, whole])
  await service.stop()
})

test('chunks lost to a failed sync in the middle of a POST /c are not promised', async () => {
  const service = await begin()
  const more = Promise.withResolvers<void>()
  const body = (async function* () {
    yield frames([NEW.subarray(0, CHUNK)])
    await more.promise
    yield frames([NEW.subarray(CHUNK, 2 * CHUNK)])
  })()
  const sending = service.send('POST', '/c', { body })
  await service.sleep(100)
  service.machine.faults.plan({ operation: 'sync', fault: 'io-error' })
  isProblem(await service.ask('POST', '/o', { body: 'somebody else syncs' }), 503, 'write_failed')
  await service.sleep(10_000)
  more.resolve()
  isProblem(await service.world.run(sending), 503, 'write_failed')
  await service.stop()
})

test('a full drive refuses puts with 507, says so in /readyz, and is freed by deletes', async () => {
  const service = await TestService.start({
    config: { cache_bytes: 0, reserve_bytes: '2MiB', durability: { sweep_interval: '10s' } },
  })
  const objects = Array.from({ length: 40 }, (_, at) => noise(200_000, at + 1))
  service.machine.drive.capacityBytes = 6 * 1024 * 1024
  const stored: Buffer[] = []
  let refused: Answer | undefined
  for (const bytes of objects) {
    const put = await service.ask('POST', '/o', { body: bytes })
    if (put.status === 201) stored.push(bytes)
    else refused ??= put
  }
  assert.ok(stored.length > 5 && stored.length < 30, String(stored.length))
  isProblem(refused!, 507, 'no_space')
  for (const bytes of stored) assert.ok((await service.ask('GET', `/o/${addressOf(bytes)}`)).body.equals(bytes))
  service.machine.drive.capacityBytes -= 1024 * 1024
  await service.sleep(1100)
  const ready = await service.ask('GET', '/readyz')
  isProblem(ready, 503, 'not_ready')
  assert.deepEqual(ready.fields()['missing'], ['store_writable'])
  for (const bytes of stored) assert.equal((await service.ask('DELETE', `/o/${addressOf(bytes)}`)).status, 204)
  service.machine.drive.capacityBytes += 4 * 1024 * 1024
  await service.sleep(1100)
  assert.equal((await service.ask('GET', '/readyz')).status, 200)
  assert.equal((await service.ask('POST', '/o', { body: objects[39]! })).status, 201)
  await service.stop()
})
