import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ChaosProxy } from './proxy.ts'

interface Scene extends AsyncDisposable {
  readonly proxy: ChaosProxy
  /** The ends of the connection: of who asked, and of who is asked. */
  readonly client: Socket
  readonly upstream: Socket
}

async function scene(): Promise<Scene> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await ChaosProxy.open((server.address() as AddressInfo).port)
  const arrived = once(server, 'connection') as Promise<[Socket]>
  const client = connect(proxy.port, '127.0.0.1')
  client.on('error', () => undefined)
  const [upstream] = await arrived
  upstream.on('error', () => undefined)
  return {
    proxy,
    client,
    upstream,
    [Symbol.asyncDispose]: async () => {
      client.destroy()
      upstream.destroy()
      await proxy[Symbol.asyncDispose]()
      server.close()
    },
  }
}

async function heard(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}

/** Whether it was torn rather than ended. */
async function closed(socket: Socket): Promise<boolean> {
  return await new Promise((resolve) => socket.once('close', resolve))
}

describe('the chaos proxy', () => {
  test('in fair weather hands on what is said, both ways, and the end', async () => {
    await using world = await scene()
    world.client.end('question')
    assert.equal(await heard(world.upstream), 'question')
    world.upstream.end('answer')
    assert.equal(await heard(world.client), 'answer')
    await once(world.client, 'close')
    assert.equal(world.proxy.connections.open, 0)
  })

  test('late: everything takes as long again', async () => {
    await using world = await scene()
    world.proxy.weather = { tag: 'late', latencyMs: 60 }
    const startedAt = performance.now()
    world.client.write('x')
    await heard(world.upstream)
    assert.ok(performance.now() - startedAt >= 59)
  })

  test('slow: no more than so many bytes a second', async () => {
    await using world = await scene()
    world.proxy.weather = { tag: 'slow', bytesPerSecond: 100_000 }
    world.upstream.resume()
    world.client.write(Buffer.alloc(20_000))
    const startedAt = performance.now()
    while (world.upstream.bytesRead < 20_000) await wait(5)
    assert.ok(performance.now() - startedAt >= 190)
  })

  test('stall: nothing passes until it is over, and then everything does', async () => {
    await using world = await scene()
    world.proxy.weather = { tag: 'stall' }
    world.client.write('held')
    let isHeard = false
    const hearing = heard(world.upstream).then((text) => {
      isHeard = true
      return text
    })
    await wait(50)
    assert.equal(isHeard, false)
    world.proxy.weather = { tag: 'fair' }
    assert.equal(await hearing, 'held')
  })

  test('reset: both ends are torn', async () => {
    await using world = await scene()
    const torn = Promise.all([closed(world.client), closed(world.upstream)])
    world.proxy.weather = { tag: 'reset' }
    assert.deepEqual(await torn, [true, true])
  })

  test('half-open: the server is gone, and the client is not told', async () => {
    await using world = await scene()
    world.proxy.weather = { tag: 'half-open' }
    await once(world.upstream, 'close')
    await wait(30)
    assert.equal(world.client.closed, false)
  })

  test('answer: the server never hears the question', async () => {
    await using world = await scene()
    world.proxy.weather = { tag: 'answer', text: 'no' }
    world.client.write('question')
    assert.equal(await heard(world.client), 'no')
    await once(world.client, 'close')
    assert.equal(world.upstream.bytesRead, 0)
  })
})
