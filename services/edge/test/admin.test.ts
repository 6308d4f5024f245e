/** Packs added and removed while the service runs: what is served, what survives, and what is refused. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSmallFile, replaceSmallFile } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { FakePacks } from './fakes.ts'
import { allowed, isProblem, LIVE, TestEdge } from './harness.ts'

const PACKS = '/edge/admin/packs'
const TILE = { '0/0/0': Buffer.from('tile') }

function packsAt(...paths: readonly string[]): FakePacks {
  const packs = new FakePacks()
  for (const [at, path] of paths.entries()) packs.files.set(path, { file: noise(1000, at), tiles: TILE })
  return packs
}

async function put(edge: TestEdge, name: string, form: unknown, scope = allowed('edge:admin')): Promise<Answer> {
  const headers = { ...scope, 'content-type': 'application/json' }
  return await edge.ask('PUT', `${PACKS}/${name}`, { headers, body: Buffer.from(JSON.stringify(form)) })
}

async function remove(edge: TestEdge, name: string): Promise<Answer> {
  return await edge.ask('DELETE', `${PACKS}/${name}`, { headers: allowed('edge:admin') })
}

async function listed(edge: TestEdge): Promise<Record<string, unknown>[]> {
  const { status, fields } = await edge.get(PACKS, allowed('edge:admin'))
  assert.equal(status, 200)
  return fields()['packs'] as Record<string, unknown>[]
}

async function stateOf(edge: TestEdge): Promise<string[]> {
  return (await listed(edge)).map(({ name, from, state }) => `${String(name)} ${String(from)} ${String(state)}`)
}

describe('a pack that is added', () => {
  test('is served at once, is listed, and is gone when it is removed', async () => {
    const packs = packsAt('/maps/a')
    const edge = await TestEdge.start({ openPack: packs.open })
    const answer = await put(edge, 'a', { path: '/maps/a' })
    assert.equal(answer.status, 200, answer.body.toString())
    const row = {
      name: 'a',
      path: '/maps/a',
      from: 'added',
      state: 'mounted',
      b3: addressOf(noise(1000, 0)),
      size: 1000,
      media_type: 'application/vnd.pmtiles',
      tiles: 'png',
      min_zoom: 0,
      max_zoom: 4,
      why: null,
    }
    assert.deepEqual(answer.fields(), row)
    assert.deepEqual(await listed(edge), [row])
    assert.equal((await edge.get('/edge/assets/p/a/0/0/0')).body.toString(), 'tile')
    assert.equal(edge.metric('edge_packs', { state: 'mounted' }), 1)
    assert.equal((await remove(edge, 'a')).status, 204)
    isProblem(await edge.get('/edge/assets/p/a/0/0/0'), 404, 'not_found')
    isProblem(await remove(edge, 'a'), 404, 'not_found')
    assert.equal(packs.closed, packs.opened)
    await edge.stop()
  })

  test('is there after a restart, and after a power cut; one that was removed is not', async () => {
    const packs = packsAt('/maps/a', '/maps/b')
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const first = await TestEdge.start({ openPack: packs.open }, world, machine)
    for (const name of ['a', 'b']) assert.equal((await put(first, name, { path: `/maps/${name}` })).status, 200)
    assert.equal((await remove(first, 'a')).status, 204)
    machine.crash()
    const second = await TestEdge.start({ openPack: packs.open }, world, machine)
    await second.sleep(100)
    assert.deepEqual(await stateOf(second), ['b added mounted'])
    assert.equal((await second.get('/edge/assets/p/b/0/0/0')).status, 200)
    await second.stop()
  })

  test('of a file that cannot be served changes nothing, whatever is there under the name', async () => {
    const packs = packsAt('/maps/a')
    const edge = await TestEdge.start({ openPack: packs.open })
    isProblem(await put(edge, 'a', { path: '/maps/none' }), 422, 'unusable_pack')
    assert.deepEqual(await listed(edge), [])
    assert.equal((await put(edge, 'a', { path: '/maps/a', b3: addressOf(noise(1000, 0)) })).status, 200)
    isProblem(await put(edge, 'a', { path: '/maps/a', b3: addressOf(noise(9)) }), 422, 'unusable_pack')
    isProblem(await put(edge, 'a', { path: '/maps/none' }), 422, 'unusable_pack')
    assert.equal((await edge.get('/edge/assets/p/a/0/0/0')).status, 200)
    assert.deepEqual(await stateOf(edge), ['a added mounted'])
    await edge.stop()
  })

  test('takes the place of one that was added before, in one step', async () => {
    const packs = packsAt('/maps/old', '/maps/new')
    const edge = await TestEdge.start({ openPack: packs.open })
    await put(edge, 'a', { path: '/maps/old' })
    const { b3 } = (await put(edge, 'a', { path: '/maps/new' })).fields()
    assert.equal(b3, addressOf(noise(1000, 1)))
    assert.deepEqual([packs.opened, packs.closed], [2, 1])
    await edge.stop()
  })

  test('never takes a name of the configuration; a name that the configuration takes later is the configuration’s', async () => {
    const packs = packsAt('/maps/a', '/maps/b')
    const config = { ...LIVE, packs: [{ name: 'a', path: '/maps/a' }] }
    const edge = await TestEdge.start({ config, openPack: packs.open })
    isProblem(await put(edge, 'a', { path: '/maps/b' }), 409, 'pack_configured')
    isProblem(await remove(edge, 'a'), 409, 'pack_configured')
    assert.equal((await put(edge, 'b', { path: '/maps/b' })).status, 200)
    const { current } = edge.config
    const later = [...current.packs, { name: 'b', path: '/maps/a', missing_tile: 204 as const }]
    edge.config.swap({ values: { ...current, packs: later }, origins: {} })
    await edge.sleep(100)
    assert.deepEqual(await stateOf(edge), ['a config mounted', 'b config mounted'])
    assert.equal((await listed(edge))[1]!['path'], '/maps/a')
    edge.config.swap({ values: { ...current, packs: [] }, origins: {} })
    await edge.sleep(100)
    assert.deepEqual(await stateOf(edge), ['b added mounted'])
    await edge.stop()
  })

  test('whose file is gone at the next start is said to have failed, and does not keep the service from being ready', async () => {
    const packs = packsAt('/maps/a')
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const first = await TestEdge.start({ openPack: packs.open }, world, machine)
    await put(first, 'a', { path: '/maps/a' })
    await first.stop()
    machine.crash()
    packs.files.delete('/maps/a')
    const second = await TestEdge.start({ openPack: packs.open }, world, machine)
    await second.sleep(100)
    const [row] = await listed(second)
    assert.deepEqual([row!['state'], row!['why']], ['failed', '/maps/a is no pack.'])
    isProblem(await second.get('/edge/assets/p/a/0/0/0'), 502, 'bad_pack')
    assert.equal((await second.get('/readyz')).status, 200)
    assert.equal(second.metric('edge_packs', { state: 'failed' }), 1)
    assert.equal((await remove(second, 'a')).status, 204)
    assert.equal(second.metric('edge_packs', { state: 'failed' }), 0)
    await second.stop()
  })

  test('is not served, and its file not blamed, where the list of them cannot be written', async () => {
    const edge = await TestEdge.start({ openPack: packsAt('/maps/a').open })
    const { drive } = edge.machine
    const before = drive.capacityBytes
    drive.capacityBytes = 0
    isProblem(await put(edge, 'a', { path: '/maps/a' }), 507, 'no_space')
    drive.capacityBytes = before
    using _fault = edge.machine.faults.plan({ path: /packs\.json/, fault: 'io-error' })
    isProblem(await put(edge, 'a', { path: '/maps/a' }), 500, 'disk_io')
    assert.deepEqual(await listed(edge), [])
    await edge.stop()
  })

  test('in memory lasts as long as the process', async () => {
    const packs = packsAt('/maps/a')
    const edge = await TestEdge.start({ openPack: packs.open, amnesiaBytes: 16 * 1024 * 1024 })
    assert.equal((await put(edge, 'a', { path: '/maps/a' })).status, 200)
    assert.deepEqual(await stateOf(edge), ['a added mounted'])
    await edge.stop()
  })
})

test('who may not administer the edge neither sees nor changes packs; a form that is none is refused', async () => {
  const edge = await TestEdge.start({ openPack: packsAt('/maps/a').open })
  isProblem(await edge.get(PACKS), 401, 'token_missing')
  isProblem(await put(edge, 'a', { path: '/maps/a' }, allowed('events:read')), 403, 'scope_missing')
  for (const form of [{ path: 'maps/a' }, {}, { path: '/maps/a', b3: 'b3:00' }, { path: '/maps/a', missing_tile: 404 }])
    assert.equal((await put(edge, 'a', form)).status, 400, JSON.stringify(form))
  assert.equal((await put(edge, '%2e%2e', { path: '/maps/a' })).status, 400)
  assert.deepEqual(await listed(edge), [])
  await edge.stop()
})

test('a list of packs that is not one of ours keeps the service from starting, and says which file it is', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const edge = await TestEdge.start({ openPack: packsAt('/maps/a').open }, world, machine)
  await put(edge, 'a', { path: '/maps/a' })
  const { disk } = edge.platform
  const whole = await world.run(readSmallFile(disk, 'data/edge/packs.json'))
  await world.run(replaceSmallFile(disk, 'data/edge/packs.json', whole!.subarray(0, -9)))
  await edge.stop()
  machine.crash()
  await assert.rejects(TestEdge.start({}, world, machine), /data\/edge\/packs\.json is damaged; restore it/)
})
