import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { addressOf } from '@cairn/wire'
import { noise } from '../../../verify/virtual/noise.ts'
import { FakePacks } from './fakes.ts'
import { isProblem, LIVE, TestEdge } from './harness.ts'

async function start(packs: FakePacks, more = {}) {
  const config = { ...LIVE, packs: [{ name: 'map', path: '/map', ...more }] }
  return await TestEdge.start({ config, openPack: packs.open })
}

function onePack(tiles = { '1/0/1': Buffer.from('tile') }, coding?: 'gzip'): FakePacks {
  const packs = new FakePacks()
  packs.files.set('/map', { file: noise(50_000), tiles, ...(coding === undefined ? {} : { coding }) })
  return packs
}

describe('a pack', () => {
  test('serves tiles, with and without an extension; one that is missing is 204, or 404 if so configured', async () => {
    const edge = await start(onePack())
    for (const target of ['/edge/assets/p/map/1/0/1', '/edge/assets/p/map/1/0/1.png']) {
      const answer = await edge.get(target)
      assert.equal(answer.body.toString(), 'tile')
      assert.equal(answer.headers['content-type'], 'image/png')
      assert.equal(answer.headers['cache-control'], 'public, max-age=300')
      assert.equal(answer.headers['etag'], `"${addressOf(Buffer.from('tile'))}"`)
    }
    assert.equal((await edge.get('/edge/assets/p/map/1/1/1')).status, 204)
    await edge.stop()
    const strict = await start(onePack(), { missing_tile: 404 })
    isProblem(await strict.get('/edge/assets/p/map/1/1/1'), 404, 'not_found')
    await strict.stop()
  })

  test('a place that is none is 400', async () => {
    const edge = await start(onePack())
    for (const place of ['1/2/0', '1/0/2', 'x/0/0', '31/0/0', '1/-1/0', '1/0/0.toolong'])
      isProblem(await edge.get(`/edge/assets/p/map/${place}`), 400, 'malformed')
    await edge.stop()
  })

  test('TileJSON leads back to where the client came from; metadata is the pack’s own', async () => {
    const edge = await start(onePack())
    const document = await edge.get('/edge/assets/p/map/tiles.json', { host: 'localhost:7074' })
    const { tiles, tilejson, maxzoom } = document.fields()
    assert.deepEqual(tiles, ['http://localhost:7074/edge/assets/p/map/{z}/{x}/{y}.png'])
    assert.deepEqual([tilejson, maxzoom], ['3.0.0', 4])
    assert.deepEqual((await edge.get('/edge/assets/p/map/metadata')).fields(), { name: 'fake' })
    await edge.stop()
  })

  test('under its address it may be kept for ever; under another there is none', async () => {
    const edge = await start(onePack())
    const answer = await edge.get(`/edge/assets/p/map@${addressOf(noise(50_000))}/1/0/1`)
    assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
    isProblem(await edge.get(`/edge/assets/p/map@${addressOf(noise(5))}/1/0/1`), 404, 'not_found')
    await edge.stop()
  })

  test('a coded tile is handed out as it is to whoever takes it, plain to whoever does not, each with its own tag', async () => {
    const coded = gzipSync(Buffer.from('vector'))
    const edge = await start(onePack({ '1/0/1': coded }, 'gzip'))
    const target = '/edge/assets/p/map/1/0/1'
    const as = await edge.get(target, { 'accept-encoding': 'gzip, br' })
    assert.equal(as.headers['content-encoding'], 'gzip')
    assert.ok(as.body.equals(coded))
    const plain = await edge.get(target)
    assert.equal(plain.body.toString(), 'vector')
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.notEqual(plain.headers['etag'], as.headers['etag'])
    for (const { headers } of [as, plain]) assert.equal(headers['vary'], 'Accept-Encoding')
    await edge.stop()
  })

  test('a coded tile that grows without end is 502 decompress_cap; one that is no gzip 502 bad_pack', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024))
    const edge = await start(onePack({ '1/0/1': bomb, '1/0/0': Buffer.from('no gzip') } as never, 'gzip'))
    isProblem(await edge.get('/edge/assets/p/map/1/0/1'), 502, 'decompress_cap')
    isProblem(await edge.get('/edge/assets/p/map/1/0/0'), 502, 'bad_pack')
    await edge.stop()
  })

  test('that cannot be opened is 502, and the service not ready; the others serve', async () => {
    const packs = onePack()
    packs.files.set('/bad', undefined)
    const config = {
      ...LIVE,
      packs: [
        { name: 'bad', path: '/bad' },
        { name: 'map', path: '/map' },
      ],
    }
    const edge = await TestEdge.start({ config, openPack: packs.open })
    await edge.sleep(100)
    isProblem(await edge.get('/edge/assets/p/bad/0/0/0'), 502, 'bad_pack')
    assert.equal((await edge.get('/edge/assets/p/map/1/0/1')).status, 200)
    const ready = await edge.get('/readyz')
    assert.equal(ready.status, 503)
    assert.deepEqual(ready.fields()['missing'], ['packs_verified'])
    assert.equal(edge.metric('edge_packs', { state: 'failed' }), 1)
    await edge.stop()
  })

  test('another file than the one pinned is refused', async () => {
    const edge = await start(onePack(), { b3: addressOf(noise(9)) })
    await edge.sleep(100)
    isProblem(await edge.get('/edge/assets/p/map'), 502, 'bad_pack')
    await edge.stop()
  })

  test('replaced 100 times under load: no answer mixes two, and every old one is closed', async () => {
    const packs = new FakePacks()
    const version = (count: number) => ({
      file: Buffer.alloc(60_000, count),
      tiles: { '0/0/0': Buffer.alloc(20_000, count) },
    })
    packs.files.set('/map', version(0))
    const edge = await start(packs)
    packs.onTile = async () => await edge.world.sleep(3)
    const seen = new Set<number>()
    const mixed: string[] = []
    const state = { isOver: false }
    const client = async (target: string): Promise<void> => {
      while (!state.isOver) {
        const { status, body, headers } = await edge.send('GET', target)
        if (status !== 200 || new Set(body).size !== 1) mixed.push(`${status} ${target}`)
        else if (headers['etag'] !== `"${addressOf(body)}"`) mixed.push('tag')
        else seen.add(body[0] ?? -1)
        await edge.world.sleep(1)
      }
    }
    const swap = async (): Promise<void> => {
      for (let count = 1; count <= 100; count += 1) {
        packs.files.set('/map', version(count))
        edge.config.swap({ values: { ...edge.config.current }, origins: {} })
        await edge.world.sleep(5)
      }
      state.isOver = true
    }
    const targets = ['/edge/assets/p/map/0/0/0', '/edge/assets/p/map', '/edge/assets/p/map/0/0/0']
    await edge.world.run(Promise.all([swap(), ...targets.map(client)]))
    assert.deepEqual(mixed, [])
    assert.ok(seen.size > 50, `${seen.size} versions were seen`)
    assert.equal(packs.closed, packs.opened - 1)
    await edge.stop()
    assert.equal(packs.closed, packs.opened)
  })
})
