/** A token is shown only to the server it is for: by every command, whatever answers there. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { commandLines } from './command-lines.ts'
import { InnerNode } from './inner-node.ts'
import { type Answer, Listener } from './recipients.ts'

const TOKEN = 'the-token-of-this-directory'
const NAMED = 'a-token-for-this-command'
const PROBLEM = { 'content-type': 'application/problem+json' }
const UNAUTHORIZED: Answer = {
  status: 401,
  headers: PROBLEM,
  body: '{"status":401,"code":"token_missing","detail":"No token was sent."}',
}
/** What a server at any URL may answer to `/version`. */
const SERVICES = ['storage', 'index', 'registry', 'edge', 'interop', 'node']

/** What nobody may do without a token is not even asked for without one. */
const TOKEN_FIRST = ['open', 'backup create', 'config reload', 'token mint', 'token rotate', 'token revoke']

let directory = ''
let lines: ReadonlyMap<string, readonly string[]> = new Map()

const path = (name: string): string => join(directory, name)

before(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'cairn-')))
  await mkdir(path('data'), { mode: 0o700 })
  await writeFile(path('data/admin.token'), `${TOKEN}\n`)
  await writeFile(path('named.token'), `${NAMED}\n`)
  await writeFile(path('file'), 'content')
  const terminal = new Capture()
  assert.equal(await main(['key', 'new', path('alice.key'), '--id', 'alice'], terminal), 0)
  await writeFile(path('signers.json'), `{"m":1,"signers":[${terminal.data}]}`)
  lines = commandLines(path)
})

after(async () => {
  await rm(directory, { recursive: true })
})

async function cairn(args: readonly string[], data = path('data')): Promise<{ code: number; words: string }> {
  const terminal = new Capture({ environment: { HOME: path('home') } })
  const code = await main([...args, '--data', data, '--timeout', '2s'], terminal)
  return { code, words: terminal.words }
}

/** Every command against a server that answers like this. */
async function everyCommand(answer: (url: string) => Answer, more: readonly string[], host = '127.0.0.1') {
  await using listener = await Listener.open(({ url = '' }) => answer(url))
  const shown: string[] = []
  const unasked: string[] = []
  for (const [name, args] of lines) {
    listener.forget()
    const { code, words } = await cairn([...args, '--node', `http://${host}:${listener.port}`, ...more])
    if (name !== 'doctor') assert.notEqual(code, 0, `cairn ${name} succeeded`)
    assert.doesNotMatch(words, /\n {4}at /, `cairn ${name} shows a stack: ${words}`)
    if (listener.asked === 0) unasked.push(name)
    for (const token of [TOKEN, NAMED]) {
      const message = listener.with(token)
      if (message !== undefined) shown.push(`${name} shows ${token}: ${message.split('\n')[0]}`)
    }
  }
  return { shown, unasked }
}

const NONSENSE: Readonly<Record<string, (url: string) => Answer>> = {
  'an object without fields': () => ({ status: 200, body: '{}' }),
  'no JSON': () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Router</h1>' }),
  'a JSON list': () => ({ status: 200, body: '[]' }),
  null: () => ({ status: 200, body: 'null' }),
  nothing: () => ({ status: 204 }),
}

for (const [what, answer] of Object.entries(NONSENSE))
  test(`a server that answers ${what} is shown no token by any command, and no command ends in a stack`, async () => {
    const { shown, unasked } = await everyCommand(answer, [])
    assert.deepEqual({ shown, unasked }, { shown: [], unasked: TOKEN_FIRST })
  })

for (const service of SERVICES)
  test(`a server that calls itself ${service} and asks for a token is not shown that of the directory`, async () => {
    const answer = (url: string): Answer =>
      url === '/version' ? { status: 200, body: JSON.stringify({ service }) } : UNAUTHORIZED
    const { shown } = await everyCommand(answer, [])
    assert.deepEqual(shown, [])
  })

test('a token that a command names is not sent in clear text beyond this machine', async () => {
  // To connect there is to connect to this machine, but the name does not say so.
  const { shown } = await everyCommand(() => UNAUTHORIZED, ['--token-file', path('named.token')], '0.0.0.0')
  assert.deepEqual(shown, [])
})

for (const status of [301, 302, 303, 307, 308])
  test(`a redirect (${status}) takes no token to another server, and is not followed with one`, async () => {
    await using target = await Listener.open(() => UNAUTHORIZED)
    const there = (url: string): Answer => ({ status, headers: { location: `${target.url}${url}` } })
    await everyCommand(there, ['--token-file', path('named.token')])
    assert.equal(target.with(NAMED), undefined)
    assert.equal(target.asked, 0)
  })

test('a read that needs no token presents none, unless the server asks for one', async () => {
  for (const [name, service] of [
    ['get', 'storage'],
    ['resolve', 'index'],
    ['providers', 'index'],
    ['name show', 'registry'],
    ['name log', 'registry'],
    ['registry trust', 'registry'],
    ['registry verify', 'registry'],
  ] as const) {
    const answer = (url: string): Answer =>
      url === '/version'
        ? { status: 200, body: JSON.stringify({ service }) }
        : { status: 404, headers: PROBLEM, body: '{"status":404,"code":"not_found","detail":"Nothing."}' }
    await using listener = await Listener.open(({ url = '' }) => answer(url))
    const args = [...(lines.get(name) ?? []), '--node', listener.url, '--token-file', path('named.token')]
    assert.notEqual((await cairn(args)).code, 0)
    assert.ok(listener.asked > 1, name)
    assert.equal(listener.with(NAMED), undefined, name)
  }
  await using asking = await Listener.open(({ url = '' }) =>
    url === '/version' ? { status: 200, body: '{"service":"storage"}' } : UNAUTHORIZED,
  )
  const args = [...(lines.get('get') ?? []), '--node', asking.url, '--token-file', path('named.token')]
  assert.equal((await cairn(args)).code, 7)
  assert.ok(asking.with(NAMED) !== undefined)
})

test('the node of the directory is shown its token at its own ports, named or not', async () => {
  const data = path('own')
  await using node = await InnerNode.start({ data })
  const urlOf = (name: string): string => node.urls[name]?.find((url) => url.startsWith('http')) ?? ''
  assert.equal((await cairn(['put', '-q', path('file')], data)).code, 0)
  assert.equal((await cairn(['put', '-q', path('file'), '--node', urlOf('storage')], data)).code, 0)
  assert.equal((await cairn(['status', '--node', urlOf('node')], data)).code, 0)
  assert.equal((await cairn(['status', '--node', `unix:${data}/admin.sock`], data)).code, 0)
  const elsewhere = await cairn(['status', '--node', `unix:${data}/admin.sock`])
  assert.equal(elsewhere.code, 7)
  assert.match(elsewhere.words, /is for the node of .* and is not shown to/)
  const localhost = await cairn(
    ['put', path('file'), '--node', urlOf('storage').replace('127.0.0.1', 'localhost')],
    data,
  )
  assert.equal(localhost.code, 7)
  assert.match(localhost.words, new RegExp(`That node is at ${urlOf('storage')}`))
  // It is asked first whether it wants one.
  const named = ['--node', urlOf('storage'), '--token-file', join(data, 'admin.token')]
  assert.equal((await cairn(['put', '-q', path('file'), ...named])).code, 0)
})

test('a node that does not say in time which ports are its own is called slow, and is shown nothing', async () => {
  const data = path('slow')
  await mkdir(data, { mode: 0o700 })
  await writeFile(join(data, 'admin.token'), `${TOKEN}\n`)
  await using listener = await Listener.open((request) =>
    request.url === '/version' ? { status: 200, body: '{"service":"storage"}' } : UNAUTHORIZED,
  )
  const silent = createServer().listen(join(data, 'admin.sock'))
  await once(silent, 'listening')
  try {
    const { code, words } = await cairn(['put', path('file'), '--node', listener.url], data)
    assert.equal(code, 6, words)
    assert.match(words, /did not answer in time/)
    assert.equal(listener.with(TOKEN), undefined)
  } finally {
    silent.close()
  }
})

test('the services of a node elsewhere are not looked for on this machine', async () => {
  await using own = await Listener.open(() => UNAUTHORIZED)
  const status = { services: [{ name: 'storage', urls: [own.url] }] }
  await using far = await Listener.open(() => ({ status: 200, body: JSON.stringify(status) }))
  const ran = await cairn([
    'put',
    path('file'),
    '--node',
    `http://0.0.0.0:${far.port}`,
    '--token-file',
    path('named.token'),
  ])
  assert.equal(ran.code, 5)
  assert.match(ran.words, /of its own machine only/)
  assert.equal(own.asked, 0)
})
