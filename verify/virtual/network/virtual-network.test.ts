import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Deadline, type ErrorKind, isKind } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/transport'
import type { VirtualPlatform } from '../machine.ts'
import { simulate } from '../simulate.ts'
import type { VirtualWorld } from '../world.ts'
import { CALM } from './links.ts'
import type { VirtualListener } from './message.ts'

interface Pair {
  readonly world: VirtualWorld
  readonly client: VirtualPlatform
  readonly server: VirtualPlatform
}

/** Two machines, the second listening on port 80. */
async function pair(listener: VirtualListener, body: (pair: Pair) => Promise<void>, seed = 1): Promise<void> {
  await simulate(seed, async (world) => {
    const client = world.machine('client').start()
    const server = world.machine('server').start()
    const stop = server.listen(80, listener)
    await body({ world, client, server })
    stop()
    for (const { workers } of [client, server]) await workers.close()
  })
}

async function get(
  client: VirtualPlatform,
  path = '/',
  timeoutMs = 1000,
  signal?: AbortSignal,
): Promise<IncomingResponse> {
  const deadline = Deadline.after(client.clock, timeoutMs)
  return await client.transport.request({
    method: 'GET',
    url: new URL(path, 'http://server'),
    headers: {},
    deadline,
    signal,
  })
}

async function text({ body }: IncomingResponse): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts).toString()
}

const hello: VirtualListener = async () => ({
  status: 200,
  headers: ['X-A', '1', 'x-a', '2', 'set-cookie', 'c'],
  body: 'hello',
})

async function fails(kind: ErrorKind, work: Promise<unknown>, code?: string): Promise<void> {
  await assert.rejects(work, (error) => isKind(error, kind) && (code === undefined || error.code === code))
}

describe('the virtual network', () => {
  test('carries a request and its answer, which takes time', async () => {
    let seen: unknown
    const echo: VirtualListener = async ({ method, target, headers, body, peerAddress }) => {
      const parts: string[] = []
      for await (const part of body ?? []) parts.push(Buffer.from(part).toString())
      seen = { method, target, headers, body: parts.join(), peerAddress }
      return await hello({ method, target, headers, body, peerAddress, signal: new AbortController().signal })
    }
    await pair(echo, async ({ client }) => {
      const deadline = Deadline.after(client.clock, 1000)
      const url = new URL('http://10.0.0.2/o/1?x=2')
      const body = (async function* () {
        yield Buffer.from('by')
        yield Buffer.from('tes')
      })()
      const response = await client.transport.request({ method: 'PUT', url, headers: { 'x-b': '3' }, body, deadline })
      assert.deepEqual([response.status, response.headers], [200, { 'x-a': '1, 2' }])
      assert.equal(await text(response), 'hello')
      assert.ok(client.clock.now() >= 2 * CALM.delayMsMin)
    })
    assert.deepEqual(seen, {
      method: 'PUT',
      target: '/o/1?x=2',
      headers: ['host', '10.0.0.2', 'x-b', '3'],
      body: 'bytes',
      peerAddress: '10.0.0.1',
    })
  })

  test('knows machines by name, by address and by loopback', async () => {
    await pair(hello, async ({ client, server }) => {
      assert.deepEqual(await client.lookup.addresses('server'), ['10.0.0.2'])
      await fails('Timeout', client.lookup.addresses('nowhere'), 'unreachable')
      const deadline = Deadline.after(server.clock, 1000)
      const url = new URL('http://localhost/')
      const own = await server.transport.request({ method: 'GET', url, headers: {}, deadline })
      assert.equal(await text(own), 'hello')
    })
  })

  test('refuses a port nobody listens on, resets when the listener fails, is silent when the machine is down', async () => {
    await pair(
      async () => {
        throw new Error('a defect')
      },
      async ({ world, client }) => {
        await fails('Timeout', get(client), 'connection_lost')
        await fails('Timeout', get(client, 'http://server:81/'), 'unreachable')
        world.machine('server').crash()
        await fails('Timeout', get(client, '/', 50), 'timeout')
      },
    )
  })

  test('a lost request or answer is a timeout; the server did the work of the second', async () => {
    let served = 0
    const counting: VirtualListener = async (request) => {
      served += 1
      return await hello(request)
    }
    await pair(counting, async ({ world, client }) => {
      world.network.links.tamper = ({ what }) => ({ drop: what.startsWith('request') })
      await fails('Timeout', get(client, '/', 50))
      assert.equal(served, 0)
      world.network.links.tamper = ({ what }) => ({ drop: what.startsWith('answer') })
      await fails('Timeout', get(client, '/', 50))
      assert.equal(served, 1)
    })
  })

  test('a doubled request is served twice and answered once; doubled parts of an answer count once', async () => {
    let served = 0
    const counting: VirtualListener = async (request) => {
      served += 1
      return await hello(request)
    }
    await pair(counting, async ({ world, client }) => {
      world.network.links.tamper = () => ({ duplicate: true })
      assert.equal(await text(await get(client)), 'hello')
      await world.sleep(10)
    })
    assert.equal(served, 2)
  })

  test('of two answers to a doubled request one is heard, and the server of the other learns that nobody listens', async () => {
    const letters = Array.from({ length: 40 }, (_, index) => String.fromCharCode(65 + index))
    const signals: AbortSignal[] = []
    const twice: VirtualListener = async ({ signal }) => {
      signals.push(signal)
      return { status: 200, headers: [], body: lines(letters) }
    }
    await pair(twice, async ({ world, client }) => {
      world.network.links.tamper = ({ what }) => ({ duplicate: what.startsWith('request') })
      assert.equal(await text(await get(client)), letters.join(''))
      await world.sleep(10)
    })
    assert.deepEqual([signals.length, signals.filter(({ aborted }) => aborted).length], [2, 1])
  })

  test('a part lost in the middle stalls the rest', async () => {
    const parts: VirtualListener = async () => ({ status: 200, headers: [], body: lines(['a', 'b', 'c']) })
    await pair(parts, async ({ world, client }) => {
      let bodies = 0
      world.network.links.tamper = ({ what }) => {
        if (what.startsWith('body')) bodies += 1
        return { drop: what.startsWith('body') && bodies === 2 }
      }
      const response = await get(client, '/', 100)
      await fails('Timeout', text(response))
    })
  })

  test('a small answer is one packet; of one that is not, the end can be lost', async () => {
    const sizes: number[] = []
    const sized: VirtualListener = async ({ target }) => {
      return { status: 200, headers: [], body: Buffer.alloc(Number(target.slice(1)), 'x') }
    }
    await pair(sized, async ({ world, client }) => {
      for (const size of [0, 1400, 1401, 100_000]) {
        let packets = 0
        world.network.links.tamper = ({ to }) => {
          packets += to === 'client' ? 1 : 0
          return undefined
        }
        assert.equal((await text(await get(client, `/${size}`))).length, size)
        sizes.push(packets)
      }
      world.network.links.tamper = ({ what }) => ({ drop: what.startsWith('body') })
      const response = await get(client, '/1401', 100)
      await fails('Timeout', text(response))
    })
    assert.deepEqual(sizes, [1, 1, 2, 2])
  })

  test('parts arrive in order though their packets do not travel in step', async () => {
    const letters = Array.from({ length: 40 }, (_, index) => String.fromCharCode(65 + index))
    const many: VirtualListener = async () => ({ status: 200, headers: [], body: lines(letters) })
    await pair(many, async ({ world, client }) => {
      world.network.links.conditions = { ...CALM, delayMsMax: 50, reorder: 0.5 }
      assert.equal(await text(await get(client, '/', 60_000)), letters.join(''))
    })
  })

  test('the server learns that the client left, and stops producing', async () => {
    let produced = 0
    let isStopped = false
    const endless: VirtualListener = async () => ({
      status: 200,
      headers: [],
      body: (async function* () {
        try {
          for (;;) {
            produced += 1
            yield Buffer.from('x')
          }
        } finally {
          isStopped = true
        }
      })(),
    })
    await pair(endless, async ({ client }) => {
      const response = await get(client)
      for await (const _part of response.body) break
    })
    assert.ok(isStopped)
    assert.ok(produced < 40, 'a window bounds what is under way')
  })

  test('an aborted request ends at once, before and after its answer', async () => {
    await pair(hello, async ({ client }) => {
      const caller = new AbortController()
      const asked = get(client, '/', 1000, caller.signal)
      caller.abort()
      await fails('Canceled', asked)
      await fails('Canceled', get(client, '/', 1000, caller.signal))
      await fails('Timeout', get(client, '/', 0))
      const answered = await get(client)
      answered.body.cancel()
      assert.equal(await text(answered), '')
    })
  })

  test('a partition cuts both ways or one, until it heals', async () => {
    let served = 0
    const counting: VirtualListener = async (request) => {
      served += 1
      return await hello(request)
    }
    await pair(counting, async ({ world, client }) => {
      const { links } = world.network
      links.partition(['client'], ['server'])
      await fails('Timeout', get(client, '/', 50))
      links.heal()
      links.partition(['server'], ['client'], 'one')
      await fails('Timeout', get(client, '/', 50))
      assert.equal(served, 1, 'the request got through')
      links.heal()
      assert.equal(await text(await get(client)), 'hello')
    })
  })

  test('a disturbed network loses, doubles and reorders by the seed', async () => {
    const order: string[] = []
    const noting: VirtualListener = async (request) => {
      order.push(request.target)
      return await hello(request)
    }
    await pair(noting, async ({ world, client }) => {
      world.network.links.conditions = { ...CALM, loss: 0.2, duplication: 0.2, reorder: 0.2 }
      const asked = Array.from({ length: 40 }, async (_, index) => {
        const response = await get(client, `/${index}`, 500)
        return await text(response)
      })
      const outcomes = await Promise.allSettled(asked)
      assert.ok(outcomes.some(({ status }) => status === 'rejected'))
      assert.ok(outcomes.some(({ status }) => status === 'fulfilled'))
    })
    assert.ok(new Set(order).size < order.length, 'some came twice')
    const firsts = [...new Set(order)].map((target) => Number(target.slice(1)))
    assert.notDeepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
      'some overtook others',
    )
  })

  test('nothing reaches a client that is down, nor the life it starts next', async () => {
    await simulate(1, async (world) => {
      const machine = world.machine('client')
      const client = machine.start()
      const server = world.machine('server').start()
      server.listen(80, hello)
      let isAnswered = false
      const asking = get(client).then(() => {
        isAnswered = true
      })
      asking.catch(() => undefined)
      await world.sleep(CALM.delayMsMin / 2)
      machine.crash()
      const next = machine.start()
      await get(next)
      await world.sleep(50)
      assert.ok(!isAnswered)
      for (const { workers } of [next, server]) await workers.close()
    })
  })
})

async function* lines(parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(Buffer.from(part))
}
