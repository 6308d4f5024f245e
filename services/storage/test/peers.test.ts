import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { windowsOf } from '../src/objects/window-core.ts'
import { placementOrder } from '../src/placement/placement-core.ts'
import { LyingPeer, Nodes, textOf } from './nodes.ts'
import { CHUNK, clientObjectOf, frames } from './objects.ts'

const OBJECTS = [300, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 7].map((size, at) => noise(size, at + 1))

async function readAll(nodes: Nodes, names: readonly string[], objects: readonly Buffer[] = OBJECTS): Promise<void> {
  for (const name of names)
    for (const bytes of objects) {
      const { status, body } = await nodes.at(name).ask('GET', `/o/${addressOf(bytes)}`, { token: null })
      assert.equal(status, 200, `${name} has ${bytes.length} bytes: ${body.toString('latin1', 0, 300)}`)
      assert.ok(body.equals(bytes))
    }
}

test('three nodes, two copies: whatever is put on one is read from every one, and after any one is gone', async () => {
  const names = ['a', 'b', 'c']
  for (const lost of names) {
    const nodes = await new Nodes(names).start()
    for (const bytes of OBJECTS) {
      const put = await nodes.at('a').ask('PUT', `/o/${addressOf(bytes)}?stream`, { body: bytes })
      assert.equal(put.status, 201, put.body.toString())
    }
    await readAll(nodes, names)
    nodes.world.machine(lost).crash()
    await nodes.sleep(8000)
    const left = names.filter((name) => name !== lost)
    await readAll(nodes, left)
    const [first, second] = left
    const more = noise(1234, 77)
    assert.equal((await nodes.at(first!).ask('POST', '/o', { body: more })).status, 201)
    await readAll(nodes, [second!], [more])
    await nodes.stop()
  }
})

test('two nodes: a put waits for both, and a node that was away gets what it missed', async () => {
  const nodes = await new Nodes(['a', 'b']).start()
  const [first, ...others] = OBJECTS
  assert.equal((await nodes.at('a').ask('POST', '/o', { body: first! })).status, 201)
  nodes.world.network.links.partition(['a'], ['b'])
  isProblem(await nodes.at('a').ask('POST', '/o', { body: others[0]! }), 503, 'under_replicated')
  await nodes.sleep(2000)
  await readAll(nodes, ['a', 'b'], [first!])
  isProblem(await nodes.at('a').ask('DELETE', `/o/${addressOf(first!)}`), 503, 'under_replicated')
  nodes.world.network.links.heal()
  await nodes.sleep(8000)
  for (const bytes of others)
    assert.ok((await nodes.at('b').ask('PUT', `/o/${addressOf(bytes)}?stream`, { body: bytes })).status < 300)
  await readAll(nodes, ['a', 'b'], others)
  // The delete that was not told as done may have been done.
  const seen = await Promise.all(
    ['a', 'b'].map(async (name) => (await nodes.at(name).ask('GET', `/o/${addressOf(first!)}`)).status),
  )
  assert.equal(seen[0], seen[1])
  await nodes.stop()
})

test('what is damaged here and sound at a node that is away is not lost: it is read when that is back', async () => {
  const nodes = await new Nodes(['a', 'b'], { cache_bytes: 0 }).start()
  const bytes = noise(CHUNK, 8)
  const target = `/o/${addressOf(bytes)}`
  await nodes.at('a').ask('POST', '/o', { body: bytes })
  nodes.world.network.links.partition(['a'], ['b'])
  await nodes.sleep(3000)
  nodes.world.machine('a').drive.damage('data/storage/journal/0000000001.seg', (128 + 300) * 8)
  const answer = await nodes.at('a').ask('GET', target)
  isProblem(answer, 503, 'copies_away')
  assert.ok(Number(answer.headers['retry-after']) > 0)
  nodes.world.network.links.heal()
  await nodes.sleep(8000)
  await readAll(nodes, ['a', 'b'], [bytes])
  await nodes.stop()
})

test('a node without a copy reads an object that was put again in chunks of another size', async () => {
  const nodes = await new Nodes(['a', 'b', 'c']).start()
  const bytes = noise(3 * CHUNK, 9)
  const { id, chunks, encoded } = clientObjectOf(bytes, CHUNK / 2)
  await nodes.at('a').ask('POST', '/o?stream', { body: bytes })
  await readAll(nodes, ['a', 'b', 'c'], [bytes])
  assert.equal((await nodes.at('a').ask('DELETE', `/o/${id}`)).status, 204)
  await nodes.at('a').ask('POST', '/c?upload=u', { body: frames(chunks.map((chunk) => chunk.bytes)) })
  assert.equal((await nodes.at('a').ask('PUT', `/m/${id}?upload=u`, { body: encoded })).status, 201)
  await readAll(nodes, ['a', 'b', 'c'], [bytes])
  await nodes.stop()
})

test('a node that was down learns the deletes it missed, and brings nothing back', async () => {
  const nodes = await new Nodes(['a', 'b', 'c']).start()
  for (const bytes of OBJECTS) await nodes.at('a').ask('PUT', `/o/${addressOf(bytes)}?stream`, { body: bytes })
  nodes.world.machine('b').crash()
  await nodes.sleep(6000)
  for (const bytes of OBJECTS) assert.equal((await nodes.at('c').ask('DELETE', `/o/${addressOf(bytes)}`)).status, 204)
  await nodes.world.run(nodes.open())
  await nodes.sleep(8000)
  for (const name of ['a', 'b', 'c'])
    for (const bytes of OBJECTS) isProblem(await nodes.at(name).ask('GET', `/o/${addressOf(bytes)}`), 404, 'not_found')
  await nodes.stop()
})

test('a peer that may not know of everything is not believed when it says that nothing is there', async () => {
  for (const partial of [false, true]) {
    const nodes = new Nodes(['a', 'b'], {}, undefined, ['c'])
    const peer = nodes.world.machine('c')
    peer.start().listen(7071, async ({ body }) => {
      const { ids = [] } = JSON.parse(await textOf(body)) as { ids?: string[] }
      const answer = { node: 'c', copies: ids.map(() => ({ tag: 'absent', partial })) }
      return { status: 200, headers: ['Content-Type', 'application/json'], body: Buffer.from(JSON.stringify(answer)) }
    })
    await nodes.start()
    nodes.world.machine('b').crash()
    await nodes.sleep(3000)
    const answer = await nodes.at('a').ask('GET', `/o/${addressOf(noise(10, 10))}`)
    // With b away and a drive of c, both copies may be where nobody can look.
    if (partial) isProblem(answer, 503, 'copies_away')
    else isProblem(answer, 404, 'not_found')
    peer.kill()
    await nodes.stop()
  }
})

/** An object that belongs on this node first. */
function firstAt(name: string, names: readonly string[]): Buffer {
  const nodes = names.map((node) => ({ id: node, node, region: '', weight: 1 }))
  for (let seed = 1; ; seed += 1) {
    const bytes = noise(1000, seed)
    if (placementOrder(addressOf(bytes), nodes)[0]?.id === name) return bytes
  }
}

test('a peer that sends other bytes than it was asked for is found out, reported, and not asked again', async () => {
  const nodes = new Nodes(['a', 'b'], {}, undefined, ['liar'])
  const bytes = firstAt('liar', ['a', 'b', 'liar'])
  const liar = new LyingPeer(nodes.world, 'liar', bytes)
  await nodes.start()
  const [a, b] = [nodes.at('a'), nodes.at('b')]
  assert.equal((await b.ask('PUT', `/o/${liar.id}?copy=1`, { body: bytes })).status, 201)
  for (let round = 0; round < 5; round += 1) {
    const { status, body } = await a.ask('GET', `/o/${liar.id}`, { token: null })
    assert.equal(status, 200)
    assert.ok(body.equals(bytes))
  }
  assert.equal(liar.asked, 1)
  await nodes.sleep(5000)
  const copy = a.parts.own.stat(liar.id)
  assert.equal((await nodes.world.run(copy))?.size, bytes.length, 'the copy it does not have is made elsewhere')
  assert.equal(a.metric('integrity_fail_total', { reason: 'header_mismatch' }), 1)
  assert.match(
    JSON.stringify((await a.ask('GET', '/admin/durability')).fields()['places']),
    /It sent bytes that are not/,
  )
  liar.close()
  await nodes.stop()
})

test('what a peer refuses our token for is counted, and it is not used', async () => {
  const nodes = new Nodes(['a', 'b'])
  await nodes.world.run(nodes.open())
  const a = nodes.at('a')
  await nodes.world.run(
    (async () => {
      await a.platform.disk.unlink('peer.token')
    })(),
  )
  await nodes.sleep(3000)
  isProblem(await a.ask('POST', '/o', { body: 'x' }), 503, 'under_replicated')
  await nodes.stop()
})

test('while a node lets go of a copy too many, it reads and holds the object all the same', async () => {
  const names = ['a', 'b', 'c']
  const nodes = await new Nodes(names).start()
  const bytes = noise(700, 3)
  const id = addressOf(bytes)
  await nodes.at('a').ask('POST', '/o', { body: bytes })
  const has = async (name: string): Promise<boolean> =>
    (await nodes.world.run(nodes.at(name).parts.own.known([id])))[0]?.tag === 'object'
  const homes = await Promise.all(names.map(has))
  const spare = names[homes.indexOf(false)] ?? assert.fail('each has a copy')
  const away = names[homes.indexOf(true)] ?? assert.fail('none has a copy')
  nodes.world.network.links.partition(
    [away],
    names.filter((name) => name !== away),
  )
  await nodes.sleep(8000)
  assert.ok(await has(spare))
  for (let at = 0; at < 20_000 && (await has(spare)); at += 1) {
    if (at === 10) nodes.world.network.links.heal()
    const [read, held] = [nodes.at(spare).send('GET', `/o/${id}`), nodes.at(spare).send('PUT', `/refs/me/${id}`)]
    assert.equal((await nodes.world.run(read)).status, 200)
    assert.equal((await nodes.world.run(held)).status, 204)
    await nodes.sleep(0.2)
  }
  assert.ok(!(await has(spare)))
  isProblem(await nodes.at(spare).ask('DELETE', `/o/${id}`), 409, 'referenced')
  await nodes.stop()
})

test('a read that began with a copy of this node goes on with those of others when that one is let go of', async () => {
  const nodes = await new Nodes(['a', 'b', 'c'], { cache_bytes: 0 }).start()
  const bytes = noise(5 * CHUNK, 11)
  const id = addressOf(bytes)
  await nodes.at('a').ask('POST', '/o?stream', { body: bytes })
  const services = [...nodes.services.values()]
  const known = await nodes.world.run(Promise.all(services.map(async ({ parts }) => (await parts.own.known([id]))[0])))
  const holder = services[known.findIndex((each) => each?.tag === 'object')] ?? assert.fail('nobody has it')
  const { reader, drives } = holder.parts
  const object = (await nodes.world.run(reader.find(id))) ?? assert.fail('it is not there')
  const { storage } = drives.open[0]!.contents
  await nodes.world.run(storage.copies.drop(id, object.facts.version))
  for (const chunk of (await holder.ask('GET', '/c')).fields()['chunks'] as string[])
    assert.equal((await holder.ask('DELETE', `/c/${chunk}`)).status, 204)
  const read: Uint8Array[] = []
  for (const window of windowsOf({ first: 0, last: bytes.length - 1 }, CHUNK)) {
    using loaded = await nodes.world.run(reader.load(object, window))
    read.push(...loaded.pieces.map((piece) => piece.slice()))
  }
  assert.ok(Buffer.concat(read).equals(bytes))
  await nodes.stop()
})
