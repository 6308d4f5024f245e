import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { noise } from '../../../verify/virtual/noise.ts'
import { FakePacks, FakeStorage, fakeIndex } from './fakes.ts'
import { isProblem, LIVE, TestEdge } from './harness.ts'

const PAGE = '<script>parent.attack()</script>'

function published() {
  const storage = new FakeStorage()
  const docs = storage.tree({ 'index.html': '<p>docs', 'a b.txt': 'spaced' })
  const site = storage.tree({
    'index.html': PAGE,
    'app.js': 'run()',
    'logo.svg': '<svg onload="attack()"/>',
    events: 'a file',
    '404.html': 'not here',
    'docs/': docs,
  })
  const bare = storage.tree({ 'index.html': 'bare' })
  const letter = storage.put(new TextEncoder().encode('no directory'))
  return { storage, asked: [] as string[], names: { 'site@1.0': site, bare, letter } }
}

async function start(config = {}) {
  const { storage, names, asked } = published()
  const index = fakeIndex({ names }, asked)
  const edge = await TestEdge.start({ config: { ...LIVE, ...config }, storage: storage.client(), index })
  return { edge, asked }
}

describe('a site under a path', () => {
  test('files, index.html of directories, types by name, and the checkpoint it is vouched for by', async () => {
    const { edge } = await start()
    const base = '/edge/assets/n/site@1.0'
    const root = await edge.get(`${base}/`)
    assert.equal(root.body.toString(), PAGE)
    assert.equal(root.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(root.headers['x-cairn-version'], '42')
    assert.equal(root.headers['cache-control'], 'public, max-age=5, stale-while-revalidate=30')
    assert.equal((await edge.get(`${base}/app.js`)).headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal((await edge.get(`${base}/docs/`)).body.toString(), '<p>docs')
    assert.equal((await edge.get(`${base}/docs/a%20b.txt`)).body.toString(), 'spaced')
    await edge.stop()
  })

  test('links lead on inside the root, eight of them at most, and never through another', async () => {
    const storage = new FakeStorage()
    const chain = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`l${at + 1} ->`, at === 0 ? 'real' : `l${at}`]),
    )
    const docs = storage.tree({ 'index.html': 'docs', 'home ->': '../index.html', 'up ->': '..', 'out ->': '../../x' })
    const files = { real: 'real', 'index.html': 'home', 'docs/': docs, 'latest ->': 'docs', 'self ->': 'self' }
    const site = storage.tree({ ...files, ...chain, 'past ->': 'latest/index.html', 'into ->': 'real/x' })
    const edge = await TestEdge.start({
      config: LIVE,
      storage: storage.client(),
      index: fakeIndex({ names: { site } }, []),
    })
    const see = async (path: string): Promise<string> => {
      const { status, body } = await edge.get(`/edge/assets/n/site/${path}`)
      return `${status} ${status === 200 ? body.toString() : ''}`.trim()
    }
    assert.equal(await see('latest/'), '200 docs')
    assert.equal(await see('latest'), '308')
    assert.equal(await see('latest/home'), '200 home')
    assert.equal(await see('docs/up/docs/up/real'), '200 real')
    assert.equal(await see('l8'), '200 real')
    for (const path of ['l9', 'past', 'self', 'docs/out', 'into']) assert.equal(await see(path), '404', path)
    await edge.stop()
  })

  test('a name that means no directory is no website, and says where its bytes are', async () => {
    const { edge } = await start()
    const answer = await edge.get('/edge/assets/n/letter/index.html')
    isProblem(answer, 404, 'not_found')
    assert.match(String(answer.fields()['detail']), /no directory; its bytes are at \/edge\/assets\/b3\/[0-9a-f]{64}/)
    await edge.stop()
  })

  test('308 for a directory without a slash, to where the slash is', async () => {
    const { edge } = await start()
    for (const [target, location] of [
      ['/edge/assets/n/site@1.0/docs?x=1', './docs/?x=1'],
      ['/edge/assets/n/site@1.0', './site@1.0/'],
    ] as const) {
      const answer = await edge.get(target)
      assert.equal(answer.status, 308)
      assert.equal(answer.headers['location'], location)
    }
    await edge.stop()
  })

  test('its own 404 page where it has one, a problem where not, and 404 for a name nobody knows', async () => {
    const { edge } = await start()
    const missing = await edge.get('/edge/assets/n/site@1.0/none/such')
    assert.equal(`${missing.status} ${missing.body.toString()}`, '404 not here')
    assert.equal(missing.headers['content-security-policy'], 'sandbox')
    isProblem(await edge.get('/edge/assets/n/bare/none'), 404, 'not_found')
    isProblem(await edge.get('/edge/assets/n/nobody/x'), 404, 'not_found')
    await edge.stop()
  })

  test('the index is asked once in a while, and once by many', async () => {
    const { edge, asked } = await start()
    const target = '/edge/assets/n/site@1.0/app.js'
    await edge.world.run(Promise.all([edge.send('GET', target), edge.send('GET', target)]))
    await edge.get(target)
    assert.equal(asked.length, 1)
    await edge.sleep(6000)
    assert.equal((await edge.get(target)).status, 200)
    assert.equal(asked.length, 2)
    await edge.stop()
  })
})

describe('a site on its own origin', () => {
  test('runs as what it is, at its host, with every path its own', async () => {
    const { edge } = await start({ sites: { docs: 'site@1.0', 'docs.example.org': 'bare' } })
    const root = await edge.get('/', { host: 'docs.localhost:7074' })
    assert.equal(root.body.toString(), PAGE)
    assert.equal(root.headers['content-security-policy'], undefined)
    assert.equal((await edge.get('/events', { host: 'docs.localhost' })).body.toString(), 'a file')
    assert.equal((await edge.get('/', { host: 'docs.example.org' })).body.toString(), 'bare')
    assert.equal((await edge.get('/docs', { host: 'docs.localhost' })).headers['location'], './docs/')
    await edge.stop()
  })

  test('has no API: neither ours nor the operator’s', async () => {
    const { edge } = await start({ sites: { docs: 'site@1.0' } })
    for (const path of [
      '/metrics',
      '/healthz',
      '/readyz',
      '/version',
      '/debug/topology',
      '/edge/assets/u/up/x',
      '/edge/assets/n/bare/',
    ]) {
      const answer = await edge.get(path, { host: 'docs.localhost' })
      assert.equal(`${answer.status} ${answer.body.toString()}`, '404 not here', path)
    }
    assert.equal((await edge.ask('POST', '/edge/assets/u/up/x', { headers: { host: 'docs.localhost' } })).status, 405)
    await edge.stop()
  })
})

test('nothing that was uploaded or filled runs on an origin with an API', async () => {
  const storage = new FakeStorage()
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="attack()"/>'
  const objects = [
    storage.put(PAGE, 'application/octet-stream'),
    storage.put(noise(70_000), 'application/octet-stream'),
  ]
  const site = storage.tree({ 'index.html': PAGE, 'x.svg': svg, 'x.xhtml': PAGE })
  const packs = new FakePacks()
  packs.files.set('/p', { file: Buffer.from(PAGE), tiles: { '0/0/0': Buffer.from(PAGE) } })
  const edge = await TestEdge.start({
    config: { ...LIVE, packs: [{ name: 'map', path: '/p' }] },
    storage: storage.client(),
    index: fakeIndex({ names: { site } }),
    openPack: packs.open,
    upstream: ({ url }) => ({
      headers: {
        'cache-control': 'max-age=9',
        'content-type': url.pathname.endsWith('svg') ? 'image/svg+xml' : 'text/html',
      },
      body: [url.pathname.endsWith('svg') ? svg : PAGE],
    }),
  })
  const targets = [
    ...objects.map((id) => `/edge/assets/b3/${id.slice(3)}`),
    '/edge/assets/n/site/',
    '/edge/assets/n/site/x.svg',
    '/edge/assets/n/site/x.xhtml',
    '/edge/assets/u/up/page',
    '/edge/assets/u/up/x.svg',
    '/edge/assets/p/map',
    '/edge/assets/p/map/0/0/0',
    '/edge/assets/p/map/metadata',
    '/edge/assets/p/map/tiles.json',
  ]
  for (const target of targets) {
    for (const headers of [{}, {}, { range: 'bytes=0-5' }]) {
      const answer = await edge.get(target, headers)
      assert.ok(answer.status === 200 || answer.status === 206, target)
      assert.match(answer.headers['content-security-policy'] ?? '', /^sandbox(?:;|$)/, target)
      assert.doesNotMatch(answer.headers['content-security-policy'] ?? '', /allow-scripts|allow-same-origin/)
      assert.equal(answer.headers['x-content-type-options'], 'nosniff', target)
    }
  }
  await edge.stop()
})
