/** Clients that cheat, weigh too much or speak strangely: bounded, refused with a reason, and harmless to others. */
import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { attenuateToken } from '@cairn/wire'
import { bytesOf } from '../bytes.ts'
import { acceptance } from '../case.ts'

const MIB = 1024 * 1024
const BEHIND_PROXY = '[storage.ingress]\ntrusted_proxies = ["127.0.0.0/8"]\n'
const GZIP = { 'content-encoding': 'gzip' }

/** About a megabyte of gzip that opens to nearly ten: as much as an honest body may. */
function heavyBody(): Buffer {
  const piece = Buffer.alloc(9 * 1024)
  const pieces: Buffer[] = []
  for (let at = 0; at < 960; at += 1) {
    Buffer.from(bytesOf(1024, at)).copy(piece)
    pieces.push(Buffer.from(piece))
  }
  return gzipSync(Buffer.concat(pieces))
}

function answersIn(received: string): readonly string[] {
  return received.match(/HTTP\/1\.1 \d+/g) ?? []
}

async function residentBytes(pid: number): Promise<number> {
  const [, kibibytes = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}

acceptance(
  'hostile: an address a client claims does not get round ip_cidr',
  { finding: 'attack S2' },
  async (world) => {
    const node = await world.startNode({ config: BEHIND_PROXY })
    const minted = await node.cairn('token', 'mint', '--for', 'storage', '--scope', 'storage:write', '-q')
    assert.equal(minted.code, 0, minted.err)
    const narrowed = attenuateToken(minted.out.trim(), [{ kind: 'ip_cidr', block: '10.0.0.0/8' }])
    const authorization = `Bearer ${narrowed}`
    const put = async (forwarded: string | string[]): Promise<number> => {
      const headers = { authorization, 'x-forwarded-for': forwarded }
      return (await node.request('storage', '/o', { method: 'POST', headers, body: 'x' })).status
    }
    assert.equal(await put('10.1.1.1'), 201)
    assert.equal(await put('203.0.113.5'), 403)
    assert.equal(await put('10.9.9.9, 203.0.113.5'), 403)
    assert.equal(await put(['10.9.9.9', '203.0.113.5']), 403)
  },
)

acceptance(
  'hostile: a rate for each address holds whatever addresses a client claims',
  { finding: 'attack S2' },
  async (world) => {
    const node = await world.startNode({ config: `${BEHIND_PROXY}max_rps_per_address = 1\nburst_per_address = 5\n` })
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const headers = { 'x-forwarded-for': [`10.9.${at}.1`, '203.0.113.5'] }
        return (await node.request('storage', `/o/b3:${'0'.repeat(64)}`, { headers })).status
      }),
    )
    assert.ok(statuses.filter((status) => status === 429).length >= 20, statuses.join(' '))
  },
)

acceptance(
  'hostile: many coded bodies are bounded in memory, and plain ones are taken beside them',
  { finding: 'attack S5', limitMs: 120_000 },
  async (world) => {
    const node = await world.startNode()
    const body = heavyBody()
    assert.ok(body.length < MIB && body.length > 0.9 * MIB, `${body.length}`)
    const before = await residentBytes(node.pid)
    const statuses = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const { status } = await node.request('storage', '/o', { method: 'POST', admin: true, headers: GZIP, body })
        return status
      }),
    )
    const grown = (await residentBytes(node.pid)) - before
    // As they came, all of them are 300 MiB; opened together they would be ten times that.
    assert.ok(grown < 512 * MIB, `${Math.round(grown / MIB)} MiB more`)
    // On a machine that is busy a body is not in when the time for it is over: 408.
    assert.ok(
      statuses.every((status) => [200, 201, 408, 429, 503, 504, 413].includes(status)),
      statuses.join(' '),
    )
    await node.put(bytesOf(1000))
    const after = await node.request('storage', '/o', {
      method: 'POST',
      admin: true,
      headers: GZIP,
      body: gzipSync(bytesOf(1000)),
    })
    assert.equal(after.status, 200)
  },
)

acceptance(
  'hostile: a coded body may be ten times its size, from the first byte on',
  { finding: 'seed coverage 13' },
  async (world) => {
    const node = await world.startNode()
    const post = { method: 'POST', admin: true, headers: GZIP }
    const packed = await node.request('storage', '/o', { ...post, body: gzipSync(Buffer.alloc(60 * 1024)) })
    assert.equal(packed.status, 413)
    assert.match(packed.body.toString(), /ratio_cap/)
    assert.equal((await node.request('storage', '/o', { ...post, body: gzipSync('hello') })).status, 201)
  },
)

for (const [name, first] of [
  ['GET', 'GET /version HTTP/1.1\r\nHost: localhost\r\n'],
  ['POST', 'POST /o HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n'],
] as const)
  acceptance(
    `hostile: answers do not shift behind a ${name} that offers to upgrade`,
    { finding: 'attack S7' },
    async (world) => {
      const node = await world.startNode()
      const socket = await world.socket(node.urls.storage)
      const offer = 'Connection: Upgrade\r\nUpgrade: foo\r\n\r\n'
      const body = name === 'POST' ? 'x' : ''
      const next = `GET /o/b3:${'1'.repeat(64)} HTTP/1.1\r\nHost: localhost\r\n\r\n`
      socket.write(first + offer + body + next)
      await socket.until((text) => answersIn(text).length > 0)
      socket.write(next)
      const received = await socket.until((text) => answersIn(text).length > 1)
      assert.equal(answersIn(received).length, 1, received)
      assert.match(received, /\r\nConnection: close\r\n/i)
    },
  )

acceptance(
  'hostile: objects leave interop with the headers that keep browsers from running them',
  { finding: 'attack S8' },
  async (world) => {
    const node = await world.startNode()
    const address = await node.put('<script>alert(1)</script>', { 'content-type': 'text/html' })
    const { status, headers } = await node.request('interop', `/o/${address}`)
    assert.equal(status, 200)
    assert.equal(headers['content-security-policy'], "sandbox; default-src 'none'")
    assert.ok(headers['cross-origin-resource-policy'] !== undefined)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  },
)

acceptance(
  'hostile: a range that an object does not have is answered with its size, at every service',
  { finding: 'judges 6' },
  async (world) => {
    const node = await world.startNode()
    const address = await node.put('six of')
    for (const [service, path] of [
      ['storage', `/o/${address}`],
      ['edge', `/edge/assets/b3/${address.slice('b3:'.length)}`],
      ['interop', `/o/${address}`],
    ] as const)
      for (const range of ['bytes=6-', 'bytes=-0', 'bytes=99-100']) {
        const answer = await node.request(service, path, { headers: { range } })
        assert.deepEqual([answer.status, answer.headers['content-range']], [416, 'bytes */6'], `${service} ${range}`)
      }
  },
)

acceptance('hostile: a page on another port of this host may not write', { finding: 'attack S10' }, async (world) => {
  const node = await world.startNode()
  const put = async (site: string): Promise<number> => {
    const headers = { 'sec-fetch-site': site }
    return (await node.request('storage', '/o', { method: 'POST', admin: true, headers, body: 'x' })).status
  }
  assert.equal(await put('same-site'), 403)
  assert.equal(await put('cross-site'), 403)
  assert.equal(await put('same-origin'), 201)
})

acceptance(
  'hostile: a request with two Hosts is answered 400 and its connection ends',
  { finding: 'attack S11' },
  async (world) => {
    const node = await world.startNode()
    const socket = await world.socket(node.urls.storage)
    const next = 'GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n'
    socket.write(`GET /version HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n${next}`)
    const received = await socket.until((text) => answersIn(text).length > 1)
    assert.deepEqual(answersIn(received), ['HTTP/1.1 400'])
  },
)

acceptance(
  'hostile: no file of the data directory can be read by other users',
  { finding: 'attack S11' },
  async (world) => {
    const node = await world.startNode()
    await node.put(bytesOf(100_000))
    const open: string[] = []
    for (const entry of await readdir(node.data, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      const { mode } = await stat(path)
      if ((mode & 0o077) !== 0 && entry.name !== '.gitignore') open.push(`${path} ${(mode & 0o777).toString(8)}`)
    }
    assert.deepEqual(open, [])
  },
)
