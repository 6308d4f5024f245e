import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { sleep } from '../clock.ts'
import { isKind } from '../errors.ts'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Closeable } from './closeable.ts'
import { Scope } from './scope.ts'

test('a scope waits for its children, those spawned meanwhile included', async () => {
  const runtime = virtualRuntime()
  const scope = new Scope(runtime, 'request')
  const ended: string[] = []
  scope.spawn('outer', async (signal) => {
    await sleep(runtime.clock, 10, { signal })
    ended.push('outer')
    scope.spawn('inner', async () => {
      await sleep(runtime.clock, 10)
      ended.push('inner')
    })
  })
  const joined = scope.join()
  await runtime.clock.run(20)
  await joined
  assert.deepEqual(ended, ['outer', 'inner'])
  assert.deepEqual(leaks(runtime), [])
})

test('the first failure aborts the others and is what join throws, even if nobody looks at the result', async () => {
  const runtime = virtualRuntime()
  const scope = new Scope(runtime, 'request')
  const reasons: unknown[] = []
  scope.spawn('patient', async (signal) => {
    await sleep(runtime.clock, 1_000, { signal }).catch((error: unknown) => reasons.push(error))
  })
  scope.spawn('broken', async () => await Promise.reject(new Error('broken')))
  await assert.rejects(scope.join(), /broken/)
  assert.equal(reasons.length, 1)
  assert.deepEqual(leaks(runtime), [])
})

test('a child that throws before its first await fails the scope like any other', async () => {
  const scope = new Scope(virtualRuntime(), 'request')
  scope.spawn('sync', () => {
    throw new Error('at once')
  })
  await assert.rejects(scope.join(), /at once/)
})

test('leaving the block aborts the children and waits for them', async () => {
  const runtime = virtualRuntime()
  let ended = ''
  {
    await using scope = new Scope(runtime, 'request')
    scope.spawn('worker', async (signal) => {
      try {
        await sleep(runtime.clock, 1_000, { signal })
      } catch (error) {
        ended = isKind(error, 'Canceled') ? 'canceled' : 'other'
      }
    })
  }
  assert.equal(ended, 'canceled')
  assert.deepEqual(leaks(runtime), [])
})

class File extends Closeable {
  releases = 0
  protected async release(): Promise<void> {
    this.releases += 1
    await Promise.resolve()
  }
}

test('close is idempotent, and an open resource shows as a leak until then', async () => {
  const runtime = virtualRuntime()
  const file = new File(runtime, 'segment-1')
  assert.deepEqual(leaks(runtime), ['resource segment-1'])
  await Promise.all([file.close(), file.close()])
  await file[Symbol.asyncDispose]()
  assert.equal(file.releases, 1)
  assert.equal(file.closed, true)
  assert.deepEqual(leaks(runtime), [])
})

test('a resource dropped unclosed is a debug line once the collector finds it, and stays a leak', async (t) => {
  const { gc } = globalThis
  if (gc === undefined) return t.skip('needs --expose-gc')
  const runtime = virtualRuntime()
  const drop = (): void => void new File(runtime, 'forgotten')
  drop()
  for (let round = 0; round < 20 && runtime.log.lines.length === 0; round += 1) {
    gc()
    await runtime.clock.settle()
  }
  assert.deepEqual(runtime.log.lines, [
    { level: 'debug', fields: { resource: 'forgotten' }, message: 'dropped without close' },
  ])
  assert.deepEqual(leaks(runtime), ['resource forgotten'])
})

test('a scope is listed with its children until it ends, and a child can be asked for its result', async () => {
  const runtime = virtualRuntime()
  const scope = new Scope(runtime, 'request')
  const { name, result } = scope.spawn('sum', async () => await Promise.resolve(3))
  assert.deepEqual(runtime.topology.snapshot(), [{ kind: 'scope', name: 'request', facts: { children: 1 } }])
  assert.deepEqual([name, await result], ['sum', 3])
  await scope.join()
  assert.deepEqual(leaks(runtime), [])
})

test('of several failures the first is thrown, and what fails after an abort is no failure', async () => {
  const runtime = virtualRuntime()
  const scope = new Scope(runtime, 'request')
  assert.equal(scope.name, 'request')
  scope.spawn('first', async () => await Promise.reject(new Error('first')))
  scope.spawn('second', async (signal) => {
    await sleep(runtime.clock, 1_000, { signal }).catch(() => undefined)
    throw new Error('second')
  })
  await assert.rejects(scope.join(), /first/)
  const aborted = new Scope(runtime, 'request')
  aborted.spawn('late', async (signal) => await sleep(runtime.clock, 1_000, { signal }))
  aborted.abort()
  await aborted.join()
})

test('a scope that has ended lets go of the signals it listened to', async () => {
  const { signal } = new AbortController()
  const scope = new Scope(virtualRuntime(), 'request', { signals: [signal] })
  assert.equal(getEventListeners(signal, 'abort').length, 1)
  await scope.join()
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
