import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { SystemClock, sleep } from '@cairn/kernel'
import { freePorts } from '@cairn/platform/testing'
import { SERVICES } from '../src/services.ts'
import { type Answer, ask, bearer, metric } from './asking.ts'
import { Home, type RunningNode } from './running-node.ts'

/** Services on any port; `lines` are the node's own. */
function toml(...lines: readonly string[]): string {
  const services = SERVICES.map(({ name }) => `[${name}]\nbind_addr = "127.0.0.1:0"\n`)
  return `[node]\n${lines.join('\n')}\n\n${services.join('\n')}`
}

async function configRow(url: string, directory: string, key: string): Promise<{ value: unknown; origin: string }> {
  const { body } = await ask(url, '/admin/config', { headers: await bearer(directory) })
  const rows = JSON.parse(body) as { key: string; value: unknown; origin: string }[]
  return rows.find((row) => row.key === key)!
}

/** Tells the node to read its file again; resolves with the log line that says what came of it. */
async function hangUp(node: RunningNode, message: string): Promise<Record<string, unknown>> {
  node.signal('SIGHUP')
  return await node.logged(message)
}

test('a bad file keeps the old configuration in force and is named, logged and counted; a good one takes effect', async () => {
  await using home = await Home.make()
  const file = `${home.path}/cairn.toml`
  await writeFile(file, toml('bind_addr = "127.0.0.1:0"'))
  const node = home.start()
  const url = (await node.ready()).urls['node']![0]!

  await writeFile(file, toml('bind_addr = "127.0.0.1:0"', '[node.log]', 'levle = "debug"'))
  const refusal = await hangUp(node, 'configuration refused; the old one stays in force')
  assert.equal(refusal['source'], 'signal')
  assert.match(
    String(refusal['problems']),
    /^cairn\.toml:4:1: node\.log\.levle is not a known key; did you mean node\.log\.level\?$/,
  )
  assert.equal(await metric(url, /^node_reload_fail_total\{.*reason="unknown_key"/), 1)
  assert.equal((await ask(url, '/readyz')).status, 200)
  const viaAdmin = await ask(url, '/admin/config/reload', { method: 'POST', headers: await bearer(home.path) })
  assert.equal(viaAdmin.status, 409)
  assert.equal((JSON.parse(viaAdmin.body) as { code: string }).code, 'config_refused')

  await writeFile(file, toml('bind_addr = "127.0.0.1:0"', 'drain_deadline = "2s"', '[node.log]', 'level = "debug"'))
  const taken = await hangUp(node, 'configuration reloaded')
  assert.deepEqual(taken['changes'], ['node.log.level (live)', 'node.drain_deadline (restart)'])
  assert.deepEqual(taken['pendingRestart'], ['node.drain_deadline'])
  assert.equal(await metric(url, /^node_reload_success_total\{.*source="signal"/), 1)
  assert.deepEqual(await configRow(url, home.path, 'node.log.level'), {
    key: 'node.log.level',
    value: 'debug',
    origin: 'cairn.toml:5:1',
    reload: 'live',
  })
  assert.equal((await configRow(url, home.path, 'node.drain_deadline')).value, 3000)
  await writeFile(file, toml('bind_addr = "192.0.2.1:7070"', 'insecure_public = true'))
  const elsewhere = await ask(url, '/admin/config/reload', { method: 'POST', headers: await bearer(home.path) })
  assert.equal(elsewhere.status, 409)
  assert.match(elsewhere.body, /node could not move to its new listener and stays on the old one/)
  assert.equal((await ask(url, '/readyz')).status, 200)

  await writeFile(file, toml('bind_addr = "127.0.0.1:0"', '[node.log]', 'level = "error"'))
  const quiet = await ask(url, '/admin/config/reload', { method: 'POST', headers: await bearer(home.path) })
  assert.equal(quiet.status, 200)
  await node.stop()
  assert.ok(!node.stderr.text.includes('"message":"stopped"'), 'the level was not taken over')
})

test('a new address is moved to while somebody is always there to answer', async () => {
  await using home = await Home.make()
  const file = `${home.path}/cairn.toml`
  const before = await freePorts(2)
  const after = before + 1
  await writeFile(file, toml(`bind_addr = "127.0.0.1:${before}"`, 'drain_deadline = "1s"'))
  const node = home.start()
  assert.equal((await node.ready()).urls['node']![0], `http://127.0.0.1:${before}`)

  await writeFile(file, toml(`bind_addr = "127.0.0.1:${after}"`, 'drain_deadline = "1s"'))
  node.signal('SIGHUP')
  const isRefused = (error: NodeJS.ErrnoException): undefined => {
    assert.equal(error.code, 'ECONNREFUSED')
    return undefined
  }
  const at = async (port: number): Promise<Answer | undefined> =>
    await ask(`http://127.0.0.1:${port}`, '/readyz').catch(isRefused)
  const answers = { before: 0, after: 0 }
  while (answers.after < 20) {
    const here = await at(after)
    const there = here ?? (await at(before))
    assert.equal(there?.status, 200, 'nobody answered')
    answers[here === undefined ? 'before' : 'after'] += 1
  }
  const moved = await node.logged('configuration reloaded')
  assert.deepEqual(moved['changes'], ['node.bind_addr (rebind)'])
  assert.equal(await at(before), undefined)
})

test('a hangup while the node is starting does not end it, and is answered once it runs', async (t) => {
  if (process.platform !== 'linux') return t.skip('whether a process listens to a signal is read from /proc')
  await using home = await Home.make()
  await writeFile(`${home.path}/cairn.toml`, toml('bind_addr = "127.0.0.1:0"'))
  const node = home.start()
  await listensToHangup(node, home.path)
  const over = new AbortController()
  const ready = node.ready().finally(() => over.abort())
  for (const clock = new SystemClock(); !over.signal.aborted; await sleep(clock, 20)) node.signal('SIGHUP')
  const { urls } = await ready
  await node.logged('configuration reloaded')
  assert.equal((await ask(urls['node']![0]!, '/readyz')).status, 200)
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
})

/** Until somebody listens, a hangup ends a process; its mask of caught signals says whether, and it is set before all else. */
async function listensToHangup({ process: { pid } }: RunningNode, directory: string): Promise<void> {
  for (let isListening = false; !isListening; ) {
    const isUnderWay = existsSync(`${directory}/.cairn`)
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
    isListening = (caught & 1n) === 1n
    assert.ok(isListening || !isUnderWay, 'it opens its data and does not listen yet')
  }
}
