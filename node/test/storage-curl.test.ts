/** Every row of storage's table of routes, over real sockets, asked by curl; `open_connections` is seen here too. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { ask, metric } from './asking.ts'
import { hasCurl } from './curl.ts'
import { isDraining } from './held-request.ts'
import { Home, type RunningNode } from './running-node.ts'
import { Asker, plainRow, publishedOperations, type Row } from './storage-row.ts'
import { commonRefusals, GIVEN_UP, LARGE_ID, OWN_ROWS } from './storage-rows.ts'

const OPERATIONS = publishedOperations()
const ROWS = [...OWN_ROWS, ...commonRefusals(OPERATIONS)]

function toml(...ingress: readonly string[]): string {
  const bind = 'bind_addr = "127.0.0.1:0"'
  // The longest there is: on a busy machine all of curl's processes take a while.
  const drain = 'drain_deadline = "5s"'
  const lines = ['[storage.ingress]', 'decompress_max_bytes = "512KiB"', ...ingress]
  // On the default ports a node of somebody else may listen.
  const others = ['registry', 'index', 'edge', 'interop'].flatMap((name) => [`[${name}]`, bind])
  return ['[node]', bind, ...others, '[storage]', bind, drain, ...lines, ''].join('\n')
}

function nameOf({ operation, target, status, code, bearer, headers = [] }: Row): string {
  const asked = target.replaceAll(/b3:[0-9a-f]{64}/g, 'b3:…')
  return [operation.split(' ')[0], asked, bearer, ...headers, '→', status, code]
    .filter((part) => part !== undefined)
    .join(' ')
}

describe('storage asked by curl', { skip: hasCurl() ? false : 'tool absent: curl' }, () => {
  let home: Home
  let node: RunningNode
  let asker: Asker
  const streams: ChildProcess[] = []

  /** A request that goes on; its body and its answer are left to the caller. */
  function begin(target: string, ...args: readonly string[]): ChildProcess {
    const told = ['-sSN', '--max-time', '60', '-H', `Authorization: Bearer ${asker.admin}`, ...args]
    const child = spawn('curl', [...told, `${asker.url}${target}`], { stdio: ['pipe', 'pipe', 'ignore'] })
    streams.push(child)
    return child
  }

  /** Reads until the text fits; what came so far is returned. */
  async function heard({ stdout }: ChildProcess, fits: RegExp): Promise<string> {
    let text = ''
    for await (const piece of stdout ?? []) {
      text += String(piece)
      if (fits.test(text)) break
    }
    assert.match(text, fits)
    return text
  }

  /** The running node takes over these limits. */
  async function configure(...ingress: readonly string[]): Promise<void> {
    await writeFile(`${home.path}/cairn.toml`, toml(...ingress))
    const [url = ''] = (await node.ready()).urls['node'] ?? []
    const headers = { authorization: `Bearer ${asker.admin}` }
    assert.equal((await ask(url, '/admin/config/reload', { method: 'POST', headers })).status, 200)
  }

  before(async () => {
    home = await Home.make()
    await writeFile(`${home.path}/cairn.toml`, toml())
    node = home.start()
    const ready = await node.ready()
    asker = await Asker.of(ready, (await readFile(`${home.path}/.cairn/admin.token`, 'utf8')).trim())
  })
  after(async () => {
    for (const child of streams) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await home[Symbol.asyncDispose]()
  })

  for (const row of ROWS) test(nameOf(row), async () => await asker.ask(row))

  test('GET /events sends what happens, and goes on after the event that since names', async () => {
    const first = begin('/events', '-D', '-')
    const head = await heard(first, /id: \S+\n\n/)
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n[\s\S]*content-type: text\/event-stream\r\n/i)
    const [, id = ''] = /id: (\S+)\n\n/.exec(head) ?? []
    const body = Buffer.from('something happens')
    await asker.ask({ operation: 'POST /o', target: '/o', body, status: 201 })
    const again = begin(`/events?since=${id}`)
    assert.match(await heard(again, /"corr_id":"\w+"\}\n\n/), /event: storage\.ingest\ndata: \{"address":"b3:/)
    for (const child of [first, again]) child.kill('SIGTERM')
  })

  test('every operation answers 429 past the rate, with Retry-After', async () => {
    await configure('max_rps = 1', 'burst = 1')
    const limited = OPERATIONS.filter(({ statuses }) => statuses.includes(429))
    assert.ok(limited.length > 10)
    // Somebody else takes the one request of each second, so that none is left for ours, however long curl takes.
    const done = new AbortController()
    const other = (async () => {
      while (!done.signal.aborted) await ask(asker.url, '/nothing')
    })()
    try {
      for (const operation of limited) {
        await asker.ask({ ...plainRow(operation, LARGE_ID), status: 429, code: 'busy' })
      }
    } finally {
      done.abort()
      await other
    }
  })

  test('every operation answers 503 while the service drains, and what it had accepted is finished', async () => {
    await configure()
    const upload = begin('/o?stream', '-X', 'POST', '-T', '-')
    upload.stdin?.write('the first half, ')
    while ((await metric(asker.url, /^inflight_requests\{.*route="\/o"/)) === 0);
    node.signal('SIGTERM')
    await isDraining(asker.url)
    const refused = { status: 503, code: 'draining', answers: { connection: 'close' } } as const
    await Promise.all(
      OPERATIONS.map(async (operation) => await asker.ask({ ...plainRow(operation, LARGE_ID), ...refused })),
    )
    upload.stdin?.end('the second half')
    assert.match(await heard(upload, /\}/), /"new":true/)
    assert.deepEqual(await node.ended, { code: 0, signal: null })
  })

  test('a segment that rotted while the node was down is given up', async () => {
    const segment = `${home.path}/.cairn/storage/journal/0000000001.seg`
    const bytes = await readFile(segment)
    bytes[20] = (bytes[20] ?? 0) ^ 1
    await writeFile(segment, bytes)
    node = home.start()
    const again = await Asker.of(await node.ready(), asker.admin)
    await again.ask(GIVEN_UP)
  })
})

test('every answer the published table declares has a row, but for a slow body and a failing drive', () => {
  const asked = new Set([...ROWS, GIVEN_UP].map(({ operation, status }) => `${operation} ${status}`))
  // A header that is too long never gets as far as a route.
  const shownElsewhere = [408, 429, 431, 502, 503, 507]
  const missing = OPERATIONS.flatMap(({ name, statuses }) =>
    statuses.filter((status) => !shownElsewhere.includes(status)).map((status) => `${name} ${status}`),
  ).filter((answer) => !asked.has(answer))
  // A node that was away for a month is told so in services/storage/test/rejoin.test.ts.
  const others = missing.filter((answer) => answer !== 'POST /copies/known 409')
  assert.deepEqual(others, ['GET /events 200'], 'a stream of events is listened to, not asked')
})
