import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import fc from 'fast-check'
import { type ReceivedEvent, readEvents } from './server-events.ts'

async function* pieces(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

async function eventsOf(...texts: readonly string[]): Promise<ReceivedEvent[]> {
  const encoder = new TextEncoder()
  return await Array.fromAsync(readEvents(pieces(...texts.map((text) => encoder.encode(text)))))
}

test('an event is what stands before an empty line; its id stays until another comes', async () => {
  assert.deepEqual(await eventsOf(': hello\nid: 7\nevent: a\ndata: x\n\ndata: y\n\n'), [
    { id: '7', event: 'a', data: 'x' },
    { id: '7', event: 'message', data: 'y' },
  ])
})

test('several data lines are one text; one space after the colon is not data; a field may have no colon', async () => {
  assert.deepEqual(await eventsOf('data:  two\ndata\ndata:one\nretry: 5\nunknown: x\n\n'), [
    { id: '', event: 'message', data: ' two\n\none' },
  ])
})

test('an event without data is not heard, and one that is cut off at the end is not either', async () => {
  assert.deepEqual(await eventsOf('id: 3\nevent: gone\n\ndata: half'), [])
  assert.deepEqual(await eventsOf('id: 3\n\ndata: whole\n\n'), [{ id: '3', event: 'message', data: 'whole' }])
  assert.deepEqual(await eventsOf('id: 3\n\nid: 4\0\ndata: x\n\n'), [{ id: '3', event: 'message', data: 'x' }])
})

test('wherever the bytes are cut and however lines end, the events are the same', async () => {
  const text = (end: string): string => ['id: 1', 'event: ü', 'data: ä€😀', 'data: b', '', 'data: c', '', ''].join(end)
  const expected = await eventsOf(text('\n'))
  assert.equal(expected.length, 2)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(fc.nat(80), { maxLength: 12 }),
      async (end, places) => {
        // A lone carriage return counts once it is known not to be half of a line end.
        const bytes = new TextEncoder().encode(`${text(end)}:`)
        const cuts = [0, ...places.map((place) => Math.min(place, bytes.length)), bytes.length].sort((a, b) => a - b)
        const parts = cuts.slice(1).map((cut, at) => bytes.subarray(cuts[at], cut))
        assert.deepEqual(await Array.fromAsync(readEvents(pieces(...parts))), expected)
      },
    ),
    { numRuns: 200 },
  )
})

test('an event without end is given up, in one line or in many', async () => {
  const isBad = (error: unknown): boolean => isKind(error, 'Internal') && error.code === 'bad_answer'
  await assert.rejects(eventsOf(`data: ${'x'.repeat(70_000)}`), isBad)
  await assert.rejects(eventsOf('data: x\n'.repeat(10_000)), isBad)
  await assert.rejects(eventsOf(`: ${'x'.repeat(70_000)}\n\n`), isBad)
  assert.equal((await eventsOf('data: x\n\n'.repeat(10_000))).length, 10_000)
})
