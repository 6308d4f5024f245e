/** The command line against real nodes and against servers that are none: what it shows to whom, and what it says. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { encodeTree } from '@cairn/wire'
import { acceptance } from '../case.ts'
import type { World } from '../world.ts'

const ADDRESS = `b3:${'0'.repeat(64)}`

interface Recorder extends AsyncDisposable {
  readonly url: string
  readonly heard: string[]
}

/** A server that keeps every line and header it is sent. */
async function recorder(
  answer: (url: string) => { status: number; headers?: Record<string, string>; body?: string },
): Promise<Recorder> {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.rawHeaders.join(' ')}`)
    const { status, headers = {}, body = '' } = answer(request.url ?? '')
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }).listen(0, '0.0.0.0')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The directory of a node that has stopped, with its token. */
async function stoppedNode(world: World) {
  const node = await world.startNode()
  await node.stop()
  return { node, token: (await readFile(`${node.data}/admin.token`, 'utf8')).trim() }
}

const COMMANDS: readonly (readonly string[])[] = [
  ['get', ADDRESS, '-o', 'copy'],
  ['rm', ADDRESS],
  ['status'],
  ['name', 'show', 'site@1.0'],
  ['token', 'rotate'],
]
const SERVERS = {
  nonsense: () => ({ status: 200, body: '{}' }),
  'a storage that wants a token': (url: string) =>
    url === '/version' ? { status: 200, body: '{"service":"storage"}' } : { status: 401, body: '{}' },
} as const

for (const [what, answer] of Object.entries(SERVERS))
  acceptance(`cli: ${what} at --node is not shown admin.token`, { finding: 'attack S1' }, async (world) => {
    const { node, token } = await stoppedNode(world)
    await using server = await recorder(answer)
    for (const args of COMMANDS) {
      const { code } = await node.cairn(...args, '--node', server.url)
      assert.notEqual(code, 0, args.join(' '))
    }
    assert.ok(server.heard.length > 0)
    assert.equal(
      server.heard.find((message) => message.includes(token)),
      undefined,
    )
  })

acceptance('cli: a redirect carries no token to another server', { finding: 'attack S1' }, async (world) => {
  const { node, token } = await stoppedNode(world)
  await using target = await recorder(() => ({ status: 401, body: '{}' }))
  await using first = await recorder((url) => ({ status: 307, headers: { location: `${target.url}${url}` } }))
  for (const args of COMMANDS) {
    const { code } = await node.cairn(...args, '--node', first.url, '--token-file', `${node.data}/admin.token`)
    assert.notEqual(code, 0, args.join(' '))
  }
  assert.equal(
    target.heard.find((message) => message.includes(token)),
    undefined,
  )
  assert.deepEqual(target.heard, [])
})

acceptance(
  'cli: a token named for a command is not sent in clear text beyond this machine',
  { finding: 'attack S1' },
  async (world) => {
    const { node, token } = await stoppedNode(world)
    await using server = await recorder((url) =>
      url === '/version' ? { status: 200, body: '{"service":"storage"}' } : { status: 401, body: '{}' },
    )
    // It comes to this machine, but nothing in the name says so.
    const far = server.url.replace('127.0.0.1', '0.0.0.0')
    await world.write('file', 'x')
    const ran = await node.cairn('put', world.path('file'), '--node', far, '--token-file', `${node.data}/admin.token`)
    assert.equal(ran.code, 7)
    assert.match(ran.err, /clear text/)
    assert.equal(
      server.heard.find((message) => message.includes(token)),
      undefined,
    )
  },
)

acceptance('cli: the node of the directory takes its token at its own ports', {}, async (world) => {
  const node = await world.startNode()
  await world.write('file', 'content')
  const put = await node.cairn('put', '-q', world.path('file'), '--node', node.urls.storage)
  assert.equal(put.code, 0, put.err)
  assert.equal((await node.cairn('status', '--node', node.urls.node)).code, 0)
})

acceptance('cli: an answer that is not JSON is a sentence', { finding: 'attack C3' }, async (world) => {
  const node = await world.startNode()
  await using server = await recorder(() => ({ status: 200, body: '<h1>Router</h1>' }))
  for (const args of COMMANDS) {
    const { err } = await node.cairn(...args, '--node', server.url, '--token-file', `${node.data}/admin.token`)
    assert.match(err, /^✖ /)
    assert.doesNotMatch(err, /\n {4}at |SyntaxError/, args.join(' '))
  }
})

acceptance('cli: names as long as names can be come back', { finding: 'attack C1' }, async (world) => {
  const node = await world.startNode()
  for (const length of [243, 250, 255]) await world.write(`long/${'n'.repeat(length)}`, String(length))
  const put = await node.cairn('put', '-q', world.path('long'))
  assert.equal(put.code, 0, put.err)
  const get = await node.cairn('get', put.out.trim(), '-o', world.path('back'))
  assert.equal(get.code, 0, get.err)
  assert.equal(await readFile(world.path(`back/${'n'.repeat(255)}`), 'utf8'), '255')
})

acceptance(
  'cli: the failure is reported, not that the others were canceled',
  { finding: 'attack C1' },
  async (world) => {
    const node = await world.startNode()
    for (let at = 0; at < 30; at += 1) await world.write(`many/file-${at}`, String(at))
    const put = await node.cairn('put', '-q', world.path('many'))
    await mkdir(world.path('taken/file-3'), { recursive: true })
    const get = await node.cairn('get', put.out.trim(), '-o', world.path('taken'), '--force')
    assert.notEqual(get.code, 130)
    assert.match(get.err, /file-3 cannot be written/)
    assert.doesNotMatch(get.err, /canceled|\.cairn-/)
  },
)

acceptance('cli: a file whose name is not UTF-8 is left out by name', { finding: 'attack C2' }, async (world) => {
  const node = await world.startNode()
  await world.write('odd/plain', 'plain')
  await writeFile(Buffer.concat([Buffer.from(world.path('odd/caf')), Buffer.from([0xe9])]), 'x')
  const put = await node.cairn('put', world.path('odd'))
  assert.equal(put.code, 9, put.err)
  assert.match(put.out, /^b3:[0-9a-f]{64}\n$/)
  assert.match(put.err, /caf\\xe9: left out/)
})

acceptance('cli: a stored name does not reach the terminal as it is', { finding: 'attack S6' }, async (world) => {
  const node = await world.startNode()
  const id = await node.put('x')
  const name = 'a\u001B[2J\u0007\u202Eexe'
  const tree = await node.put(encodeTree([{ name, kind: 'file', id: id as never, size: 1 }]))
  const { out, code } = await node.cairn('ls', tree)
  assert.equal(code, 0)
  assert.doesNotMatch(out, /(?!\n)[\p{Cc}\p{Cf}]/u)
  const { result } = JSON.parse((await node.cairn('ls', tree, '--json')).out) as {
    result: { entries: { name: string }[] }
  }
  assert.equal(result.entries[0]?.name, name)
})

for (const [what, config, says] of [
  [
    'a forward that nothing signs',
    '[interop]\nrules = [{ provider = "github", event = "push", then = "forward:https://example.org/" }]\n',
    /interop\.forward\.secrets/,
  ],
  ['a public address without TLS', '[edge]\nbind_addr = "0.0.0.0:7174"\n', /edge.*has no TLS/],
  ['two services at one address', '[edge]\nbind_addr = "127.0.0.1:7071"\n', /storage listens there already/],
] as const)
  acceptance(
    `cli: config validate refuses ${what}, which a start refuses`,
    { finding: 'newcomer C6' },
    async (world) => {
      const { node } = await stoppedNode(world)
      await world.write('next.toml', config)
      const ran = await node.cairn('config', 'validate', world.path('next.toml'))
      assert.equal(ran.code, 2, ran.out + ran.err)
      assert.match(ran.err, says)
    },
  )

acceptance('cli: a port base keeps the host that the file names', { finding: 'newcomer D' }, async (world) => {
  const node = await world.startNode({ config: '[storage]\nbind_addr = "127.0.0.7:7171"\n' })
  assert.match(node.urls.storage, /^http:\/\/127\.0\.0\.7:\d+$/)
  assert.doesNotMatch(node.urls.storage, /:7171$/)
})

acceptance(
  'cli: status, doctor and peers tell of a storage peer that is down',
  { finding: 'newcomer D' },
  async (world) => {
    await world.write('peer.token', 'x')
    await chmod(world.path('peer.token'), 0o600)
    const peer = `{ id = "away", url = "http://127.0.0.1:9/", token_file = ${JSON.stringify(world.path('peer.token'))} }`
    const node = await world.startNode({ config: `[storage]\npeers = [${peer}]\nplacement.id = "here"\n` })
    // A peer counts as up until it was asked for the first time.
    await world.eventually(async () => {
      const { body } = await node.request('storage', '/readyz')
      return body.toString().includes('"degraded":true') ? true : undefined
    })
    for (const command of ['status', 'doctor', 'peers']) {
      const { code, out, err } = await node.cairn(command)
      assert.notEqual(code, 0, command)
      assert.match(out + err, /away/, command)
    }
  },
)

acceptance(
  'cli: a commit that is too early names the command for this proposal',
  { finding: 'newcomer B' },
  async (world) => {
    const node = await world.startNode()
    const proposed = await node.cairn('name', 'propose', 'site@1.0', await node.put('x'), '-q')
    const id = proposed.out.trim()
    const { code, err } = await node.cairn('name', 'commit', id)
    assert.equal(code, 8, err)
    assert.ok(err.includes(`name approve ${id}`), err)
  },
)

acceptance(
  'cli: a commit that compare-and-set refuses is asked for once',
  { finding: 'seed coverage 24' },
  async (world) => {
    const node = await world.startNode()
    const address = await node.put('x')
    const ids: string[] = []
    for (const type of ['text/plain', 'text/html']) {
      const { out } = await node.cairn('name', 'propose', 'site@1.0', address, '--type', type, '--channel', '-q')
      ids.push(out.trim())
    }
    for (const id of ids) assert.equal((await node.cairn('name', 'approve', '--yes', id, '-q')).code, 0)
    assert.equal((await node.cairn('name', 'commit', ids[0] ?? '', '-q')).code, 0)
    const before = await node.metric('registry', 'commit_cas_fail_total')
    assert.equal((await node.cairn('name', 'commit', ids[1] ?? '', '-q')).code, 8)
    assert.equal((await node.metric('registry', 'commit_cas_fail_total')) - before, 1)
  },
)

acceptance('cli: what other tools call it is answered', { finding: 'newcomer 7' }, async (world) => {
  const { node } = await stoppedNode(world)
  for (const [typed, says] of [
    [['upload', 'x'], /cairn calls that put/],
    [['version'], /cairn --version/],
    [['token', 'mint', '--for', 'storage', '--scope', 'storage:look'], /those of storage are storage:/],
    [['name', 'approve', 'nonsense'], /^✖ nonsense is not the id of a proposal/],
  ] as const) {
    const { code, err } = await node.cairn(...typed)
    assert.equal(code, 2, typed.join(' '))
    assert.match(err, says)
  }
})

acceptance('cli: doctor tells of a limit of open files', { finding: 'seed-coverage 22' }, async (world) => {
  const node = await world.startNode()
  const { out } = await node.cairn('doctor')
  assert.match(out, /^ *[✔…✖] +files +/m)
})

acceptance('cli: get writes through no link that was laid out for it', { finding: 'attack S9' }, async (world) => {
  const node = await world.startNode()
  const address = await node.put('what was asked for')
  const victim = await world.write('victim', 'as it was')
  await mkdir(world.path('out'))
  // The number of the process gave away the name of the file that it was about to write.
  const script = 'ln -s "$1" "out/.copy.cairn-$$" && shift && exec "$@"'
  const get = [process.execPath, join(world.tree, 'cli/bin/cairn.js'), 'get', address, '-o', 'out/copy']
  const child = spawn('sh', ['-c', script, 'sh', victim, ...get, '--data', node.data], {
    cwd: world.directory,
    env: { ...process.env, HOME: world.directory },
    stdio: 'ignore',
  })
  assert.deepEqual(await once(child, 'close'), [0, null])
  assert.equal(await readFile(world.path('out/copy'), 'utf8'), 'what was asked for')
  assert.equal(await readFile(victim, 'utf8'), 'as it was')
})

acceptance('cli: get and ls take a name', { finding: 'newcomer 7' }, async (world) => {
  const node = await world.startNode()
  await world.write('site/index.html', 'hello')
  const put = await node.cairn('put', '-q', world.path('site'))
  const proposed = await node.cairn('name', 'propose', 'site@1.0', put.out.trim(), '-q')
  assert.equal((await node.cairn('name', 'approve', '--yes', proposed.out.trim(), '-q')).code, 0)
  assert.equal((await node.cairn('name', 'commit', proposed.out.trim(), '-q')).code, 0)
  const ls = await node.cairn('ls', 'site@1.0')
  assert.match(ls.out, / {2}index\.html\n$/)
  const get = await node.cairn('get', 'name:site@1.0', '-o', world.path('copy'))
  assert.equal(get.code, 0, get.err)
  assert.equal(await readFile(world.path('copy/index.html'), 'utf8'), 'hello')
})

acceptance('cli: open signs the browser in to the console, once and by a private file', {}, async (world) => {
  const node = await world.startNode()
  const opener = await world.write('bin/xdg-open', `#!/bin/sh\nprintf %s "$1" > "$0.new" && mv "$0.new" "$0.told"\n`)
  await chmod(opener, 0o755)
  const path = `${world.path('bin')}:${process.env['PATH'] ?? ''}`
  const { code, out, err } = await world.cairn(['open', '--data', node.data], { PATH: path })
  assert.equal(code, 0, err)
  const file = await world.eventually(async () => await readFile(`${opener}.told`, 'utf8').catch(() => undefined))
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  const [, target = ''] = /content="0;url=([^"]+)"/.exec(await readFile(file, 'utf8')) ?? []
  const [page = '', secret = ''] = target.split('#signin=')
  assert.equal(page, `${node.urls.node.replace('127.0.0.1', 'localhost')}/`)
  assert.ok(
    secret.length > 20 && !`${out}${err}${file}${node.output()}`.includes(secret),
    'nobody else reads the secret',
  )
  const shown = await node.request('node', '/', { headers: { host: new URL(page).host, accept: 'text/html' } })
  assert.match(shown.headers['content-security-policy'] as string, /^default-src 'none'; /)
  const signIn = async (): Promise<string> => {
    const { status, body } = await node.request('node', '/console/session', {
      method: 'POST',
      headers: { host: new URL(page).host, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ credential: secret }),
    })
    return `${status} ${(JSON.parse(body.toString()) as { code?: string }).code ?? ''}`
  }
  assert.equal(await signIn(), '201 ')
  assert.equal(await signIn(), '401 code_used')
  assert.doesNotMatch(node.output(), /Warning/, 'what opening the page says at the terminal')
})
