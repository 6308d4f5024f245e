/** What is in `deploy/`, judged by the programs it is for; nginx for real, with a node behind it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { freePorts } from '@cairn/platform/testing'
import { RunningNode } from '../acceptance/node.ts'
import { Folder, REPOSITORY, run, skipUnlessThere, skipWithout } from './tool.ts'

const read = (path: string): string => readFileSync(join(REPOSITORY, 'deploy', path), 'utf8')

test('cairn takes the configuration of the compose file, and would start with it', () => {
  using folder = new Folder({ 'cairn.toml': read('compose/cairn.toml') })
  const launcher = join(REPOSITORY, 'cli/bin/cairn.js')
  const { code, text } = run(process.execPath, [launcher, 'config', 'validate', 'cairn.toml'], folder.path)
  assert.equal(code, 0, text)
})

test('docker-compose takes the compose file', { skip: skipUnlessThere('docker-compose') }, () => {
  const { code, text } = run('docker-compose', ['-f', 'deploy/compose/compose.yaml', 'config'])
  assert.equal(code, 0, text)
  assert.match(text, /read_only: true/)
})

test('Caddy takes its file', { skip: skipUnlessThere('caddy') }, () => {
  const { code, text } = run('caddy', ['validate', '--config', 'deploy/caddy/Caddyfile'])
  assert.equal(code, 0, text)
})

/** The least that systemd would have to be trusted with; 10 is everything. */
const EXPOSURE_MAX = 2

test('systemd takes the unit, and finds little it could do', { skip: skipUnlessThere('systemd-analyze') }, (t) => {
  // That the program is there is checked too.
  const unit = read('systemd/cairn.service').replace('/usr/bin/cairn', process.execPath)
  using folder = new Folder({ 'cairn.service': unit })
  const verified = run('systemd-analyze', ['verify', '--man=no', join(folder.path, 'cairn.service')])
  assert.equal(verified.code, 0, verified.text)
  assert.doesNotMatch(verified.text, /cairn\.service/)
  const scored = run('systemd-analyze', ['security', '--offline=true', join(folder.path, 'cairn.service')])
  const [line, level] = /Overall exposure level for \S+: ([\d.]+)/.exec(scored.text) ?? []
  t.diagnostic(line ?? scored.text)
  assert.ok(Number(level) <= EXPOSURE_MAX, scored.text)
})

const PORTS = 1
const DNS = ['example.org', 'storage.example.org']

test('nginx in front of a node passes puts, ranges, refusals and the names of hosts', {
  skip: skipWithout('nginx', 'openssl'),
}, async () => {
  using folder = new Folder()
  const names = DNS.map((name) => `DNS:${name}`).join(',')
  const files = ['-keyout', join(folder.path, 'privkey.pem'), '-out', join(folder.path, 'fullchain.pem')]
  const made = run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    ...files,
    '-subj',
    '/CN=cairn',
    '-addext',
    `subjectAltName=${names}`,
  ])
  assert.equal(made.code, 0, made.text)
  const config = DNS.map((host, at) => {
    const service = at === 0 ? 'edge' : 'storage'
    return `[${service}.ingress]\nhosts = ["${host}"]\ntrusted_proxies = ["127.0.0.1/32"]\n`
  }).join('\n')
  await using node = await RunningNode.start(
    { directory: join(folder.path, 'node'), tree: REPOSITORY, env: {} },
    { config },
  )
  const port = await freePorts(PORTS)
  const ours = read('nginx/cairn.conf')
    .replaceAll('/etc/cairn/tls', folder.path)
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll(/127\.0\.0\.1:707(\d)/g, (_, at: string) => `127.0.0.1:${node.portBase + Number(at)}`)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder.path}/${name};`,
  )
  writeFileSync(
    join(folder.path, 'nginx.conf'),
    `daemon off;\npid ${folder.path}/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${paths.join('\n')}\n${ours}}\n`,
  )
  const given = ['-p', folder.path, '-e', 'stderr', '-c', join(folder.path, 'nginx.conf')]
  const checked = run('nginx', ['-t', ...given])
  assert.equal(checked.code, 0, checked.text)

  const nginx = spawn('nginx', given, { stdio: 'inherit' })
  const ended = once(nginx, 'exit')
  try {
    const ca = readFileSync(join(folder.path, 'fullchain.pem'))
    const ask = async (host: string, path: string, options: Asked = {}): Promise<Told> => {
      const { method = 'GET', headers = {}, body } = options
      const asked = request({
        host: '127.0.0.1',
        port,
        ca,
        servername: host,
        path,
        method,
        headers: { host, ...headers },
      })
      const answered = once(asked, 'response')
      asked.end(body)
      const [answer] = (await answered) as [NodeJS.ReadableStream & { statusCode: number }]
      return { status: answer.statusCode, body: await buffer(answer) }
    }
    await listening(async () => await ask('storage.example.org', '/healthz'))

    const bytes = Buffer.alloc(3 << 20, 'through a proxy ')
    const headers = { authorization: `Bearer ${await node.adminToken()}`, 'transfer-encoding': 'chunked' }
    const put = await ask('storage.example.org', '/o?stream', { method: 'POST', headers, body: bytes })
    assert.equal(put.status, 201, put.body.toString())
    const { address } = JSON.parse(put.body.toString()) as { readonly address: string }
    assert.equal(Buffer.compare((await ask('storage.example.org', `/o/${address}`)).body, bytes), 0)
    const part = await ask('storage.example.org', `/o/${address}`, { headers: { range: 'bytes=16-31' } })
    assert.deepEqual([part.status, part.body.toString()], [206, 'through a proxy '])
    // Each name leads to its service, and no write passes without a token.
    assert.equal((await ask('example.org', `/o/${address}`)).status, 404)
    assert.equal((await ask('storage.example.org', '/o', { method: 'POST', body: 'x' })).status, 401)
  } finally {
    nginx.kill('SIGTERM')
    await ended
  }
})

interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

interface Told {
  readonly status: number
  readonly body: Buffer
}

/** Tries until something listens. */
async function listening(ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await ask()
      return
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'ECONNREFUSED') throw error
    }
  }
}
