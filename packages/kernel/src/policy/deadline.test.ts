import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sleep, VirtualClock } from '../clock.ts'
import { isKind } from '../errors.ts'
import { Cancel } from './cancel.ts'
import { Deadline, parseBudget } from './deadline.ts'

test('a child never outlives its parent, however deep and whenever made', () => {
  const hop = fc.record({ wait: fc.nat(500), own: fc.nat(5_000) })
  fc.assert(
    fc.property(fc.nat(5_000), fc.array(hop, { maxLength: 8 }), (budget, hops) => {
      const clock = new VirtualClock()
      let parent = Deadline.after(clock, budget)
      for (const { wait, own } of hops) {
        clock.advance(wait)
        const child = parent.child(own)
        assert.ok(child.at <= parent.at)
        assert.ok(child.remaining() <= Math.min(parent.remaining(), own))
        parent = child
      }
    }),
  )
})

test('the header forwards what is left, less a margin', () => {
  const clock = new VirtualClock()
  const deadline = Deadline.after(clock, 1_200)
  clock.advance(200.5)
  assert.equal(deadline.toHeader(), '989ms')
  clock.advance(995)
  assert.equal(deadline.toHeader(), '0ms')
})

test('budgets are read from both headers, and the smaller holds', () => {
  const wall = 1_000_000
  const cases: [Parameters<typeof parseBudget>[0], number | undefined][] = [
    [{}, undefined],
    [{ requestTimeout: '2s' }, 2_000],
    [{ requestTimeout: '1500ms' }, 1_500],
    [{ requestTimeout: '2' }, 2_000],
    [{ deadline: '1000700' }, 700],
    [{ deadline: '999000' }, 0],
    [{ requestTimeout: '2s', deadline: '1000700' }, 700],
    [{ requestTimeout: '100ms', deadline: '1000700' }, 100],
  ]
  for (const [headers, expected] of cases) assert.equal(parseBudget(headers, wall), expected, JSON.stringify(headers))
})

test('a budget that is not clear is refused with its form', () => {
  for (const requestTimeout of ['', '2m', '-1s', '1.5s', '2 s', '1e3', '9999999999'])
    assert.throws(
      () => parseBudget({ requestTimeout }, 0),
      (error) => isKind(error, 'Malformed'),
      requestTimeout,
    )
  for (const deadline of ['', 'soon', '12.5', '-4'])
    assert.throws(
      () => parseBudget({ deadline }, 0),
      (error) => isKind(error, 'Malformed'),
    )
})

test('work whose budget is gone is not started', () => {
  const clock = new VirtualClock()
  const deadline = Deadline.after(clock, 10)
  deadline.throwIfExpired('a lookup')
  clock.advance(10)
  assert.throws(() => deadline.throwIfExpired('a lookup'), /time for a lookup ran out/)
})

test('a cancel fires for its parent, for its deadline and by hand, and keeps nothing afterwards', () => {
  const clock = new VirtualClock()
  const parent = new AbortController()
  const byParent = new Cancel({ signals: [undefined, parent.signal], deadline: Deadline.after(clock, 100) })
  const byDeadline = new Cancel({
    signals: [new AbortController().signal],
    deadline: Deadline.after(clock, 5),
    operation: 'a read',
  })
  const byHand = new Cancel({ deadline: Deadline.after(clock, 100) })
  const disposed = new Cancel({ signals: [parent.signal], deadline: Deadline.after(clock, 1) })
  disposed[Symbol.dispose]()
  clock.advance(5)
  assert.match(String(byDeadline.signal.reason), /time for a read ran out/)
  parent.abort('gone')
  assert.equal(byParent.signal.reason, 'gone')
  byHand.abort()
  assert.equal(byHand.signal.aborted, true)
  assert.equal(disposed.signal.aborted, false)
  assert.equal(clock.pending(), 0)
})

test('a cancel made from a fired signal or a spent deadline is fired at once', () => {
  const clock = new VirtualClock()
  assert.equal(new Cancel({ signals: [AbortSignal.abort('early')] }).signal.reason, 'early')
  assert.equal(new Cancel({ deadline: Deadline.after(clock, 0) }).signal.aborted, true)
  assert.equal(clock.pending(), 0)
})

test('an aborted sleep ends at once and leaves no timer', async () => {
  const clock = new VirtualClock()
  const controller = new AbortController()
  const sleeping = sleep(clock, 1_000, { signal: controller.signal })
  assert.equal(clock.pending(), 1)
  controller.abort()
  await assert.rejects(sleeping, (error) => isKind(error, 'Canceled'))
  assert.equal(clock.pending(), 0)
})

test('a signal that has fired already cancels at once, with its reason, and nothing else is listened to', () => {
  const clock = new VirtualClock()
  const later = new AbortController()
  const cancel = new Cancel({
    signals: [undefined, later.signal, AbortSignal.abort('gone'), new AbortController().signal],
    deadline: Deadline.after(clock, 10),
  })
  assert.deepEqual([cancel.signal.aborted, cancel.signal.reason, clock.pending()], [true, 'gone', 0])
  later.abort('too late')
  assert.equal(cancel.signal.reason, 'gone')
})

test('a deadline that runs out says of what', () => {
  const clock = new VirtualClock()
  const [plain, named] = [{}, { operation: 'a read' }].map(
    (options) => new Cancel({ ...options, deadline: Deadline.after(clock, 10) }),
  )
  clock.advance(10)
  assert.match(String(plain?.signal.reason), /the request/)
  assert.match(String(named?.signal.reason), /a read/)
})

test('a child has its own budget from now, or what is left of its parent', () => {
  const clock = new VirtualClock()
  const parent = Deadline.after(clock, 1_000)
  clock.advance(400)
  assert.deepEqual([parent.child(100).remaining(), parent.child(5_000).remaining()], [100, 600])
})
