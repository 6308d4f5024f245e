import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CairnError, type ErrorKind } from '../errors.ts'
import { SeededRandom } from '../random.ts'
import { leaks, virtualRuntime } from '../runtime.ts'
import { RETRY, type RetryPolicy, restartBackoff } from './backoff.ts'
import { Deadline } from './deadline.ts'
import { retry } from './retry.ts'

function failing(times: number, kind: ErrorKind = 'Timeout'): { attempt: () => Promise<string>; calls: () => number } {
  let calls = 0
  const attempt = async (): Promise<string> => {
    calls += 1
    if (calls <= times) throw new CairnError(kind, `attempt ${calls}`)
    return await Promise.resolve('answer')
  }
  return { attempt, calls: () => calls }
}

const policy: RetryPolicy = RETRY.rpc
const operation = 'index.resolve'

test('a transient failure is tried again, three times in all, and counted', async () => {
  const runtime = virtualRuntime()
  const { attempt, calls } = failing(2)
  const result = retry(runtime, attempt, { policy, operation })
  await runtime.clock.run(5_000)
  assert.equal(await result, 'answer')
  assert.equal(calls(), 3)
  assert.equal(runtime.metrics.value('backoff_retries_total', { op: operation, result: 'failed' }), 1)
  assert.equal(runtime.metrics.value('backoff_retries_total', { op: operation, result: 'ok' }), 1)
})

test('the last error comes back as it was', async () => {
  const runtime = virtualRuntime()
  const { attempt, calls } = failing(9)
  const result = assert.rejects(retry(runtime, attempt, { policy, operation }), /attempt 3/)
  await runtime.clock.run(5_000)
  await result
  assert.equal(calls(), 3)
})

test('what cannot get better is not tried again', async () => {
  for (const kind of ['Malformed', 'Forbidden', 'BreakerOpen', 'Canceled', 'Internal', 'ChainMismatch'] as const) {
    const runtime = virtualRuntime()
    const { attempt, calls } = failing(1, kind)
    await assert.rejects(retry(runtime, attempt, { policy, operation }), CairnError)
    assert.equal(calls(), 1, kind)
  }
})

test('a wait that would pass the deadline is not begun', async () => {
  const runtime = virtualRuntime()
  const { attempt, calls } = failing(1)
  const deadline = Deadline.after(runtime.clock, 40)
  await assert.rejects(retry(runtime, attempt, { policy, operation, deadline }), /attempt 1/)
  assert.equal(calls(), 1)
  assert.deepEqual(leaks(runtime), [])
})

test('an abort ends the pause and nothing is tried after it', async () => {
  const runtime = virtualRuntime()
  const { attempt, calls } = failing(1)
  const controller = new AbortController()
  const result = assert.rejects(retry(runtime, attempt, { policy, operation, signal: controller.signal }), /canceled/)
  await runtime.clock.settle()
  controller.abort()
  await result
  assert.equal(calls(), 1)
  assert.deepEqual(leaks(runtime), [])
})

test('Retry-After is honoured when it is longer than the pause', async () => {
  const runtime = virtualRuntime()
  let calls = 0
  const attempt = async (): Promise<string> => {
    calls += 1
    if (calls === 1) throw new CairnError('Busy', 'later', { retryAfterMs: 1_500 })
    return await Promise.resolve('answer')
  }
  const result = retry(runtime, attempt, { policy, operation })
  await runtime.clock.run(1_499)
  assert.equal(calls, 1)
  await runtime.clock.run(1)
  assert.equal(await result, 'answer')
})

test('every pause is within the bounds its policy states', () => {
  const bounds: [string, RetryPolicy['backoff'], (attempt: number) => [number, number]][] = [
    [
      'rpc',
      RETRY.rpc.backoff,
      (attempt) => [Math.min(2_000, 50 * 4 ** (attempt - 1)), Math.min(2_000, 100 * 4 ** (attempt - 1))],
    ],
    ['lookup', RETRY.lookup.backoff, () => [50, 100]],
    [
      'fill',
      RETRY.fill.backoff,
      (attempt) => [Math.min(800, 50 * 2 ** (attempt - 1)), Math.min(800, 50 * 2 ** (attempt - 1)) + 50],
    ],
    [
      'restart',
      restartBackoff,
      (attempt) => [Math.min(5_000, 100 * 2 ** (attempt - 1)) / 2, Math.min(5_000, 100 * 2 ** (attempt - 1))],
    ],
  ]
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 12 }), (seed, attempt) => {
      for (const [name, backoff, range] of bounds) {
        const [low, high] = range(attempt)
        const pause = backoff(attempt, new SeededRandom(seed))
        assert.ok(pause >= low && pause <= high, `${name}: ${pause} outside ${low}–${high}`)
      }
    }),
  )
})

test('an attempt that succeeds at once is no retry', async () => {
  const runtime = virtualRuntime()
  assert.equal(await retry(runtime, failing(0).attempt, { policy, operation }), 'answer')
  await assert.rejects(retry(runtime, failing(1, 'Malformed').attempt, { policy, operation }), CairnError)
  for (const result of ['ok', 'failed'])
    assert.equal(runtime.metrics.value('backoff_retries_total', { op: operation, result }), 0)
})

test('a wait that would end at the deadline is not begun', async () => {
  const runtime = virtualRuntime()
  const exact: RetryPolicy = { ...policy, backoff: () => 100 }
  const { attempt, calls } = failing(9)
  const deadline = Deadline.after(runtime.clock, 100)
  await assert.rejects(retry(runtime, attempt, { policy: exact, operation, deadline }), /attempt 1/)
  assert.equal(calls(), 1)
})

test('nothing is attempted for a caller that has left or a budget that is used up', async () => {
  const runtime = virtualRuntime()
  const { attempt, calls } = failing(0)
  const signal = AbortSignal.abort()
  await assert.rejects(retry(runtime, attempt, { policy, operation, signal }), { kind: 'Canceled' })
  const deadline = Deadline.after(runtime.clock, 0)
  await assert.rejects(retry(runtime, attempt, { policy, operation, deadline }), { kind: 'Timeout' })
  assert.equal(calls(), 0)
})

test('an attempt that fails after its caller left ends with its own error, at once', async () => {
  const runtime = virtualRuntime()
  const controller = new AbortController()
  const attempt = async (): Promise<never> => {
    controller.abort()
    return await Promise.reject(new CairnError('Timeout', 'its own'))
  }
  const { signal } = controller
  await assert.rejects(retry(runtime, attempt, { policy, operation, signal }), /its own/)
  assert.equal(runtime.clock.pending(), 0)
})
