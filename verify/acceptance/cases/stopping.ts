/** A node that stops: what it accepted before the signal is answered as it should be, and a balancer sees it go. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { bytesOf } from '../bytes.ts'
import { acceptance } from '../case.ts'
import { DriveProbe } from '../drive-probe.ts'
import type { RunningNode } from '../node.ts'
import type { World } from '../world.ts'

/** How often a node is stopped under load: more often where no one waits, and as often as `CAIRN_STOPS` says. */
const STOPS = Number(process.env['CAIRN_STOPS'] ?? (process.env['CI'] === 'true' ? 20 : 8))
const SECRET = 'a secret that only the case knows'
const WITH_GITHUB = '[interop.providers.github]\nenabled = true\nsecrets = [{ env = "GITHUB_SECRET" }]\n'
const NODE = { config: WITH_GITHUB, env: { GITHUB_SECRET: SECRET } }
/** What was sent so long before the signal had reached the node's machine, if not the node. */
const CLEARLY_BEFORE_MS = 5
/** Under way before the signal comes. */
const WARM = 150
const OBJECTS = 20
/** A machine on which one small write takes so long may keep a node from answering within its 3 s. */
const STALLED_MS = 750
/** So many rounds may be repeated because the machine stood still. */
const STALLS_MAX = 10
/** A request has 2 s: where the case itself takes so much of them, a failure may be the machine's, and it is played again. */
const BUDGET_MS = 1500
const ATTEMPTS_MAX = 3

/** GitHub's are UUIDs. */
function deliveryOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
}

/** Looks until it is so. */
async function until(world: World, holds: () => boolean | Promise<boolean>): Promise<void> {
  await world.eventually(async () => ((await holds()) ? true : undefined))
}

interface Sent {
  readonly what: string
  /** When all of it was with the system; later than any signal while it is not. */
  sentAt: number
  /** 0 while there is none, and where the connection was refused or reset. */
  status: number
  code: string
}

interface Load {
  readonly sent: readonly Sent[]
  readonly answered: () => number
  /** Resolves when no request is under way any more. */
  stop(): Promise<void>
}

type Make = (n: number) => { readonly url: string; readonly headers: Record<string, string>; readonly body?: string }

async function fire(sent: Sent, { url, headers, body }: ReturnType<Make>): Promise<void> {
  const method = body === undefined ? 'GET' : 'POST'
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  await new Promise<void>((resolve) => {
    const request = httpRequest(url, { method, agent: false, headers: { ...headers, ...length } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => {
        parts.push(part)
      })
      response.on('error', () => resolve())
      response.on('end', () => {
        sent.status = response.statusCode ?? 0
        if (sent.status >= 400) sent.code = Buffer.concat(parts).toString().slice(0, 200)
        resolve()
      })
    })
    request.on('finish', () => {
      sent.sentAt = performance.now()
    })
    request.on('error', (error) => {
      sent.code = error.message
      resolve()
    })
    request.end(body)
  })
}

/** Clients that each ask again as soon as they are answered, until they are told to stop or find nobody. */
function load(
  kinds: Readonly<Record<string, { readonly clients: number; readonly make: Make }>>,
  firstNumber: number,
): Load {
  const sent: Sent[] = []
  const state = { isOver: false, n: firstNumber, answered: 0 }
  const clients = Object.entries(kinds).flatMap(([what, { clients: count, make }]) =>
    Array.from({ length: count }, async () => {
      while (!state.isOver) {
        state.n += 1
        const one: Sent = { what, sentAt: Number.POSITIVE_INFINITY, status: 0, code: '' }
        sent.push(one)
        await fire(one, make(state.n))
        if (one.status === 0) return
        state.answered += 1
      }
    }),
  )
  return {
    sent,
    answered: () => state.answered,
    stop: async () => {
      state.isOver = true
      await Promise.all(clients)
    },
  }
}

async function loadOn(node: RunningNode, addresses: readonly string[], round: number): Promise<Load> {
  const { interop, storage, registry, edge } = node.urls
  const json = { authorization: `Bearer ${await node.adminToken()}`, 'content-type': 'application/json' }
  const webhook: Make = (n) => {
    const body = JSON.stringify({ n, zen: 'Finish what you start.' })
    const signature = createHmac('sha256', SECRET).update(body).digest('hex')
    const headers = { 'x-github-event': 'push', 'x-github-delivery': deliveryOf(n) }
    return {
      url: `${interop}/webhooks/github`,
      headers: { ...headers, 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
      body,
    }
  }
  const put: Make = (n) => {
    return { url: `${interop}/put`, headers: json, body: JSON.stringify({ payload: btoa(`${n}`.repeat(5000)) }) }
  }
  const object: Make = (n) => ({ url: `${storage}/o`, headers: json, body: `${n} `.repeat(20_000) })
  const proposal: Make = (n) => {
    const items = [{ kind: 'name', id: `n${n}@1`, manifest: addresses[n % OBJECTS], prev: null }]
    return { url: `${registry}/registry/proposals`, headers: json, body: JSON.stringify({ payload: { items } }) }
  }
  const fill: Make = (n) => {
    const hex = (addresses[n % OBJECTS] ?? '').slice('b3:'.length)
    return { url: `${edge}/edge/assets/b3/${hex}`, headers: { 'cache-control': 'no-cache' } }
  }
  const kinds = {
    webhook: { clients: 30, make: webhook },
    put: { clients: 6, make: put },
    object: { clients: 4, make: object },
    proposal: { clients: 4, make: proposal },
    fill: { clients: 6, make: fill },
  }
  // Nothing is sent twice, over all rounds.
  return load(kinds, round * 1_000_000)
}

acceptance(
  'stopping: under load nothing that was accepted is refused, stop after stop',
  { finding: 'seed-coverage 1', limitMs: 60_000 + (STOPS + STALLS_MAX) * 12_000 },
  async (world) => {
    const node = await world.startNode(NODE)
    const addresses: string[] = []
    for (let at = 0; at < OBJECTS; at += 1) addresses.push(await node.put(bytesOf(100_000, at)))
    const wrong: string[] = []
    let judged = 0
    let stalls = 0
    for (let stop = 1; stop <= STOPS; stop += 1) {
      const under = await loadOn(node, addresses, stop + stalls)
      await until(world, () => under.answered() >= WARM)
      const probe = new DriveProbe(world.path('probe'))
      const signalledAt = performance.now()
      node.signal('SIGTERM')
      assert.deepEqual(await node.exited, { code: 0, signal: null })
      await under.stop()
      const timedOut = under.sent.some(({ status }) => status === 504)
      if ((await probe.end()) > STALLED_MS && timedOut && stalls < STALLS_MAX) {
        stalls += 1
        stop -= 1
        await node.restart()
        continue
      }
      for (const { what, sentAt, status, code } of under.sent) {
        if (sentAt > signalledAt - CLEARLY_BEFORE_MS) continue
        judged += 1
        // Refused for the load, as it is on a slow machine, and not for the stop.
        if (status === 503 && code.includes('Brownout')) continue
        if (status === 0 || status >= 500) wrong.push(`stop ${stop}, ${what}: ${status} ${code}`)
      }
      // A node that refused everything would pass as well. After many rounds its open proposals are at their limit.
      const missing = ['webhook', 'put', 'object', 'proposal', 'fill'].filter(
        (kind) => !under.sent.some(({ what, status }) => what === kind && status >= 200 && status < 300),
      )
      if (stop === 1) assert.deepEqual(missing, [], 'nothing of these was served')
      if (stop < STOPS) await node.restart()
    }
    assert.ok(judged >= STOPS * WARM)
    assert.deepEqual(wrong, [], `${wrong.length} of ${judged}`)
  },
)

acceptance(
  'stopping: a webhook and a put under way are answered, though the rest comes later',
  { finding: 'seed-coverage 1' },
  async (world) => {
    for (let attempt = 1; ; attempt += 1) {
      const node = await world.startNode(NODE)
      const begunAt = performance.now()
      try {
        await stopUnderWay(world, node)
        return
      } catch (error) {
        if (performance.now() - begunAt <= BUDGET_MS || attempt >= ATTEMPTS_MAX) throw error
      }
      await node.kill()
    }
  },
)

async function stopUnderWay(world: World, node: RunningNode): Promise<void> {
  const { interop, storage } = node.urls
  const hook = JSON.stringify({ zen: 'Finish what you start.' })
  const signature = createHmac('sha256', SECRET).update(hook).digest('hex')
  const held = await Promise.all([
    hold(interop, '/webhooks/github', hook, {
      'content-type': 'application/json',
      'x-github-event': 'ping',
      'x-github-delivery': deliveryOf(0),
      'x-hub-signature-256': `sha256=${signature}`,
    }),
    hold(interop, '/put', JSON.stringify({ payload: btoa('under way') }), {
      'content-type': 'application/json',
      authorization: `Bearer ${await node.adminToken()}`,
    }),
  ])
  node.signal('SIGTERM')
  await until(world, async () => (await node.request('storage', '/readyz')).status === 503)
  assert.equal((await fetch(`${storage}/o/b3:${'0'.repeat(64)}`)).status, 503)
  assert.deepEqual(await Promise.all(held.map(async ({ finish }) => await finish())), [202, 202])
  assert.deepEqual(await node.exited, { code: 0, signal: null })
}

/** A request that was let in and waits for the rest of its body. */
async function hold(url: string, path: string, body: string, headers: Record<string, string>) {
  const all = { ...headers, 'content-length': String(body.length), expect: '100-continue' }
  const request = httpRequest(new URL(path, url), { method: 'POST', agent: false, headers: all })
  const status = new Promise<number>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
  })
  status.catch(() => {})
  await new Promise<void>((resolve, reject) => {
    request.on('error', reject)
    request.on('continue', resolve)
    request.flushHeaders()
  })
  request.write(body.slice(0, 5))
  return {
    status,
    finish: async () => {
      request.end(body.slice(5))
      return await status
    },
  }
}

acceptance(
  'stopping: the ports answer 503 before they close, so that a balancer sees it',
  { finding: 'seed-coverage 10' },
  async (world) => {
    const node = await world.startNode()
    const services = Object.keys(node.urls) as (keyof typeof node.urls)[]
    node.signal('SIGTERM')
    // Each of them idle: without a lame duck the first look finds no port.
    for (const service of services) {
      await until(world, async () => (await node.request(service, '/readyz')).status === 503)
      assert.equal((await node.request(service, '/healthz')).status, 200, service)
      const refused = await node.request(service, '/no-such-route')
      assert.deepEqual([refused.status, refused.headers.connection], [503, 'close'], service)
    }
    assert.deepEqual(await node.exited, { code: 0, signal: null })
  },
)

acceptance('stopping: a second signal ends it at once, with 130', {}, async (world) => {
  const node = await world.startNode({ env: { CAIRN__NODE__DRAIN_DEADLINE: '5s' } })
  const body = JSON.stringify({ aud: 'storage', scopes: ['storage:write'], ttl_s: 60 })
  const { status } = await hold(node.urls.node, '/admin/tokens', body, {
    'content-type': 'application/json',
    authorization: `Bearer ${await node.adminToken()}`,
  })
  node.signal('SIGINT')
  await until(world, async () => (await node.request('node', '/readyz')).status === 503)
  node.signal('SIGINT')
  assert.equal(await status, 503)
  assert.deepEqual(await node.exited, { code: 130, signal: null })
})

acceptance(
  'stopping: a task that had nothing to do does not count as aborted',
  { finding: 'seed-coverage 6', limitMs: 90_000 },
  async (world) => {
    const node = await world.startNode()
    const socket = await world.socket(node.urls.interop)
    const token = await node.adminToken()
    socket.write(
      `POST /put HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nExpect: 100-continue\r\n` +
        'Content-Type: application/octet-stream\r\nContent-Length: 100000\r\n\r\n',
    )
    await socket.until((received) => received.includes('100 Continue'))
    // Bytes keep coming, and never all of them: the stream is what is aborted, and no idle worker beside it.
    const trickle = setInterval(() => socket.write('x'.repeat(1000)), 200)
    try {
      node.signal('SIGTERM')
      await node.exited
    } finally {
      clearInterval(trickle)
    }
    const line =
      node
        .output()
        .split('\n')
        .find((text) => text.includes('"message":"stopped"')) ?? ''
    const { aborted } = JSON.parse(line) as { aborted: string[] }
    assert.deepEqual(
      aborted.filter((task) => /worker/.test(task)),
      [],
    )
    assert.ok(aborted.length >= 1)
  },
)
