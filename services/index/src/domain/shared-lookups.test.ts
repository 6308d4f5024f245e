import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError, Deadline, isKind, timedOut } from '@cairn/kernel'
import { VirtualClock } from '@cairn/kernel/testing'
import { SharedLookups } from '../intake.ts'

function scene() {
  const clock = new VirtualClock()
  const flights = new SharedLookups<string>()
  const begun: { resolve: (value: string) => void; reject: (error: unknown) => void; signal: AbortSignal }[] = []
  const join = async (ms: number, signal?: AbortSignal): Promise<string> =>
    await flights.join('key', { deadline: Deadline.after(clock, ms), signal }, async (bounds) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const flightSignal = bounds.signal ?? assert.fail('a flight has a signal')
      begun.push({ resolve, reject, signal: flightSignal })
      flightSignal.addEventListener('abort', () => reject(new CairnError('Canceled', 'aborted')))
      return await promise
    })
  return { clock, flights, begun, join }
}

test('everybody gets the answer of the one flight, and the next question begins a new one', async () => {
  const { flights, begun, join } = scene()
  const answers = [join(100), join(100), join(100)]
  assert.equal(begun.length, 1)
  begun[0]?.resolve('found')
  assert.deepEqual(await Promise.all(answers), ['found', 'found', 'found'])
  assert.equal(flights.size, 0)
  const next = join(100)
  begun[1]?.resolve('again')
  assert.equal(await next, 'again')
})

test('a caller that leaves takes nobody with it; the last one aborts the flight', async () => {
  const { flights, begun, join } = scene()
  const [first, second] = [new AbortController(), new AbortController()]
  const leaving = [join(100, first.signal), join(100, second.signal)].map(async (each) => {
    await assert.rejects(each, (error) => isKind(error, 'Canceled'))
  })
  first.abort()
  await leaving[0]
  assert.ok(begun.every(({ signal }) => !signal.aborted))
  second.abort()
  await leaving[1]
  assert.ok(begun.every(({ signal }) => signal.aborted))
  assert.equal(flights.size, 0)
})

test('whoever comes while the last one leaves begins a flight of its own', async () => {
  const { begun, join } = scene()
  const client = new AbortController()
  const left = assert.rejects(join(100, client.signal))
  client.abort()
  await left
  const late = join(100)
  assert.equal(begun.length, 2)
  begun[1]?.resolve('found')
  assert.equal(await late, 'found')
})

test('a caller with time left does not share the timeout of the one who began', async () => {
  const { clock, begun, join } = scene()
  const short = assert.rejects(join(10), (error) => isKind(error, 'Timeout'))
  const long = join(100)
  clock.advance(10)
  begun[0]?.reject(timedOut('the lookup'))
  await short
  await clock.settle()
  assert.equal(begun.length, 2)
  begun[1]?.resolve('found')
  assert.equal(await long, 'found')
})
