/** The edge as it is shipped, in front of real upstreams, on a real disk. */
import assert from 'node:assert/strict'
import { Agent, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { addressOf, encodeTree } from '@cairn/wire'
import { acceptance } from '../case.ts'
import type { Answer, RunningNode } from '../node.ts'
import { TestServer } from '../servers.ts'
import type { World } from '../world.ts'

const UP = '/edge/assets/u/up'
/** The default of `edge.workers`: so many misses are under way at once, the others wait. */
const WORKERS = 64

/** One upstream, asked for what is below its root. */
function routeTo({ url, host }: TestServer): string {
  return `[edge]\nmode = "live"\nallow = ["${host}"]\ndev_allow_loopback_http = true\n\n[edge.routes]\nup = "${url}/"\n`
}

for (const cacheControl of ['no-cache', 'max-age=0, must-revalidate'])
  acceptance(
    `edge: a request after the first answer is never given a response that says ${cacheControl}`,
    { finding: 'judges 1a' },
    async (world) => {
      let count = 0
      const upstream = world.own(
        await TestServer.start((_request, response) => {
          count += 1
          response.setHeader('cache-control', cacheControl).end(`answer ${count}`)
        }),
      )
      const node = await world.startNode({ config: routeTo(upstream) })
      const stale: string[] = []
      for (let pair = 0; pair < 60; pair += 1) {
        const first = await node.request('edge', `${UP}/${pair}`)
        const second = await node.request('edge', `${UP}/${pair}`)
        if (second.body.equals(first.body)) stale.push(String(second.headers['cache-status']))
      }
      assert.deepEqual(stale, [])
    },
  )

acceptance('edge: every answer of an upstream has one Date', { finding: 'judges 1b' }, async (world) => {
  const upstream = world.own(
    await TestServer.start((_request, response) => {
      response.setHeader('cache-control', 'max-age=60').end('dated')
    }),
  )
  const node = await world.startNode({ config: routeTo(upstream) })
  const { host } = new URL(node.urls.edge)
  for (let round = 0; round < 3; round += 1) {
    const socket = await world.socket(node.urls.edge)
    socket.write(`GET ${UP}/a HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const received = await socket.until((text) => text.endsWith('dated'))
    assert.equal(received.match(/^date:/gim)?.length, 1, received)
  }
})

acceptance(
  'edge: a response that does not vary by coding is kept once, and ranges of it are hits',
  { finding: 'judges 1c' },
  async (world) => {
    let count = 0
    const upstream = world.own(
      await TestServer.start((_request, response) => {
        count += 1
        response.setHeader('cache-control', 'max-age=60').end('0123456789')
      }),
    )
    const node = await world.startNode({ config: routeTo(upstream) })
    for (const coding of ['gzip, deflate', 'gzip, deflate, br', 'identity'])
      assert.equal((await node.request('edge', `${UP}/a`, { headers: { 'accept-encoding': coding } })).status, 200)
    const part = await node.request('edge', `${UP}/a`, {
      headers: { 'accept-encoding': 'identity', range: 'bytes=2-4' },
    })
    assert.deepEqual([part.status, part.body.toString()], [206, '234'])
    assert.equal(count, 1)
  },
)

acceptance(
  'edge: an Age that is no number is ignored, and dates are read in any case',
  { finding: 'judges 1d' },
  async (world) => {
    let count = 0
    const upstream = world.own(
      await TestServer.start((request, response) => {
        count += 1
        const expires = new Date(Date.now() + 3_600_000).toUTCString()
        if (request.url === '/age') response.setHeader('cache-control', 'max-age=3600').setHeader('age', '7200.0')
        else response.setHeader('expires', expires.toLowerCase())
        response.end('kept')
      }),
    )
    const node = await world.startNode({ config: routeTo(upstream) })
    for (const path of ['age', 'expires']) {
      const before = count
      for (let round = 0; round < 3; round += 1) await node.request('edge', `${UP}/${path}`)
      assert.equal(count - before, 1, path)
    }
  },
)

acceptance('edge: If-Match is judged for an answer that is not kept', { finding: 'judges 1' }, async (world) => {
  const upstream = world.own(
    await TestServer.start((_request, response) => {
      response.setHeader('cache-control', 'private').setHeader('etag', '"mine"').end('mine')
    }),
  )
  const node = await world.startNode({ config: routeTo(upstream) })
  const statusOf = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await node.request('edge', `${UP}/a`, { headers })).status
  assert.equal(await statusOf({ 'if-none-match': '"mine"' }), 304)
  assert.equal(await statusOf({ 'if-match': '"other"' }), 412)
  assert.equal(await statusOf({ 'if-match': '"mine"' }), 200)
})

acceptance('edge: what an upstream says before its answer is passed on', { finding: 'judges 1d' }, async (world) => {
  const upstream = world.own(
    await TestServer.start((_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' })
      response.setHeader('cache-control', 'max-age=60').end('final')
    }),
  )
  const config = routeTo(upstream).replace(/up = (.*)\n/, 'up = { upstream = $1, response_headers = ["link"] }\n')
  const node = await world.startNode({ config })
  const { host } = new URL(node.urls.edge)
  // One that the fast path reads, and one that it leaves to `node:http`.
  for (const [path, more] of [
    ['a', ''],
    ['b', 'Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n'],
  ] as const) {
    const socket = await world.socket(node.urls.edge)
    const body = more === '' ? '' : '0\r\n\r\n'
    socket.write(`GET ${UP}/${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n${body}`)
    const received = await socket.until((text) => text.endsWith('final'))
    assert.match(received, /HTTP\/1\.1 103 Early Hints\r\nlink: <\/style\.css>[^\r]*\r\n\r\n(?:.|\s)*HTTP\/1\.1 200 OK/)
  }
  // Over HTTP/1.0 there is no such thing.
  const old = await world.socket(node.urls.edge)
  old.write(`GET ${UP}/c HTTP/1.0\r\nHost: ${host}\r\n\r\n`)
  assert.doesNotMatch(await old.until((text) => text.endsWith('final')), /103/)
})

acceptance(
  'edge: at the shipped limits a miss that would wait in vain is refused in time, and readyz says so',
  { finding: 'seed-coverage 6.5', limitMs: 90_000 },
  async (world) => {
    const held: ServerResponse[] = []
    const tried = new Set<string>()
    const upstream = world.own(
      await TestServer.start((request, response) => {
        held.push(response)
        tried.add(request.url?.split('/').at(-1) ?? '')
      }),
    )
    const node = await world.startNode({ config: routeTo(upstream) })
    const agent = new Agent({ keepAlive: true, maxSockets: 400 })
    const crowd = (name: string, count: number): Promise<Answer>[] =>
      Array.from({ length: count }, async (_, at) => await node.request('edge', `${UP}/${name}-${at}`, { agent }))
    const served = crowd('served', WORKERS)
    await world.eventually(async () => await Promise.resolve(held.length === WORKERS ? true : undefined))
    const waiting = crowd('waiting', 300)
    await world.eventually(async () => {
      const { status, body } = await node.request('edge', '/readyz')
      return status === 503 && body.includes('shedder_stable') ? true : undefined
    })
    // On a busy machine some come so late that the first have been given up: they had a worker, and did not wait.
    const refused = (await Promise.all(waiting)).filter((_, at) => !tried.has(`waiting-${at}`))
    const statuses = refused.map(({ status, headers }) => `${status} ${Number(headers['retry-after']) >= 1}`)
    assert.deepEqual([...new Set(statuses)], ['429 true'])
    assert.ok(refused.length > WORKERS, `only ${refused.length} of ${waiting.length} were refused`)
    for (const response of held) response.end('late')
    await Promise.all(served)
    agent.destroy()
    await world.eventually(async () => ((await node.request('edge', '/readyz')).status === 200 ? true : undefined))
  },
)

/** What the name means from now on; its signer is the one a fresh node has. */
async function publish(world: World, node: RunningNode, name: string, address: string): Promise<void> {
  const told = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await node.cairn(...args)
    assert.equal(code, 0, err)
    return out.trim()
  }
  const proposal = await world.eventually(async () => {
    const { code, out, err } = await node.cairn('name', 'propose', '-q', name, address)
    // To hold all that is in a large directory takes longer than a request, and on a busy machine than its client waits.
    if (/still being held|ran out|in time/.test(err)) return undefined
    assert.equal(code, 0, err)
    return out.trim()
  })
  await told('name', 'approve', '--yes', '-q', proposal)
  await told('name', 'commit', '-q', proposal)
}

function directoryOf(count: number): Uint8Array {
  const id = addressOf(Buffer.from('a file'))
  return encodeTree(Array.from({ length: count }, (_, at) => ({ name: `file-${at}.txt`, kind: 'file', id, size: 6 })))
}

acceptance(
  'edge: a directory of 200 000 files is refused with what to do, one of 20 000 is served',
  { finding: 'attack S3', limitMs: 120_000 },
  async (world) => {
    const node = await world.startNode()
    await node.put('a file')
    for (const [name, count] of Object.entries({ 'huge@1': 200_000, 'large@1': 20_000 })) {
      const put = await node.cairn('put', '-q', await world.write(name, directoryOf(count)))
      assert.equal(put.code, 0, put.err)
      await publish(world, node, name, put.out.trim())
    }
    const refused = await node.request('edge', '/edge/assets/n/huge@1/file-7.txt')
    assert.equal(refused.status, 422, refused.body.toString())
    const { code, detail } = JSON.parse(refused.body.toString()) as { code: string; detail: string }
    assert.equal(code, 'directory_too_large')
    assert.match(detail, /split it into sub-directories/)
    const pages = await Promise.all(
      [0, 9_999, 19_999].map(async (at) => await node.request('edge', `/edge/assets/n/large@1/file-${at}.txt`)),
    )
    for (const { status, body } of pages) assert.deepEqual([status, body.toString()], [200, 'a file'])
    assert.equal((await node.request('edge', '/edge/assets/n/large@1/none.txt')).status, 404)
  },
)

const TILES = `CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
  CREATE TABLE metadata (name TEXT, value TEXT);`

function makePack(path: string, sql: string): string {
  using database = new DatabaseSync(path)
  database.exec(`${TILES}${sql}`)
  return path
}

acceptance(
  'edge: MBTiles that do not name their format are served as what their tiles are',
  { finding: 'judges 4' },
  async (world) => {
    const mvt = gzipSync(Buffer.from('1a020a00', 'hex')).toString('hex')
    const tiles = { png: '89504e470d0a1a0a', jpg: 'ffd8ffe000104a46', mvt }
    const packs = Object.entries(tiles).map(([name, hex]) => {
      const path = makePack(world.path(`${name}.mbtiles`), `INSERT INTO tiles VALUES (0, 0, 0, x'${hex}');`)
      return `[[edge.packs]]\nname = "${name}"\npath = ${JSON.stringify(path)}\n`
    })
    const node = await world.startNode({ config: packs.join('\n') })
    const typeOf = async (name: string): Promise<string | undefined> =>
      (await node.request('edge', `/edge/assets/p/${name}/0/0/0`)).headers['content-type']
    assert.equal(await typeOf('png'), 'image/png')
    assert.equal(await typeOf('jpg'), 'image/jpeg')
    assert.equal(await typeOf('mvt'), 'application/vnd.mapbox-vector-tile')
  },
)

acceptance(
  'edge: pack verify refuses a sum that is wrong and a row beyond its zoom',
  { finding: 'judges 4' },
  async (world) => {
    const verify = async (name: string, sql: string): Promise<{ code: number | null; err: string }> =>
      await world.cairn(['pack', 'verify', makePack(world.path(`${name}.mbtiles`), sql)])
    const tile = `INSERT INTO tiles VALUES (6, 38, 44, x'1f8b080000000000000303000000000000000000');`
    const sum = (text: string): string => `INSERT INTO metadata VALUES ('agg_tiles_hash', '${text}');`
    const sound = await verify('sound', tile + sum('AC15E26A1FCF82FDB6D0E8F43EE37821'))
    assert.equal(sound.code, 0, sound.err)
    const changed = await verify('changed', tile + sum('CAFEC0DEDEADBEEFDEADBEEFDEADBEEF'))
    assert.equal(changed.code, 4)
    assert.match(changed.err, /agg_tiles_hash is CAFEC0DE/)
    const misplaced = await verify('misplaced', `INSERT INTO tiles VALUES (6, 1, 64, x'00');`)
    assert.equal(misplaced.code, 4)
    assert.match(misplaced.err, /tile_row 64 cannot be/)
  },
)
