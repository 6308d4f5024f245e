import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Broadcast } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { type Route, route } from '../pipeline/route.ts'
import { fixture, HELLO, requestOf } from '../test/fixture.ts'
import { eventFrame, eventStream } from './event-stream.ts'

test('a frame is what the client library expects, whatever the text holds', () => {
  const frame = Buffer.from(eventFrame({ id: '1\n2', event: 'a\rb', data: 'one\ntwo\r\nthree' })).toString()
  assert.equal(frame, 'id: 12\nevent: ab\ndata: one\ndata: two\ndata: three\n\n')
})

function streaming() {
  const setup = fixture({ routes: [events()] })
  const broadcast = new Broadcast<number>(setup.runtime, { name: 'events', capacity: 4 })
  function events(): Route {
    return route({
      ...HELLO,
      path: '/events',
      limits: { stream: true },
      handler: (context) => {
        const subscription = broadcast.subscribe()
        return eventStream(setup.runtime.clock, context, {
          next: async (signal) => {
            const heard = await subscription.recv({ signal })
            return heard.tag === 'value' ? eventFrame({ data: String(heard.value) }) : undefined
          },
          close: () => subscription[Symbol.dispose](),
        })
      },
    })
  }
  const open = async (signal?: AbortSignal): Promise<AsyncIterator<Uint8Array>> => {
    const request = requestOf({ target: '/events', ...(signal === undefined ? {} : { signal }) })
    const { body } = await setup.ingress.handle(request)
    return (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  }
  return { ...setup, broadcast, open }
}

const text = ({ value }: IteratorResult<Uint8Array>): string => Buffer.from(value as Uint8Array).toString()

test('a heartbeat comes when nothing else does, and loses no event', async () => {
  const { runtime, broadcast, open, ingress } = streaming()
  const stream = await open()
  const first = stream.next()
  await runtime.clock.run(15_000)
  assert.equal(text(await first), ': heartbeat\n\n')
  broadcast.publish(1)
  broadcast.publish(2)
  assert.equal(text(await stream.next()), 'data: 1\n\n')
  assert.equal(text(await stream.next()), 'data: 2\n\n')
  assert.equal(ingress.openRequests, 1)
  await stream.return?.()
  assert.deepEqual([ingress.openRequests, broadcast.facts().subscribers], [0, 0])
  broadcast.close()
  assert.deepEqual(leaks(runtime), [])
})

for (const [name, end] of [
  ['the client leaves', (client: AbortController) => client.abort()],
  ['the service drains', (_: AbortController, drain: () => void) => drain()],
] as const) {
  test(`the stream ends when ${name}, with nothing left waiting`, async () => {
    const { runtime, broadcast, open, ingress, shutdown } = streaming()
    shutdown.taskStarted('listener')
    const client = new AbortController()
    const stream = await open(client.signal)
    const next = stream.next()
    end(client, () => shutdown.drain())
    assert.equal((await next).done, true)
    assert.deepEqual([ingress.openRequests, broadcast.facts().subscribers], [0, 0])
    broadcast.close()
    assert.deepEqual(leaks(runtime), [])
  })
}

test('a source that fails fails the stream', async () => {
  const failing: Route = route({
    ...HELLO,
    path: '/failing',
    handler: (context) =>
      eventStream(setup.runtime.clock, context, { next: async () => await Promise.reject(new Error('no')) }),
  })
  const setup = fixture({ routes: [failing] })
  await assert.rejects(setup.call({ target: '/failing' }), { code: 'internal' })
  assert.deepEqual(leaks(setup.runtime), [])
})
