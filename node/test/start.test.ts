import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePorts } from '@cairn/platform/testing'
import { SERVICES } from '../src/services.ts'
import { VERSION } from '../src/version.ts'
import { ask, bearer } from './asking.ts'
import { Home } from './running-node.ts'

const ANY_PORT = ['--port-base', '0']

/** Threads the process has for work with files: the launcher asks for more than there are by default. */
async function threadsForFiles(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const names = await Promise.all(tasks.map(async (task) => await readFile(`/proc/${pid}/task/${task}/comm`, 'utf8')))
  return names.filter((name) => name === 'libuv-worker\n').length
}

/** Every service serves the document that is published, and the node a page of all of them that fetches nothing. */
async function checkApi(urls: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const page = await ask(urls['node']?.[0] ?? '', '/api')
  assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'])
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/)
  assert.doesNotMatch(page.body, /<script|<img|<link|@import|url\(|src=/)
  for (const [name, [url = '']] of Object.entries(urls)) {
    const { body } = await ask(url, '/openapi.json')
    const file = new URL(`../../docs/generated/openapi-${name}.json`, import.meta.url)
    const published = JSON.parse(await readFile(file, 'utf8')) as { paths: Record<string, Record<string, object>> }
    assert.deepEqual(JSON.parse(body), published, name)
    for (const [path, methods] of Object.entries(published.paths))
      for (const method of Object.keys(methods))
        assert.ok(page.body.includes(`<h3><b>${method.toUpperCase()}</b> ${path}</h3>`), `${method} ${path}`)
  }
}

test('the first start makes the data directory, answers on every listener, knows its administrator, and says so in one line', async (t) => {
  await using home = await Home.make()
  const node = home.start({ args: ANY_PORT })
  const ready = await node.ready()
  assert.equal(ready.version, VERSION)
  assert.equal(ready.pid, node.process.pid)
  assert.equal(ready.kept, true)
  assert.deepEqual(Object.keys(ready.urls).sort(), ['node', ...SERVICES.map(({ name }) => name)].sort())
  assert.deepEqual(node.stdout.all.length, 1)

  const urls = Object.values(ready.urls).flat()
  assert.ok(urls.some((url) => url.startsWith('unix:')))
  for (const url of urls) {
    for (const path of ['/healthz', '/readyz', '/metrics', '/version']) {
      const { status, headers, body } = await ask(url, path, { directory: home.path })
      assert.equal(status, 200, `${url}${path}: ${body}`)
      assert.ok(headers['x-corr-id'], `${url}${path}`)
    }
  }
  const headers = await bearer(home.path)
  for (const url of ready.urls['node'] ?? []) {
    const known = await ask(url, '/admin/status', { headers, directory: home.path })
    assert.equal(known.status, 200, known.body)
    assert.equal((JSON.parse(known.body) as { pid: number }).pid, ready.pid)
    const unknown = await ask(url, '/admin/status', { directory: home.path })
    assert.equal(unknown.status, 401)
    assert.equal(unknown.headers['content-type'], 'application/problem+json')
  }
  await checkApi(ready.urls)
  for (const [path, mode] of [
    ['.cairn', 0o700],
    ['.cairn/admin.token', 0o600],
    ['.cairn/admin.sock', 0o600],
    ['.cairn/keys/token-root', 0o600],
  ] as const) {
    assert.equal((await stat(`${home.path}/${path}`)).mode & 0o777, mode, path)
  }
  if (process.platform === 'linux') assert.equal(await threadsForFiles(ready.pid), 12)

  const before = await bearer(home.path)
  await t.test('a directory in use is refused with who to ask', async () => {
    const refused = home.start({ args: ANY_PORT })
    assert.deepEqual(await refused.ended, { code: 5, signal: null })
    assert.match(refused.stderr.text, /Another cairn is running on \.\/\.cairn/)
    assert.match(refused.stderr.text, /Next: {2}npx cairn status/)
    assert.deepEqual(refused.stdout.all, [])
    assert.equal((await ask(ready.urls['node']![0]!, '/readyz')).status, 200)
  })
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
  assert.equal(node.stdout.all.length, 1)
  await t.test('once it is free, keys and token are those of before', async () => {
    const second = home.start({ args: ANY_PORT })
    const { urls } = await second.ready()
    assert.deepEqual(await bearer(home.path), before)
    assert.equal((await ask(urls['node']![0]!, '/admin/keys', { headers: before })).status, 200)
  })
})

test('a port in use is refused, and the screen names it and another', async () => {
  await using home = await Home.make()
  const base = await freePorts(7)
  // Storage's: the first port a node opens.
  const port = base + 1
  const squatter = createServer().listen(port, '127.0.0.1')
  await once(squatter, 'listening')
  try {
    const node = home.start({ args: ['--port-base', String(base)] })
    assert.deepEqual(await node.ended, { code: 5, signal: null })
    assert.match(node.stderr.text, new RegExp(`127\\.0\\.0\\.1:${port} is in use by another program`))
    assert.match(node.stderr.text, /npx cairn start --port-base 8070/)
    assert.deepEqual(node.stdout.all, [])
  } finally {
    squatter.close()
  }
})

test('what is wrong with the flags or the configuration is said with its place, before anything is made', async () => {
  await using home = await Home.make()
  await writeFile(`${home.path}/typo.toml`, '[node]\ndrain_dedline = "2s"\n')
  const cases: [string[], number, RegExp][] = [
    [
      ['--config', 'typo.toml'],
      2,
      /typo\.toml:2:1: node\.drain_dedline is not a known key; did you mean node\.drain_deadline\?/,
    ],
    [['--config', 'none.toml'], 2, /none\.toml/],
    [['--port-base', '80'], 2, /--port-base must be 0 or a number from 1024/],
    [['--services', 'sotrage'], 2, /there is no service sotrage/],
  ]
  await Promise.all(
    cases.map(async ([args, code, words]) => {
      const node = home.start({ args })
      assert.equal((await node.ended).code, code, node.stderr.text)
      assert.match(node.stderr.text, words)
      assert.match(node.stderr.text, /Next: {2}npx cairn /)
      assert.deepEqual(node.stdout.all, [])
    }),
  )
  assert.deepEqual(await readdir(home.path), ['typo.toml'])
})

test('a directory that is not ours is left alone', async () => {
  await using home = await Home.make()
  await writeFile(`${home.path}/letter.txt`, 'mine')
  const node = home.start({ args: [...ANY_PORT, '--data', '.'] })
  assert.equal((await node.ended).code, 8)
  assert.match(node.stderr.text, /it holds letter\.txt/)
  assert.deepEqual(await readdir(home.path), ['letter.txt'])
})

test('a full disk is named, and nothing is said to run', async (t) => {
  if (spawnSync('unshare', ['-m', 'true']).status !== 0) {
    t.skip('tool absent: unshare')
    return
  }
  await using home = await Home.make()
  await mkdir(`${home.path}/small`)
  const mount = 'mount -t tmpfs -o size=8k,mode=700 tmpfs small && exec "$0" "$@"'
  const node = home.start({
    args: [...ANY_PORT, '--data', 'small'],
    under: ['unshare', '-m', 'sh', '-c', mount, process.execPath],
  })
  assert.equal((await node.ended).code, 1)
  assert.match(node.stderr.text, /The disk is full/)
  assert.match(node.stderr.text, /Next: {2}df -h/)
  assert.deepEqual(node.stdout.all, [])
})
