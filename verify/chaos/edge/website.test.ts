/** From a directory to a website: put, named by quorum, opened through the edge of the same node. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { ask, EdgeNode, eventually } from './edge-node.ts'

const PAGE = '<!doctype html><title>Site</title><h1>Version 1</h1>'
const LOST = '<!doctype html><h1>Lost</h1>'
const LARGE = Buffer.alloc(300_000, 'abcdefghij')
const SITE = '/edge/assets/n/site@1.0/'

let node: EdgeNode

before(async () => {
  node = await EdgeNode.start('[edge.sites]\ndocs = "site@1.0"\n')
  await publish(PAGE)
  await eventually(
    async () => await node.get(SITE),
    ({ status }) => status === 200,
  )
})
after(async () => await node[Symbol.asyncDispose]())

async function publish(page: string): Promise<void> {
  const directory = await node.files('site', {
    'index.html': page,
    '404.html': LOST,
    'guide/index.html': '<h1>Guide</h1>',
    'guide/ä b.txt': 'ä',
    'large.bin': LARGE,
    'app.js': 'document.title = "ran"',
  })
  await node.name('site@1.0', await node.told('put', '-q', directory))
}

/** How large the log is by the registry itself: the second line of its checkpoint. */
async function logSize(): Promise<string> {
  const { body } = await ask(node.url('registry', '/log/checkpoint'))
  return body.toString().split('\n')[1] ?? ''
}

describe('a directory that was put and named', () => {
  test('is a website: index.html, types, its own 404 page, a slash where one is missing', async () => {
    const page = await node.get(SITE)
    assert.equal(page.body.toString(), PAGE)
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    assert.match(String(page.headers['content-security-policy']), /sandbox/)
    assert.equal(page.headers['cache-control'], 'public, max-age=5, stale-while-revalidate=30')
    assert.equal((await node.get(`${SITE}guide/`)).body.toString(), '<h1>Guide</h1>')
    assert.equal((await node.get(`${SITE}guide/%C3%A4%20b.txt`)).body.toString(), 'ä')
    assert.match(String((await node.get(`${SITE}app.js`)).headers['content-type']), /^text\/javascript/)
    const lost = await node.get(`${SITE}guide/nothing`)
    assert.deepEqual([lost.status, lost.body.toString()], [404, LOST])
    for (const path of ['/edge/assets/n/site@1.0', `${SITE}guide`]) {
      const { status, headers } = await node.get(path)
      assert.equal(status, 308)
      assert.equal(new URL(headers.location ?? '', node.url('edge', path)).pathname, `${path}/`)
    }
  })

  test('has ranges and conditions', async () => {
    const whole = await node.get(`${SITE}large.bin`)
    assert.ok(whole.body.equals(LARGE))
    assert.equal(whole.headers.etag, `"${addressOf(LARGE)}"`)
    const part = await node.get(`${SITE}large.bin`, { range: 'bytes=65530-65545' })
    assert.deepEqual([part.status, part.headers['content-range']], [206, 'bytes 65530-65545/300000'])
    assert.ok(part.body.equals(LARGE.subarray(65_530, 65_546)))
    const same = await node.get(`${SITE}large.bin`, { 'if-none-match': whole.headers.etag })
    assert.deepEqual([same.status, same.body.length], [304, 0])
    assert.equal((await node.get(`${SITE}large.bin`, { 'if-match': '"b3:0"' })).status, 412)
    assert.equal((await node.get(`${SITE}large.bin`, { range: 'bytes=300000-' })).status, 416)
    const byAddress = await node.get(`/edge/assets/b3/${addressOf(LARGE).slice(3)}`, { range: 'bytes=-10' })
    assert.deepEqual([byAddress.status, byAddress.body.toString()], [206, 'abcdefghij'])
    assert.match(byAddress.headers['cache-control'] ?? '', /immutable/)
  })

  test('says the position of the checkpoint that vouches for it', async () => {
    const told = (await node.get(SITE)).headers['x-cairn-version']
    assert.equal(told, await logSize())
    assert.match(told, /^[1-9]\d*$/)
  })

  test('opens on an origin of its own without the sandbox, which has no API', async () => {
    const host = { host: `docs.localhost:${node.url('edge').port}` }
    const page = await node.get('/', host)
    assert.equal(page.body.toString(), PAGE)
    assert.equal(page.headers['content-security-policy'], undefined)
    assert.equal(page.headers['x-cairn-version'], await logSize())
    for (const path of ['/healthz', '/metrics', '/version', '/edge/admin/packs', SITE]) {
      const { status, body } = await node.get(path, host)
      assert.deepEqual([status, body.toString()], [404, LOST], path)
    }
    assert.equal((await node.get('/', { host: `other.localhost:${node.url('edge').port}` })).status, 404)
  })

  test('changes with its name, and the version with it', async () => {
    const before = Number((await node.get(SITE)).headers['x-cairn-version'])
    const next = PAGE.replace('1', '2')
    await publish(next)
    const page = await eventually(
      async () => await node.get(SITE),
      ({ body }) => body.toString() === next,
    )
    assert.ok(Number(page.headers['x-cairn-version']) > before)
  })
})
