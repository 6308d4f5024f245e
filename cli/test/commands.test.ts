/** Every command against a running node: standard output is data and nothing else, and `--json` is one object. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { main } from '../src/main.ts'
import { COMMANDS } from '../src/table.ts'
import { Capture } from './capture.ts'
import { firstLine, NODE_WAIT_MS, type Ran, Workplace } from './processes.ts'

const TOKEN = /^[\w-]+\n$/
const MINT_BODY = JSON.stringify({ aud: 'storage', scopes: ['storage:write'] })
/** What `put` stores here. */
const EMPTY = addressOf(new Uint8Array(0))
const TID = '000102030405060708090a0b0c0d0e0f'

/** How each command is run here, and all that its standard output may hold. */
const RUNS: Readonly<Record<string, { readonly args: readonly string[]; readonly data: RegExp }>> = {
  status: { args: [], data: /^cairn \S+ · pid \d+ · up .*\n\n(?: {2}.*\n)+$/ },
  put: { args: ['/dev/null'], data: /^b3:[0-9a-f]{64}\n$/ },
  get: { args: [EMPTY, '-o', '/dev/null', '--force'], data: /^$/ },
  ls: { args: [], data: /^(?:b3:[0-9a-f]{64} {2}\d+ {2}\S+\n)+$/ },
  resolve: { args: [EMPTY], data: /^key +b3:\S+\nmanifest +b3:\S+\nsource +\w+, \d+ seconds? old\nproviders +\S.*\n$/ },
  providers: { args: [EMPTY], data: /^\S+ {2}\w+ {2}[\d.]+ {2}\d+ s ago {2}http\S+\n$/ },
  peers: { args: [], data: /^$/ },
  scrub: { args: [], data: /^round .*\nread .*\nobjects .*\ndamaged .*\nbefore .*\n$/ },
  repair: { args: ['--wait'], data: /^copies .*\nobjects .*\nrepairs .*\n$/ },
  'config init': { args: ['fresh.toml'], data: /^fresh\.toml\n$/ },
  'config validate': { args: ['fresh.toml'], data: /^$/ },
  'config print': { args: ['--origin'], data: /^(?:[a-z0-9_.]+ +\S.* +(?:live|rebind|restart) +\S.*\n)+$/ },
  'config reload': { args: [], data: /^$/ },
  'token mint': { args: ['--for', 'storage', '--scope', 'storage:write', '--ttl', '1h'], data: TOKEN },
  'token attenuate': { args: ['--for', 'node', '--ttl', '10m'], data: TOKEN },
  'token inspect': { args: [], data: /^(?:(?:(?:for|allows|only|until|tid|kid) +\S.*)?\n)+$/ },
  'token rotate': { args: [], data: /^[0-9a-f]+\n$/ },
  'token revoke': { args: [TID], data: /^$/ },
  'hook ls': { args: [], data: /^(?:\w+ +(?:enabled|off) +no secret {2}nothing accepted\n){5}$/ },
  'mailbox peek': { args: ['deploys'], data: /^$/ },
  'mailbox dead': { args: ['deploys'], data: /^$/ },
  'mailbox replay': { args: ['deploys'], data: /^$/ },
  audit: { args: [], data: /^$/ },
  'audit verify': {
    args: [],
    data: /^verdict +sound\nlines +0 lines read\nanchored +to 0 of 0, .*\nhead +b3:0+\nnot checked +.*\n$/,
  },
  'name pending': { args: [], data: /^$/ },
  open: { args: ['--print'], data: /^http:\/\/\S+#signin=\S+\n$/ },
  'pack ls': { args: [], data: /^$/ },
  bench: {
    args: ['--size', '1KiB', '--time', '10ms'],
    data: /^size +\S.*\nput +[\d ]+ objects?\/s .*\nget +[\d ]+ objects?\/s .*\n$/,
  },
  completion: { args: ['bash'], data: /^_cairn\(\) \{[\s\S]*complete -o default -F _cairn cairn\n$/ },
}

/** Those with tests of their own: below, in storing.test.ts, publish.test.ts, review.test.ts, key.test.ts, verify-proof.test.ts, verify.test.ts, registry-story.test.ts, registry-adopt.test.ts, backup.test.ts, bridges.test.ts, lost-journal.test.ts and packs.test.ts. */
const ELSEWHERE: readonly string[] = [
  'start',
  'stop',
  'doctor',
  'backup create',
  'backup restore',
  'rm',
  'hash',
  'diff',
  'publish',
  'key new',
  'verify-proof',
  'verify',
  ...['propose', 'approve', 'review', 'commit', 'show', 'log'].map((verb) => `name ${verb}`),
  ...['add', 'tail', 'test', 'replay'].map((verb) => `hook ${verb}`),
  ...['lease', 'ack', 'nack'].map((verb) => `mailbox ${verb}`),
  ...['add', 'rm', 'verify'].map((verb) => `pack ${verb}`),
  ...['adopt', 'signers', 'rotate', 'trust', 'verify'].map((verb) => `registry ${verb}`),
  'interop adopt',
  'token reset',
]

let place: Workplace
let pid = 0
before(async () => {
  place = await Workplace.make()
  const node = place.launch(['start', '--port-base', '0'], { waitMs: NODE_WAIT_MS })
  pid = (JSON.parse(await firstLine(node)) as { pid: number }).pid
})
after(async () => await place[Symbol.asyncDispose]())

interface Envelope {
  readonly schema: string
  readonly ok: boolean
  readonly result: unknown
  readonly error: { code: string; kind: string; detail: string; exit_code: number } | null
  readonly warnings: unknown
  readonly next: unknown
}

/** The one object on one line; checks everything that is the same for all commands. */
function envelopeOf(command: string, data: string, code: number | null): Envelope {
  assert.match(data, /^\{.*\}\n$/)
  const envelope = JSON.parse(data) as Envelope
  assert.deepEqual(Object.keys(envelope), ['schema', 'ok', 'result', 'error', 'warnings', 'next'])
  assert.equal(envelope.schema, `cairn.${command.replaceAll(' ', '.')}/1`)
  assert.equal(envelope.ok, code === 0)
  assert.equal(envelope.error === null, envelope.ok)
  if (envelope.error !== null) {
    assert.deepEqual(Object.keys(envelope.error), ['code', 'kind', 'detail', 'exit_code'])
    assert.equal(envelope.error.exit_code, code)
  }
  for (const list of [envelope.warnings, envelope.next])
    assert.ok(Array.isArray(list) && list.every((item) => typeof item === 'string'))
  return envelope
}

async function asJson(command: string, args: readonly string[], data: string): Promise<Envelope> {
  const terminal = new Capture()
  const code = await main([...command.split(' '), ...args, '--data', data, '--json'], terminal)
  assert.equal(terminal.words, '', `${command} says something beside its object`)
  return envelopeOf(command, terminal.data, code)
}

test('every command of the table is run here', () => {
  assert.deepEqual([...Object.keys(RUNS), ...ELSEWHERE].sort(), COMMANDS.map(({ name }) => name).sort())
})

/** As a process where that makes a difference: one that reads, one that sends, one that writes a file. */
const AS_PROCESSES: readonly string[] = ['status', 'put', 'config init']

async function quietly(command: string, args: readonly string[]): Promise<Ran> {
  const words = [...command.split(' '), ...args, '-q']
  if (AS_PROCESSES.includes(command)) return await place.run(words)
  const terminal = new Capture()
  const inPlace = words.map((word) => (word.endsWith('.toml') ? `${place.directory}/${word}` : word))
  const code = await main([...inPlace, '--data', `${place.directory}/.cairn`], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

test('standard output carries data only, and -q silences everything else', async () => {
  for (const [command, { args, data }] of Object.entries(RUNS)) {
    const ran = await quietly(command, args)
    assert.equal(ran.code, 0, `${command}: ${ran.words}`)
    assert.match(ran.data, data, command)
    assert.equal(ran.words, '', command)
  }
})

test('--json is one object, whether the command succeeds or not', async () => {
  const data = `${place.directory}/.cairn`
  const elsewhere = `${place.directory}/none`
  for (const [command, { args }] of Object.entries(RUNS)) {
    const operands =
      command.startsWith('config') && args[0]?.endsWith('.toml') ? [`${place.directory}/other.toml`] : args
    const good = await asJson(command, operands, data)
    assert.ok(good.ok, `${command}: ${good.error?.detail}`)
    const isAlone = ['config init', 'config validate', 'config print', 'completion'].includes(command)
    if (isAlone) continue
    const bad = await asJson(command, args, elsewhere)
    const offline = command === 'token attenuate' || command === 'token inspect'
    assert.equal(bad.error?.exit_code, offline ? 7 : 5, command)
  }
  const again = await asJson('config init', [`${place.directory}/other.toml`], data)
  assert.equal(again.error?.exit_code, 8)
  const unknown = await asJson('token mint', ['--for', 'storage', '--scope', 'storage:wrte'], data)
  assert.equal(unknown.error?.exit_code, 2)
})

test('--json holds for a mistyped command, for help and for the version', async () => {
  for (const [args, schema, expected] of [
    [['stauts'], 'usage', 2],
    [['token', 'mnit'], 'token', 2],
    [['status', '--help'], 'help', 0],
    [['--version'], 'version', 0],
  ] as const) {
    const terminal = new Capture()
    const code = await main([...args, '--json'], terminal)
    assert.equal(code, expected)
    envelopeOf(schema, terminal.data, code)
  }
})

test('a token the node does not accept is refused with what to look at', async () => {
  const tokenFile = `${place.directory}/narrow.token`
  const minted = await quietly('token mint', ['--for', 'node', '--scope', 'events:read', '--ttl', '1h'])
  await writeFile(tokenFile, minted.data)
  const terminal = new Capture()
  const code = await main(['status', '--data', `${place.directory}/.cairn`, '--token-file', tokenFile], terminal)
  assert.equal(code, 7)
  assert.match(terminal.words, /refuses the token in \S+narrow\.token/)
  assert.match(terminal.words, /Next: {2}npx cairn token inspect --token-file \S+narrow\.token/)
  const inspected = new Capture()
  assert.equal(await main(['token', 'inspect', '--token-file', tokenFile], inspected), 0)
  assert.match(inspected.data, /^for {5}node\nallows {2}events:read\nuntil {3}\d{4}-.*Z\ntid {5}[0-9a-f]{32}\nkid/)
})

test('a token that was revoked is refused at once', async () => {
  const data = `${place.directory}/.cairn`
  const minted = await asJson('token mint', ['--for', 'node', '--scope', 'node:admin', '--ttl', '1h'], data)
  const { token, tid } = minted.result as { token: string; tid: string }
  const tokenFile = `${place.directory}/revoked.token`
  await writeFile(tokenFile, token)
  assert.ok((await asJson('status', ['--token-file', tokenFile], data)).ok)
  assert.ok((await asJson('token revoke', [tid], data)).ok)
  const refused = await asJson('status', ['--token-file', tokenFile], data)
  assert.equal(refused.error?.code, 'token_revoked')
})

test('a token that is for one service alone is enough for its commands, until it is revoked', async () => {
  const data = `${place.directory}/.cairn`
  const minted = await asJson('token mint', ['--for', 'storage', '--scope', 'storage:write', '--ttl', '1h'], data)
  const { token, tid } = minted.result as { token: string; tid: string }
  const tokenFile = `${place.directory}/uploader.token`
  await writeFile(tokenFile, token)
  const put = await asJson('put', ['/dev/null', '--token-file', tokenFile], data)
  assert.ok(put.ok, JSON.stringify(put.error))
  assert.equal((await asJson('rm', [EMPTY, '--token-file', tokenFile], data)).error?.exit_code, 7, 'not what it allows')
  assert.ok((await asJson('token revoke', [tid], data)).ok)
  const refused = await asJson('put', ['/dev/null', '--token-file', tokenFile], data)
  assert.equal(refused.error?.code, 'token_revoked')
})

test('the node is reached at its port as well as at its socket', async () => {
  const data = `${place.directory}/.cairn`
  const { result } = await asJson('status', [], data)
  const { urls } = result as { urls: string[] }
  for (const url of [urls[0] ?? '', `unix:${data}/admin.sock`])
    assert.ok((await asJson('status', ['--node', url], data)).ok)
  const wrong = await asJson('status', ['--node', 'ftp://x'], data)
  assert.equal(wrong.error?.code, 'usage')
})

async function reloaded(): Promise<Ran> {
  const terminal = new Capture()
  const code = await main(['config', 'reload', '--data', `${place.directory}/.cairn`], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

test('a configuration written by init is one the node starts with, and reload reports what changed', async () => {
  const file = await readFile(`${place.directory}/fresh.toml`, 'utf8')
  assert.match(file, /^\[node\]$/m)
  await writeFile(`${place.directory}/cairn.toml`, `${file}\n[node.log]\nlevel = "warn"\n`)
  const bad = await reloaded()
  assert.equal(bad.code, 2, bad.words)
  assert.match(bad.words, /The old configuration stays in force/)
  const set = file.replace('# level = "info"', 'level = "warn"')
  await writeFile(`${place.directory}/cairn.toml`, set)
  const good = await reloaded()
  assert.equal(good.code, 0, good.words)
  assert.match(good.data, /^node\.log\.level {2}live {2}cairn\.toml:\d+:1\n$/)
})

/** A request the node has accepted and cannot answer before the rest of its body comes. */
async function heldRequest(url: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const head = ['POST /admin/tokens HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`]
  const length = `Content-Length: ${MINT_BODY.length}`
  socket.write([...head, 'Content-Type: application/json', length, 'Expect: 100-continue', '', ''].join('\r\n'))
  const [said] = (await once(socket, 'data')) as [Buffer]
  assert.match(said.toString(), /^HTTP\/1\.1 100 /)
  return socket
}

test('stop waits for what the node has accepted, and says so when its own time is over', async () => {
  await using other = await Workplace.make()
  // As long as it may be: a busy machine takes its time between the signal and the rest of the body.
  const node = other.launch(['start', '--port-base', '0'], { environment: { CAIRN__NODE__DRAIN_DEADLINE: '5s' } })
  const ended = once(node, 'close')
  const { urls } = JSON.parse(await firstLine(node)) as { urls: { node: string[] } }
  const token = (await readFile(`${other.directory}/.cairn/admin.token`, 'utf8')).trim()
  const socket = await heldRequest(urls.node[0] ?? '', token)
  const terminal = new Capture({ isWatched: true })
  const code = await main(['stop', '--data', `${other.directory}/.cairn`, '--timeout', '300ms'], terminal)
  assert.equal(code, 6)
  assert.match(terminal.words, /… waiting for pid \d+, \d+\.\d s/)
  assert.match(terminal.words, new RegExp(`is still finishing its work\\. .*kill ${node.pid}`))
  const answer = once(socket, 'data')
  socket.write(MINT_BODY)
  const [said] = (await answer) as [Buffer]
  assert.match(said.toString(), /^HTTP\/1\.1 201 /)
  assert.deepEqual(await ended, [0, null])
})

test('start with --json says ready in one object, and stop waits until the process is gone', async () => {
  const ran = await place.run(['stop'])
  assert.equal(ran.code, 0, ran.words)
  assert.equal(ran.data, '')
  assert.match(ran.words, /stopped in \d+\.\d s/)
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  const twice = await asJson('stop', [], `${place.directory}/.cairn`)
  assert.equal(twice.error?.exit_code, 5)

  const node = place.launch(['start', '--port-base', '0', '--json'])
  const ended = once(node, 'close')
  const lines: string[] = []
  node.stdout!.on('data', (chunk: Buffer) => lines.push(chunk.toString()))
  await once(node.stdout!, 'data')
  const envelope = envelopeOf('start', lines.join(''), 0)
  assert.equal((envelope.result as { event: string }).event, 'ready')
  const stopped = await asJson('stop', [], `${place.directory}/.cairn`)
  assert.equal((stopped.result as { pid: number }).pid, node.pid)
  assert.deepEqual(await ended, [0, null])
  assert.equal(lines.join('').split('\n').length, 2)
})
