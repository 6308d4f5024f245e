import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { notifyServiceManager } from '../src/main.ts'

/** Binds the kind of socket Node has not, says so, and prints what arrives: the word, then a question whether it was heard. */
const LISTENER = `import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
os.write(1, b'bound\\n')
while True:
  os.write(1, s.recv(4096) + b'\\n')
`

const missing = ['systemd-notify', 'python3'].find((tool) => spawnSync(tool, ['--version']).error !== undefined)

test('systemd hears that the node is ready, from the process it started', async (t) => {
  if (missing !== undefined) return t.skip(`tool absent: ${missing}`)
  const directory = mkdtempSync(join(tmpdir(), 'cairn-notify-'))
  const listener = spawn('python3', ['-c', LISTENER, join(directory, 'socket')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const lines = createInterface(listener.stdout)[Symbol.asyncIterator]()
    assert.equal((await lines.next()).value, 'bound')
    const told = new Promise<Error | undefined>((resolve) => {
      notifyServiceManager({ ...process.env, NOTIFY_SOCKET: join(directory, 'socket') }, resolve)
    })
    const words = new Set([(await lines.next()).value, (await lines.next()).value])
    assert.deepEqual(words, new Set([`MAINPID=${process.pid}`, 'READY=1']))
    assert.equal(await told, undefined)
  } finally {
    listener.kill()
    rmSync(directory, { recursive: true })
  }
})

test('nobody waits for the word: nothing runs, and a manager that is gone is only told of', async () => {
  notifyServiceManager({}, assert.ifError)
  const environment = { ...process.env, NOTIFY_SOCKET: '/nowhere/socket' }
  const failure = await new Promise<Error | undefined>((resolve) => notifyServiceManager(environment, resolve))
  assert.match(failure?.message ?? '', /systemd-notify/)
})
