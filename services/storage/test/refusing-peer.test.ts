import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { TestService } from './harness.ts'
import { nodeOptions } from './nodes.ts'

/** A peer that is there and takes no copies, so that its breaker opens. */
function refuse(world: VirtualWorld, name: string): { readonly refused: () => number } {
  let refused = 0
  world
    .machine(name)
    .start()
    .listen(7071, async ({ target, body }) => {
      if (!target.startsWith('/copies/known')) {
        refused += 1
        return { status: 503, headers: [], body: Buffer.from('') }
      }
      const pieces: Uint8Array[] = []
      for await (const piece of body ?? []) pieces.push(piece)
      const { ids = [] } = JSON.parse(Buffer.concat(pieces).toString() || '{}') as { ids?: string[] }
      const copies = ids.map(() => ({ tag: 'absent' }))
      const answer = Buffer.from(JSON.stringify({ node: name, copies }))
      return { status: 200, headers: ['Content-Type', 'application/json'], body: answer }
    })
  return { refused: () => refused }
}

test('a peer that refuses every copy costs repairs, and not the service', async () => {
  const world = new VirtualWorld(1)
  const peer = refuse(world, 'b')
  const config = { durability: { allow_degraded_writes: true, sweep_interval: '1s' } }
  const service = await TestService.start(nodeOptions('a', ['a', 'b'], config), world, world.machine('a'))
  const objects = Array.from({ length: 12 }, (_, at) => noise(500, at + 1))
  for (const body of objects) await service.ask('POST', '/o?stream', { body })
  for (let round = 0; round < 60; round += 1) await service.sleep(1_000)
  assert.ok(peer.refused() > 20, `refused ${peer.refused()} times`)
  assert.equal(service.running.health.fatal, undefined)
  for (const body of objects) {
    const { status } = await service.ask('GET', `/o/${addressOf(body)}`, { token: null })
    assert.equal(status, 200)
  }
  world.machine('b').kill()
  await service.stop()
})

test('a call to a peer is tried three times, after 50 to 100 ms and then after 200 to 400, never twice the same', async () => {
  const world = new VirtualWorld(1)
  const askedAt: number[] = []
  world
    .machine('b')
    .start()
    .listen(7071, async () => {
      askedAt.push(world.clock.now())
      return await Promise.resolve({ status: 503, headers: [], body: Buffer.from('') })
    })
  const service = await TestService.start(nodeOptions('a', ['a', 'b']), world, world.machine('a'))
  await service.sleep(5_000)
  const pauses = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0))
  // A round of the watch is three tries; between two rounds there is a second.
  const [first, second] = [0, 1].map((place) => pauses.filter((_, index) => index % 3 === place))
  assert.ok(first!.length >= 2 && first!.every((ms) => ms >= 50 && ms < 110), first!.join(' '))
  assert.ok(second!.length >= 2 && second!.every((ms) => ms >= 200 && ms < 410), second!.join(' '))
  assert.ok(new Set(first).size > 1, 'there is no jitter')
  world.machine('b').kill()
  await service.stop()
})
