/** The launcher: which Node runs, with what, and how signals and exit codes pass through it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { BODY, heldRequest, isDraining } from './held-request.ts'
import { Home, LAUNCHER } from './running-node.ts'

/** A Node on the path that cannot run cairn by itself. */
function oldNode(): string | undefined {
  const programs = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'node'))
  return programs.find((program) => {
    const { stdout, status } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    return status === 0 && Number(/^v(\d+)/.exec(stdout)?.[1]) < 24
  })
}

const OLD_NODE = oldNode()
const skip = OLD_NODE === undefined ? 'tool absent: an older node' : false
const old = OLD_NODE ?? ''

test('an old Node hands over to the one of the dependencies, exit code included', { skip }, () => {
  const version = spawnSync(old, [LAUNCHER, '--version'], { encoding: 'utf8' })
  assert.deepEqual([version.status, version.stdout, version.stderr], [0, '0.1.0\n', ''])
  const usage = spawnSync(old, [LAUNCHER, 'stauts'], { encoding: 'utf8' })
  assert.equal(usage.status, 2)
  assert.match(usage.stderr, /did you mean cairn status\?/)
})

test('a Ctrl-C, which goes to the whole group of processes, stops the node once', { skip }, async () => {
  await using home = await Home.make()
  const { node, url, request, answer } = await heldRequest(home, { under: [old], isGroup: true })
  const group = node.process.pid ?? 0
  await node.ready()
  process.kill(-group, 'SIGINT')
  await isDraining(url)
  request.end(BODY.slice(10))
  assert.equal((await answer).status, 201)
  assert.deepEqual(await node.ended, { code: 0, signal: null })
})

test('a signal for the launcher alone reaches the node, and the way the node ends is the way it ends', {
  skip,
}, async () => {
  await using home = await Home.make()
  const { node, url, answer } = await heldRequest(home, { under: [old] })
  node.signal('SIGTERM')
  await isDraining(url)
  node.signal('SIGTERM')
  assert.equal((await answer).status, 503)
  assert.deepEqual(await node.ended, { code: 130, signal: null })

  const killed = home.start({ args: ['--port-base', '0'], under: [old] })
  process.kill((await killed.ready()).pid, 'SIGKILL')
  assert.deepEqual(await killed.ended, { code: null, signal: 'SIGKILL' })
})

test('without a Node that can run it, a screen says what to do', { skip }, async () => {
  await using home = await Home.make()
  await mkdir(`${home.path}/bin`)
  await copyFile(LAUNCHER, `${home.path}/bin/cairn.mjs`)
  const { status, stdout, stderr } = spawnSync(old, [`${home.path}/bin/cairn.mjs`, 'status'], { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [2, ''])
  assert.match(stderr, /cairn needs Node 24\.6 or newer\n {2}This is Node \d+\.\d+\.\d+, .*\n {2}Next: {2}npm ci\n$/)
})

test('who was started by a launcher starts no other', { skip }, () => {
  const environment = { ...process.env, CAIRN_LAUNCHED: '1' }
  const { status, stderr } = spawnSync(old, [LAUNCHER, '--version'], { encoding: 'utf8', env: environment })
  assert.equal(status, 2)
  assert.match(stderr, /cairn needs Node/)
})

test('what was compiled is kept for the next time', async () => {
  const run = spawnSync(process.execPath, [LAUNCHER, '--help'], { encoding: 'utf8' })
  assert.equal(run.status, 0)
  const kept = await readdir(new URL('../../node_modules/.cache/cairn', import.meta.url))
  assert.notDeepEqual(kept, [])
})
