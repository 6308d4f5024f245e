import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '../errors.ts'
import { leaks, virtualRuntime } from '../runtime.ts'
import { Queue } from './queue.ts'
import { abort, close, createQueue, tryReceive, trySend, waiting } from './queue-core.ts'

test('a full queue refuses the new item and keeps what it has', async () => {
  const runtime = virtualRuntime()
  const queue = new Queue<number>(runtime, { name: 'work', capacity: 2, overflow: 'reject' })
  assert.deepEqual([queue.trySend(1), queue.trySend(2), queue.trySend(3)], ['sent', 'sent', 'full'])
  assert.equal(queue.facts().lost, 1)
  queue.close()
  const seen: number[] = []
  for await (const item of queue) seen.push(item)
  assert.deepEqual(seen, [1, 2])
  assert.deepEqual(leaks(runtime), [])
})

test('drop-oldest makes room, answers the dropped item and warns once per five seconds', () => {
  const runtime = virtualRuntime()
  const lost: number[] = []
  const onLost = (item: number): void => void lost.push(item)
  const queue = new Queue<number>(runtime, { name: 'audit', capacity: 2, overflow: 'drop-oldest', onLost })
  for (let item = 1; item <= 5; item += 1) assert.equal(queue.trySend(item), 'sent')
  assert.deepEqual(lost, [1, 2, 3])
  assert.equal(runtime.log.lines.length, 1)
  runtime.clock.advance(5_000)
  queue.trySend(6)
  assert.deepEqual(
    runtime.log.lines.map(({ fields }) => fields),
    [
      { queue: 'audit', count: 1 },
      { queue: 'audit', count: 3 },
    ],
  )
  assert.equal(queue.abort(), 2)
  assert.deepEqual(lost, [1, 2, 3, 4, 5, 6])
})

test('the reserved lane has room when the normal lane is full, and goes first', async () => {
  const queue = new Queue<string>(virtualRuntime(), { name: 'repair', capacity: 3, overflow: 'reject', reserved: 1 })
  assert.deepEqual([queue.trySend('a'), queue.trySend('b'), queue.trySend('c')], ['sent', 'sent', 'full'])
  assert.equal(queue.trySend('last copy', 'urgent'), 'sent')
  assert.equal(queue.trySend('another', 'urgent'), 'full')
  assert.deepEqual(await queue.recv(), { tag: 'item', item: 'last copy' })
  queue.abort()
})

test('an urgent item is never dropped for another', () => {
  const lost: string[] = []
  const onLost = (item: string): void => void lost.push(item)
  const shape = { name: 'audit', capacity: 2, overflow: 'drop-oldest', reserved: 1, onLost } as const
  const queue = new Queue<string>(virtualRuntime(), shape)
  assert.deepEqual([queue.trySend('allow 1', 'urgent'), queue.trySend('allow 2', 'urgent')], ['sent', 'sent'])
  assert.deepEqual([queue.trySend('deny'), queue.trySend('allow 3', 'urgent')], ['full', 'full'])
  assert.deepEqual(lost, [])
  queue.abort()
})

test('receivers are served in the order they came', async () => {
  const queue = new Queue<number>(virtualRuntime(), { name: 'work', capacity: 1, overflow: 'reject' })
  const received: string[] = []
  const receive = async (who: string): Promise<void> => {
    const next = await queue.recv()
    received.push(`${who}:${next.tag === 'item' ? next.item : next.tag}`)
  }
  const all = [receive('first'), receive('second'), receive('third')]
  for (const item of [1, 2]) queue.trySend(item)
  queue.close()
  await Promise.all(all)
  assert.deepEqual(received, ['first:1', 'second:2', 'third:closed'])
})

test('an aborted receiver takes nothing, and its listener is gone', async () => {
  const queue = new Queue<number>(virtualRuntime(), { name: 'work', capacity: 1, overflow: 'reject' })
  const controller = new AbortController()
  const abandoned = queue.recv({ signal: controller.signal })
  const patient = queue.recv()
  controller.abort()
  await assert.rejects(abandoned, (error) => isKind(error, 'Canceled'))
  queue.trySend(7)
  assert.deepEqual(await patient, { tag: 'item', item: 7 })
  assert.equal(queue.facts().waiting, 0)
  queue.close()
})

test('an abort after the hand-over cannot take the item back', async () => {
  const queue = new Queue<number>(virtualRuntime(), { name: 'work', capacity: 1, overflow: 'reject' })
  const controller = new AbortController()
  const receiving = queue.recv({ signal: controller.signal })
  queue.trySend(7)
  controller.abort()
  assert.deepEqual(await receiving, { tag: 'item', item: 7 })
  queue.close()
})

test('an already aborted signal wins over an item that is there', async () => {
  const queue = new Queue<number>(virtualRuntime(), { name: 'work', capacity: 1, overflow: 'reject' })
  queue.trySend(7)
  await assert.rejects(queue.recv({ signal: AbortSignal.abort() }), (error) => isKind(error, 'Canceled'))
  assert.equal(queue.depth, 1)
  queue.abort()
})

test('a closed queue refuses, and tells every waiting receiver', async () => {
  const queue = new Queue<number>(virtualRuntime(), { name: 'work', capacity: 1, overflow: 'reject' })
  const waiting = [queue.recv(), queue.recv()]
  queue.close()
  assert.deepEqual(await Promise.all(waiting), [{ tag: 'closed' }, { tag: 'closed' }])
  assert.equal(queue.trySend(1), 'closed')
})

test('a shape that makes no sense is refused', () => {
  const make = (capacity: number, reserved: number) => () =>
    new Queue(virtualRuntime(), { name: 'bad', capacity, reserved, overflow: 'reject' })
  for (const bad of [make(0, 0), make(1.5, 0), make(2, 2), make(2, -1)]) assert.throws(bad, RangeError)
})

test('a receiver of one lane leaves the other lane alone, and hears of the end', async () => {
  const queue = new Queue<string>(virtualRuntime(), { name: 'work', capacity: 4, overflow: 'reject', reserved: 2 })
  const reads = queue.recv({ take: 'urgent' })
  queue.trySend('write')
  assert.equal(queue.facts().waiting, 1)
  queue.trySend('read', 'urgent')
  assert.deepEqual(await reads, { tag: 'item', item: 'read' })
  queue.close()
  assert.deepEqual(await queue.recv({ take: 'urgent' }), { tag: 'closed' })
  assert.deepEqual(await queue.recv({ take: 'normal' }), { tag: 'item', item: 'write' })
  assert.deepEqual(await queue.recv({ take: 'normal' }), { tag: 'closed' })
})

test('a queue holds at least one item and reserves less than it holds', () => {
  const overflow = 'reject'
  for (const capacity of [0, -1, 1.5, Number.NaN]) assert.throws(() => createQueue({ capacity, overflow }), RangeError)
  for (const reserved of [-1, 0.5, 2, 3])
    assert.throws(() => createQueue({ capacity: 2, overflow, reserved }), RangeError)
  assert.equal(createQueue({ capacity: 2, overflow, reserved: 1 }).normalCapacity, 1)
})

test('a queue is closing while something is inside, and closed once it is drained, aborted or was empty', () => {
  const filled = createQueue<number>({ capacity: 2, overflow: 'reject' })
  trySend(filled, 1, 'normal')
  trySend(filled, 2, 'normal')
  const tag = (): string => filled.state.tag
  close(filled)
  assert.equal(tag(), 'closing')
  close(filled)
  tryReceive(filled)
  assert.equal(tag(), 'closing')
  tryReceive(filled)
  assert.equal(tag(), 'closed')
  close(filled)
  assert.equal(tag(), 'closed')
  const empty = createQueue<number>({ capacity: 1, overflow: 'reject' })
  close(empty)
  assert.equal(empty.state.tag, 'closed')
  const aborted = createQueue<number>({ capacity: 1, overflow: 'reject' })
  trySend(aborted, 1, 'normal')
  assert.deepEqual(abort(aborted), [1])
  assert.deepEqual([aborted.state.tag, aborted.discarded], ['closed', 1])
})

test('an open queue stays open when it is drained', () => {
  const queue = createQueue<number>({ capacity: 1, overflow: 'reject' })
  for (const item of [1, 2]) {
    assert.equal(trySend(queue, item, 'normal'), 'sent')
    assert.deepEqual(tryReceive(queue), { tag: 'item', item })
  }
  assert.equal(queue.state.tag, 'open')
})

test('facts tell how deep it ever was, what was lost in each way, and who waits in which line', async () => {
  const runtime = virtualRuntime()
  const queue = new Queue<number>(runtime, { name: 'work', capacity: 2, overflow: 'drop-oldest', reserved: 1 })
  queue.trySend(1)
  queue.trySend(2, 'urgent')
  queue.trySend(3)
  assert.equal(queue.facts().highWater, 2)
  assert.equal(queue.facts().lost, 1)
  assert.equal(queue.abort(), 2)
  assert.equal(queue.facts().lost, 3)
  assert.equal(queue.facts().highWater, 2)
  assert.equal(runtime.log.lines[0]?.message, 'queue dropped its oldest items')
  const lanes = createQueue<number>({ capacity: 2, overflow: 'reject', reserved: 1 })
  lanes.receivers.normal.add(() => undefined)
  lanes.receivers.urgent.add(() => undefined)
  lanes.receivers.any.add(() => undefined)
  assert.equal(waiting(lanes), 3)
})
