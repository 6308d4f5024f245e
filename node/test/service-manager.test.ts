import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tellServiceManager } from '../src/service-manager.ts'

/** Binds the kind of socket Node has not, says so, and prints what arrives. */
const LISTENER = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
print(s.recv(4096).decode(), flush=True)
`

const missing = ['systemd-notify', 'python3'].find((tool) => spawnSync(tool, ['--version']).error !== undefined)

test('systemd hears that the node is ready, from the process it started', async (t) => {
  if (missing !== undefined) return t.skip(`tool absent: ${missing}`)
  const directory = mkdtempSync(join(tmpdir(), 'cairn-notify-'))
  const listener = spawn('python3', ['-c', LISTENER, join(directory, 'socket')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(listener.stdout, 'data')
    tellServiceManager({ ...process.env, NOTIFY_SOCKET: join(directory, 'socket') }, assert.ifError)
    const [word] = (await once(listener.stdout, 'data')) as [Buffer]
    assert.match(word.toString(), /^READY=1$/m)
    assert.match(word.toString(), new RegExp(`^MAINPID=${process.pid}$`, 'm'))
  } finally {
    listener.kill()
    rmSync(directory, { recursive: true })
  }
})

test('nobody waits for the word: nothing runs, and a manager that is gone is only told of', async () => {
  tellServiceManager({}, assert.ifError)
  const environment = { ...process.env, NOTIFY_SOCKET: '/nowhere/socket' }
  const failure = await new Promise<Error>((resolve) => tellServiceManager(environment, resolve))
  assert.match(failure.message, /systemd-notify/)
})
