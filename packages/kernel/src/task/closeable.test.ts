import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Closeable } from './closeable.ts'

class File extends Closeable {
  readonly released = Promise.withResolvers<void>()

  protected async release(): Promise<void> {
    await this.released.promise
  }
}

test('closing ends when the resource is released, however it is closed, and it is listed until then', async () => {
  for (const close of [(file: File) => file.close(), (file: File) => file[Symbol.asyncDispose]()]) {
    const runtime = virtualRuntime()
    const file = new File(runtime, 'segment')
    assert.equal(file.closed, false)
    let ended = false
    const closing = close(file).then(() => {
      ended = true
    })
    assert.equal(file.closed, true)
    await runtime.clock.settle()
    assert.deepEqual([ended, leaks(runtime)], [false, ['resource segment']])
    file.released.resolve()
    await closing
    assert.deepEqual(leaks(runtime), [])
  }
})

test('a release that fails is told to everybody who closes, and leaves no entry behind', async () => {
  const runtime = virtualRuntime()
  const file = new File(runtime, 'segment')
  file.released.reject(new Error('EIO'))
  await assert.rejects(file.close(), /EIO/)
  await assert.rejects(file[Symbol.asyncDispose](), /EIO/)
  assert.deepEqual(leaks(runtime), [])
})
