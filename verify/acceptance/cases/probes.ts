/** What orchestrators and balancers ask: answered whatever clients do, and true. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, rename } from 'node:fs/promises'
import { Agent, createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { addressOf } from '@cairn/wire'
import { acceptance } from '../case.ts'
import type { RunningNode, Service } from '../node.ts'

const SERVICES: readonly Service[] = ['node', 'storage', 'index', 'registry', 'edge', 'interop']

/** Clients that ask for one page all the time, until this is over. */
async function floodWhile(node: RunningNode, service: Service, during: () => Promise<void>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 30 })
  const state = { isOver: false, asked: 0 }
  const clients = Array.from({ length: 30 }, async () => {
    while (!state.isOver) {
      await node.request(service, '/version', { agent })
      state.asked += 1
    }
  })
  try {
    while (state.asked < 500) await setImmediate()
    await during()
  } finally {
    state.isOver = true
    await Promise.all(clients)
    agent.destroy()
  }
}

for (const service of ['storage', 'index'] as const) {
  acceptance(
    `probes: a client that floods ${service} does not starve them`,
    { finding: 'seed-coverage 2' },
    async (world) => {
      const node = await world.startNode()
      await floodWhile(node, service, async () => {
        const statuses: number[] = []
        for (let probe = 0; probe < 30; probe += 1) {
          statuses.push((await node.request(service, '/healthz')).status)
          statuses.push((await node.request(service, '/readyz')).status)
        }
        assert.deepEqual(
          statuses.filter((status) => status !== 200),
          [],
        )
      })
    },
  )
}

acceptance('probes: what is not ready says what it waits for', { finding: 'seed-coverage 8, 23' }, async (world) => {
  const node = await world.startNode()
  for (const service of SERVICES) {
    const ready = JSON.parse((await node.request(service, '/readyz')).body.toString()) as {
      conditions: Record<string, unknown>
    }
    // Each of these can fail; one that cannot says nothing.
    for (const name of Object.keys(ready.conditions)) assert.ok(CAN_FAIL.includes(name), `${service}: ${name}`)
  }
  assert.equal((await node.request('registry', '/readyz?class=write')).status, 200)
})

acceptance(
  'probes: a registry that cannot write says so to who asks about writes, and is read',
  { finding: 'seed-coverage 8' },
  async (world) => {
    const node = await world.startNode()
    const head = await node.request('registry', '/registry/head')
    await node.stop()
    // With it the log is signed: without it nothing can be added.
    await rename(join(node.data, 'registry/keys/log-key'), world.path('log-key'))
    await node.relaunch()
    await node.ready()
    const asked = await node.request('registry', '/readyz?class=write')
    assert.equal(asked.status, 503, asked.body.toString())
    const { missing, write_ready: isWritable } = JSON.parse(asked.body.toString()) as {
      missing: string[]
      write_ready: boolean
    }
    assert.deepEqual([missing, isWritable], [['log_writable'], false])
    assert.equal((await node.request('registry', '/readyz')).status, 200)
    assert.deepEqual((await node.request('registry', '/registry/head')).body, head.body)
  },
)

const CAN_FAIL: readonly string[] = [
  'listener_bound',
  'store_writable',
  // Whether a witness knows of more than the journal has.
  'journal_whole',
  'journal_writable',
  'dht_client_ready',
  'packs_verified',
  'cas_reachable',
  'shedder_stable',
]

acceptance(
  'probes: every task and queue that lives in the node is in the documents',
  { finding: 'seed-coverage 12' },
  async (world) => {
    const node = await world.startNode()
    for (const service of SERVICES) {
      const page = await readFile(join(world.tree, `docs/generated/topology-${service}.md`), 'utf8')
      const live = JSON.parse((await node.request(service, '/debug/topology')).body.toString()) as {
        kind: string
        name: string
      }[]
      const names = live.flatMap(({ kind, name }) => {
        if (kind === 'task') return [name.replace(/-\d+$/, '')]
        return kind === 'queue' || kind === 'broadcast' ? [name] : []
      })
      for (const name of new Set(names))
        assert.ok(page.includes(`| \`${name}\` |`), `${service}: ${name} is undeclared`)
    }
  },
)

acceptance(
  'probes: a target that is back is asked again, however long no request came',
  { finding: 'seed-coverage 3', limitMs: 90_000 },
  async (world) => {
    const state = { isUp: false, asked: 0 }
    const endpoint = createServer((_request, response) => {
      state.asked += 1
      // Longer than the round of the task that keeps the breakers: each probe is under way when that looks.
      setTimeout(
        () => {
          response.writeHead(state.isUp ? 404 : 500).end()
        },
        state.isUp ? 150 : 0,
      )
    })
    await once(endpoint.listen(0, '127.0.0.1'), 'listening')
    const { port } = endpoint.address() as AddressInfo
    world.own(closing(endpoint))
    const node = await world.startNode({
      config: `[index.dht]\nendpoints = ["http://127.0.0.1:${port}/"]\nallow_loopback = true\n[index.breaker]\ncooldown = "1s"\n`,
    })
    let number = 0
    const lookUp = async (): Promise<number> => {
      number += 1
      return (await node.request('index', `/providers/${addressOf(Buffer.from(`nobody has ${number}`))}`)).status
    }
    await world.eventually(async () => {
      const before = state.asked
      await lookUp()
      return state.asked === before ? true : undefined
    })
    state.isUp = true
    // Longer than the cooldown nobody asks: the probes are laid out, and wait.
    const openedAt = performance.now()
    await world.eventually(async () => await Promise.resolve(performance.now() > openedAt + 4_000 ? true : undefined))
    const opened = await node.metric('index', 'breaker_open_total')
    for (let probe = 0; probe < 10; probe += 1)
      await world.eventually(async () => ((await lookUp()) === 404 ? true : undefined))
    assert.equal(await node.metric('index', 'breaker_open_total'), opened, 'it opened again, on answers that were well')
  },
)

function closing(server: Server): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
}
