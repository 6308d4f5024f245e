import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { MemoryMetrics } from '@cairn/kernel'
import fc from 'fast-check'
import { METRICS } from '../test/fixture.ts'
import { Connections, connectionsShare, type HttpConnection } from './connections.ts'

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined
  isDestroyed = false

  constructor(remoteAddress: string | undefined) {
    super()
    this.remoteAddress = remoteAddress
  }

  destroy(): void {
    if (this.isDestroyed) return
    this.isDestroyed = true
    this.emit('close')
  }
}

function table(max_connections: number, max_connections_per_address: number, trusted_proxies: string[] = []) {
  const metrics = new MemoryMetrics(METRICS)
  const limits = { max_connections, max_connections_per_address, trusted_proxies }
  const connections = new Connections(metrics, 'tcp', limits)
  const arrive = (address: string | undefined): { socket: FakeSocket; connection: HttpConnection | undefined } => {
    const socket = new FakeSocket(address)
    return { socket, connection: connections.accept(socket as unknown as Socket, () => {}) }
  }
  return { connections, arrive, metrics }
}

test('past the limit of one address a few are told so, the rest is closed, others are not affected', () => {
  const { arrive } = table(1000, 2)
  const many = Array.from({ length: 20 }, () => arrive('192.0.2.1'))
  assert.deepEqual(
    many.slice(0, 3).map(({ connection }) => connection?.crowded),
    [false, false, true],
  )
  assert.deepEqual(many.map(({ socket }) => socket.isDestroyed).indexOf(true), 2 + 16)
  assert.equal(arrive('192.0.2.2').connection?.crowded, false)
})

test('an IPv6 network of 64 bits is one client, and a mapped IPv4 address is the IPv4 address', () => {
  const { arrive, connections } = table(1000, 1)
  assert.equal(arrive('2001:db8:1:2:a::1').connection?.crowded, false)
  assert.equal(arrive('2001:db8:1:2:b::2').connection?.crowded, true)
  assert.equal(arrive('2001:db8:1:3::1').connection?.crowded, false)
  assert.equal(arrive('192.0.2.1').connection?.crowded, false)
  assert.equal(arrive('::ffff:192.0.2.1').connection?.crowded, true)
  assert.equal(connections.clients, 3)
})

test('a trusted proxy brings as many clients as it likes', () => {
  const { arrive } = table(1000, 1, ['10.0.0.0/8'])
  const proxied = Array.from({ length: 50 }, () => arrive('10.1.2.3').connection?.crowded)
  assert.ok(proxied.every((crowded) => crowded === false))
  assert.deepEqual([arrive('192.0.2.1').connection?.crowded, arrive('192.0.2.1').connection?.crowded], [false, true])
})

test('10 000 connections of one address leave room for another; 10 000 addresses leave nothing behind', () => {
  const { arrive, connections } = table(1024, 256)
  const greedy = Array.from({ length: 10_000 }, () => arrive('192.0.2.1'))
  for (const { connection } of greedy) if (connection !== undefined) connection.active = 1
  assert.equal(connections.size, 256 + 16)
  assert.equal(arrive('192.0.2.2').connection?.crowded, false)
  for (const { socket } of greedy) socket.destroy()
  for (let count = 0; count < 10_000; count += 1)
    arrive(`10.${count >> 16}.${(count >> 8) & 255}.${count & 255}`).socket.destroy()
  assert.deepEqual([connections.size, connections.clients], [1, 1])
})

test('past the total the longest idle one makes room, and a busy one never does', () => {
  const { arrive } = table(3, 0)
  const [busy, first, second] = [arrive('192.0.2.1'), arrive('192.0.2.2'), arrive('192.0.2.3')]
  busy.connection!.active = 1
  assert.equal(arrive('192.0.2.4').connection?.crowded, false)
  assert.deepEqual([busy.socket.isDestroyed, first.socket.isDestroyed, second.socket.isDestroyed], [false, true, false])
})

test('when all are busy the next ones are told so, up to the reserve', () => {
  const { arrive, metrics } = table(2, 0)
  for (let count = 0; count < 2 + 64; count += 1) arrive(`192.0.2.${count % 8}`).connection!.active = 1
  assert.equal(arrive('192.0.2.99').connection, undefined)
  assert.equal(metrics.value('connections_refused_total', { reason: 'total' }), 1)
})

test('a client that holds every connection busy leaves room in the reserve for the probes of others', () => {
  const { arrive, connections } = table(100, 0)
  const greedy = Array.from({ length: 1000 }, () => {
    const { socket, connection } = arrive('192.0.2.1')
    if (connection !== undefined) connection.active = 1
    return socket
  })
  assert.equal(connections.size, 100 + 16)
  assert.equal(arrive('192.0.2.2').connection?.crowded, true)
  for (const socket of greedy) socket.destroy()
  assert.equal(arrive('192.0.2.1').connection?.crowded, false)
})

test('a socket that is gone before it is accepted is never taken for a local one', () => {
  const { arrive, connections } = table(2, 0)
  assert.equal(arrive(undefined).connection, undefined)
  assert.equal(connections.size, 0)
})

test('whatever comes and goes, the counts are right and the limits hold', () => {
  const step = fc.oneof(
    fc.record({ tag: fc.constant('arrive' as const), address: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ tag: fc.constant('leave' as const), index: fc.nat(50) }),
    fc.record({ tag: fc.constant('toggle' as const), index: fc.nat(50) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const { connections, arrive } = table(20, 5)
      for (const move of steps) {
        const all = [...connections]
        if (move.tag === 'arrive') arrive(move.address)
        else if (move.tag === 'leave') all[move.index % Math.max(1, all.length)]?.socket.destroy()
        else {
          const connection = all[move.index % Math.max(1, all.length)]
          if (connection !== undefined) connection.active = 1 - connection.active
        }
        assert.ok(connections.size <= 20 + 64)
        for (const address of ['a', 'b', 'c'])
          assert.ok([...connections].filter(({ peer }) => peer.address === address).length <= 5 + 16)
      }
      connections.destroyAll()
      assert.equal(connections.size, 0)
      for (let count = 0; count < 5; count += 1) assert.equal(arrive('a').connection?.crowded, false)
    }),
  )
})

test('the descriptors of the process bound the connections of each listener, so that all of them fit', () => {
  assert.equal(connectionsShare(undefined), Number.POSITIVE_INFINITY)
  for (const openFilesMax of [64, 128, 256, 1024, 4096, 20_000]) {
    const metrics = new MemoryMetrics(METRICS)
    const limits = { max_connections: 1024, max_connections_per_address: 0, trusted_proxies: [] }
    const connections = new Connections(metrics, 'tcp', limits, connectionsShare(openFilesMax))
    for (let count = 0; count < 5000; count += 1) {
      const arrived = connections.accept(new FakeSocket('192.0.2.1') as unknown as Socket, () => {})
      if (arrived !== undefined) arrived.active = 1
    }
    assert.ok(8 * connections.size <= Math.max(openFilesMax / 2, openFilesMax - 256), `${openFilesMax}`)
    assert.ok(connections.size > connections.totalMax, 'some past the limit are still told')
    assert.equal(connections.totalMax === 1024, openFilesMax === 20_000)
  }
})
