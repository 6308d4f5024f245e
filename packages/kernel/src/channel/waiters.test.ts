import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '../clock.ts'
import { CairnError } from '../errors.ts'
import { Ring } from './queue-core.ts'
import { canceled, throwIfCanceled, Waiters, waitIn } from './waiters.ts'

test('the line is walked first to last, and the first can be seen without being woken', () => {
  const line = new Waiters<string>()
  assert.equal(line.peek(), undefined)
  const woken: string[] = []
  const all = ['a', 'b', 'c'].map((name) => line.add((outcome) => void woken.push(name + outcome)))
  assert.deepEqual([...line], all)
  assert.equal(line.peek(), all[0])
  line.remove(all[1]!)
  assert.deepEqual([...line], [all[0], all[2]])
  assert.deepEqual(woken, [])
  line.wakeAll('!')
  assert.deepEqual([woken, [...line], line.size], [['a!', 'c!'], [], 0])
})

test('a waiter that has left holds on to nobody, and leaves once', () => {
  const line = new Waiters<undefined>()
  const all = [0, 1, 2].map(() => line.add(() => undefined))
  assert.equal(line.remove(all[1]!), true)
  assert.equal(line.remove(all[1]!), false)
  assert.deepEqual([all[1]!.list, all[1]!.previous, all[1]!.next], [undefined, undefined, undefined])
  assert.equal(line.size, 2)
})

test('who is added by a wake is not woken by it', () => {
  const line = new Waiters<undefined>()
  let woken = 0
  const again = (): void => {
    woken += 1
    line.add(again)
  }
  line.add(again)
  line.wakeAll(undefined)
  assert.deepEqual([woken, line.size], [1, 1])
})

test('a wait ends with the reason of its signal if that is one of ours, and with Canceled and the reason otherwise', async () => {
  const ours = new CairnError('Timeout', 'It took too long.')
  assert.equal(canceled(AbortSignal.abort(ours)), ours)
  const cause = new Error('somebody left')
  const error = canceled(AbortSignal.abort(cause))
  assert.deepEqual([error.kind, error.cause], ['Canceled', cause])
  assert.throws(() => throwIfCanceled(AbortSignal.abort(ours)), ours)
  throwIfCanceled(new AbortController().signal)
  const line = new Waiters<undefined>()
  await assert.rejects(waitIn(line, { signal: AbortSignal.abort(ours) }), ours)
  assert.equal(line.size, 0)
})

test('a ring needs no more room the longer it is used, and lets go of what was taken', async (t) => {
  if (globalThis.gc === undefined) return t.skip('needs --expose-gc')
  const ring = new Ring<object>(3)
  const item = {}
  ring.push(item)
  const heapUsed = (): number => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  const before = heapUsed()
  for (let time = 0; time < 500_000; time += 1) {
    ring.push(item)
    ring.shift()
  }
  assert.ok(heapUsed() - before < 2 ** 20, 'it grew')
  ring.shift()
  const taken = new WeakRef(pushAndShift(ring))
  await new VirtualClock().settle()
  globalThis.gc()
  assert.equal(taken.deref(), undefined)
})

function pushAndShift(ring: Ring<object>): object {
  ring.push({ large: true })
  return ring.shift()
}

test('a ring that goes round keeps its order', () => {
  const ring = new Ring<number>(3)
  const taken: number[] = []
  for (let item = 0; item < 10; item += 1) {
    ring.push(item)
    if (ring.length === 3) taken.push(ring.shift(), ring.shift())
    assert.deepEqual(
      [...taken, ...ring],
      Array.from({ length: item + 1 }, (_, at) => at),
    )
  }
})
