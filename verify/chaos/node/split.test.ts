/** One node in five processes, from one configuration and one data directory. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { SystemClock, sleep } from '@cairn/kernel'
import { freePorts } from '@cairn/platform/testing'
import { addressOf } from '@cairn/wire'
import { main } from '../../../cli/src/main.ts'
import { Capture } from '../../../cli/test/capture.ts'
import { SERVICES } from '../../../node/src/services.ts'
import { ask, bearer } from '../../../node/test/asking.ts'
import { Home, type RunningNode } from '../../../node/test/running-node.ts'

const CLOCK = new SystemClock()
const TIMEOUT_MS = 30_000
const BYTES = 'kept by one process, named by another'

let home: Home
let portBase: number
const running = new Map<string, RunningNode>()

function start(service: string): RunningNode {
  const node = home.start({ args: ['--services', service, '--port-base', String(portBase)] })
  running.set(service, node)
  return node
}

function url(service: string): string {
  const offset = SERVICES.find(({ name }) => name === service)?.portOffset ?? 0
  return `http://127.0.0.1:${portBase + offset}`
}

interface Ready {
  readonly ready: boolean
  readonly degraded?: boolean
  readonly neighbours?: Readonly<Record<string, { readonly ready: boolean; readonly why: string }>>
}

/** What `/readyz` says, once it says that. */
async function readyz(service: string, says: (ready: Ready) => boolean): Promise<Ready> {
  const until = CLOCK.now() + TIMEOUT_MS
  for (;;) {
    const ready = JSON.parse((await ask(url(service), '/readyz')).body) as Ready
    if (says(ready)) return ready
    assert.ok(CLOCK.now() < until, `${service}: ${JSON.stringify(ready)}`)
    await sleep(CLOCK, 50)
  }
}

async function cairn(...args: readonly string[]): Promise<{ code: number; data: string; words: string }> {
  const terminal = new Capture()
  const code = await main([...args, '--data', `${home.path}/.cairn`], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

before(async () => {
  home = await Home.make()
  portBase = await freePorts(SERVICES.length + 1)
  for (const { name } of SERVICES) start(name)
  await Promise.all([...running.values()].map(async (node) => await node.ready()))
})
after(async () => await home[Symbol.asyncDispose]())

describe('five processes', () => {
  test('are one node: one status, one token, and each is asked through its own port', async () => {
    for (const name of ['registry', 'index', 'edge', 'interop'])
      await readyz(name, ({ degraded, neighbours }) => degraded !== true && neighbours?.['storage']?.ready === true)
    const { code, data } = await cairn('status', '--json')
    const { result } = JSON.parse(data) as { result: { services: { name: string; ready: boolean }[] } }
    assert.equal(code, 0, data)
    assert.deepEqual(result.services.map(({ name }) => name).sort(), [
      'edge',
      'index',
      'interop',
      'registry',
      'storage',
    ])
    const headers = await bearer(home.path)
    assert.equal((await ask(url('storage'), '/o', { method: 'POST', headers, body: BYTES })).status, 201)
    const through = await ask(url('edge'), `/edge/assets/b3/${addressOf(Buffer.from(BYTES)).slice('b3:'.length)}`)
    assert.deepEqual([through.status, through.body], [200, BYTES])
  })

  test('a second process for the same service, or for all of them, is refused', async () => {
    const port = String(portBase + 1000)
    for (const args of [
      ['--services', 'index', '--port-base', port],
      ['--port-base', port],
    ]) {
      const node = home.start({ args })
      assert.equal((await node.ended).code, 5)
      assert.match(node.stderr.text, /Another cairn is running/)
    }
  })

  test('what a name means is not deleted by anybody: the refusal names the name', async () => {
    await writeFile(`${home.path}/page.txt`, 'held by its name')
    const done = async (...args: readonly string[]): Promise<string> => {
      const { code, data, words } = await cairn(...args)
      assert.equal(code, 0, words)
      return data.trim()
    }
    const address = await done('put', '-q', `${home.path}/page.txt`)
    const proposal = await done('name', 'propose', '-q', 'page@1.0', address)
    await done('name', 'approve', '--yes', '-q', proposal)
    await done('name', 'commit', '-q', proposal)
    const { code, words } = await cairn('rm', address)
    assert.equal(code, 8, words)
    assert.match(words, /page@1\.0/)
  })

  test('a key rotated and a token revoked in one count in all', async () => {
    const minted = await cairn('token', 'mint', '--for', 'storage', '--scope', 'storage:write', '-q')
    const token = minted.data.trim()
    const inspected = await cairn('token', 'inspect', token, '--json')
    const tid = /"tid":"([0-9a-f]{32})"/.exec(inspected.data)?.[1] ?? ''
    assert.equal((await cairn('token', 'rotate')).code, 0)
    assert.equal((await cairn('token', 'revoke', tid)).code, 0)
    const put = async (headers: Record<string, string>) =>
      (await ask(url('storage'), '/o', { method: 'POST', headers, body: 'x' })).status
    const until = CLOCK.now() + TIMEOUT_MS
    const fresh = await bearer(home.path)
    const outcome = async () => [await put({ authorization: `Bearer ${token}` }), Math.floor((await put(fresh)) / 100)]
    while ((await outcome()).join(' ') !== '401 2') {
      assert.ok(CLOCK.now() < until, (await outcome()).join(' '))
      await sleep(CLOCK, 50)
    }
  })

  test('when one is killed the others go on and say so; started again it has lost nothing', async () => {
    const storage = running.get('storage')
    storage?.kill()
    await storage?.ended
    for (const name of ['registry', 'index', 'edge', 'interop']) {
      const { ready, degraded, neighbours } = await readyz(
        name,
        (said) => said.neighbours?.['storage']?.ready === false,
      )
      assert.deepEqual([ready, degraded], [true, true], name)
      assert.match(neighbours?.['storage']?.why ?? '', /does not answer/)
    }
    const { code, words } = await cairn('status')
    assert.equal(code, 5)
    assert.match(words, /Not ready: storage/)
    await start('storage').ready()
    for (const name of ['registry', 'index', 'edge', 'interop'])
      await readyz(name, ({ neighbours }) => neighbours?.['storage']?.ready === true)
    const there = await ask(url('storage'), `/o/${addressOf(Buffer.from(BYTES))}`)
    assert.deepEqual([there.status, there.body], [200, BYTES])
  })

  test('all of them stop together', async () => {
    assert.equal((await cairn('stop', '--timeout', '30s')).code, 0)
    for (const [name, node] of running) assert.equal((await node.ended).code, 0, name)
  })
})
