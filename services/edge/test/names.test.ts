/** What a name means, asked by many at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline, sleep, timedOut } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import type { EdgeRequestContext } from '../src/answers/serve.ts'
import { Names } from '../src/sites/names.ts'
import { fakeIndex } from './fakes.ts'

const MEANT = `b3:${'a'.repeat(64)}` as const

test('who asks with hardly any time left does not take the answer from those who wait with it', async () => {
  const runtime = virtualRuntime()
  const { clock } = runtime
  const index = fakeIndex({ names: { site: MEANT } })
  const slow: typeof index = {
    ...index,
    resolve: async (key, options, call) => {
      await sleep(clock, 20)
      if (call.deadline.expired) throw timedOut('the lookup')
      return await index.resolve(key, options, call)
    },
  }
  const names = new Names(runtime, slow)
  const asking = (ms: number): EdgeRequestContext =>
    ({ corrId: 'c', deadline: Deadline.after(clock, ms) }) as EdgeRequestContext
  const hurried = Promise.resolve(names.resolve('site', asking(5)))
  const patient = Promise.resolve(names.resolve('site', asking(1000)))
  clock.advance(30)
  await Promise.allSettled([hurried])
  assert.equal((await patient).address, MEANT)
})
