import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type CairnError, isKind, MemoryLog, MemoryMetrics, type Runtime, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { systemCrypto } from '../crypto.ts'
import type { Disk } from '../disk/disk.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { RealDisk } from '../disk/real-disk.ts'
import { makeRootKey, openDataDirectory } from './data-directory.ts'

type Machine = Parameters<typeof openDataDirectory>[0]

const SECRETS = {
  'token-root': () => Buffer.alloc(32, 1),
  'node-identity': () => Buffer.alloc(32, 2),
}

describe('the data directory', () => {
  test('the first start makes everything, for the owner alone', async () => {
    await onDisk(async (machine, root) => {
      const path = `${root}/a/.cairn`
      await using data = await openDataDirectory(machine, { path, secrets: SECRETS })
      await data.writeAdminToken('token-text')
      assert.deepEqual([...data.secret('token-root')], [...Buffer.alloc(32, 1)])
      assert.deepEqual((await readdir(path)).sort(), ['.gitignore', 'admin.token', 'format', 'keys', 'lock.db'])
      assert.equal(await readFile(`${path}/.gitignore`, 'utf8'), '*\n')
      assert.equal(await readFile(`${path}/admin.token`, 'utf8'), 'token-text\n')
      for (const name of ['keys/token-root', 'keys/node-identity', 'admin.token', 'format']) {
        assert.equal((await stat(`${path}/${name}`)).mode & 0o777, 0o600, name)
      }
      for (const name of ['', 'keys']) assert.equal((await stat(`${path}/${name}`)).mode & 0o777, 0o700, name)
    })
  })

  test('later starts find the same secrets, and those made or replaced since', async () => {
    await onDisk(async (machine, root) => {
      {
        await using data = await openDataDirectory(machine, { path: root, secrets: SECRETS })
        await data.replaceSecret('token-root', Buffer.from('rotated'))
      }
      const secrets = { 'token-root': never, 'node-identity': never }
      await using data = await openDataDirectory(machine, { path: root, secrets })
      assert.equal(Buffer.from(data.secret('token-root')).toString(), 'rotated')
      assert.deepEqual([...data.secret('node-identity')], [...Buffer.alloc(32, 2)])
      assert.throws(() => data.secret('log-key'))
    })
  })

  test('a damaged or lost key is an error, never a new identity', async () => {
    await onDisk(async (machine, root) => {
      await (await openDataDirectory(machine, { path: root, secrets: SECRETS })).close()
      const key = `${root}/keys/node-identity`
      const line = await readFile(key)
      for (let at = 0; at < line.length - 1; at += 7) {
        const flipped = Buffer.from(line)
        flipped[at]! ^= 1
        await writeFile(key, flipped)
        await refuses(machine, root, 'integrity', /damaged; restore/)
      }
      await rm(key)
      await refuses(machine, root, 'key_missing', /missing; restore .*keys\/node-identity/)
      assert.deepEqual(await readdir(`${root}/keys`), ['token-root'])
    })
  })

  test('refuses the format of a newer version, and says what to do', async () => {
    await onDisk(async (machine, root) => {
      await (await openDataDirectory(machine, { path: root, secrets: SECRETS })).close()
      await writeFile(`${root}/format`, 'cairn-data 2\n')
      await refuses(machine, root, 'data_format', /format 2 of a newer cairn.*--data/)
      await writeFile(`${root}/format`, 'nonsense')
      await refuses(machine, root, 'integrity', /format is damaged/)
    })
  })

  test("leaves somebody's own directory alone", async () => {
    await onDisk(async (machine, root) => {
      await mkdir(`${root}/mine`)
      await writeFile(`${root}/mine/thesis.txt`, 'years of work')
      await refuses(machine, `${root}/mine`, 'data_foreign', /holds thesis\.txt.*--data/)
      assert.deepEqual(await readdir(`${root}/mine`), ['thesis.txt'])
    })
  })

  test('one process at a time: the second is told what to do, and gets it once the first was killed', async (t) => {
    await onDisk(async (machine, root) => {
      const holder = hold(root)
      t.after(() => holder.kill('SIGKILL'))
      const [line] = (await once(holder.stdout!.setEncoding('utf8'), 'data')) as [string]
      assert.match(line, /^open [0-9a-f]{64}\n$/)
      const second = spawnSync(process.execPath, [script(), root], { encoding: 'utf8' })
      assert.match(second.stdout, /^data_locked: Another cairn is running on .*`cairn stop`.*--data/)
      await refuses(machine, root, 'data_locked', /Another cairn/)
      holder.kill('SIGKILL')
      await once(holder, 'exit')
      await using data = await openDataDirectory(machine, { path: root, secrets: { 'node-identity': never } })
      assert.equal(`open ${Buffer.from(data.secret('node-identity')).toString('hex')}\n`, line)
    })
  })

  test('a second opening refused in the same process does not let another process in', async () => {
    await onDisk(async (machine, root) => {
      await using _data = await openDataDirectory(machine, { path: root, secrets: SECRETS })
      await refuses(machine, root, 'data_locked', /Another cairn/)
      const other = spawnSync(process.execPath, [script(), root], { encoding: 'utf8' })
      assert.match(other.stdout, /^data_locked/)
    })
  })

  test('in memory it is the same, and nothing touches the file system', async () => {
    const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
    const machine = machineOn(runtime, new MemoryDisk(runtime, 1024 * 1024))
    const before = await readdir('.')
    {
      await using data = await openDataDirectory(machine, { path: './.cairn-in-memory', secrets: SECRETS })
      await data.writeAdminToken('token-text')
      await refuses(machine, './.cairn-in-memory', 'data_locked', /Another cairn/)
    }
    assert.deepEqual(await readdir('.'), before)
    assert.deepEqual(leaks(runtime), [])
  })
})

describe('a data directory that several processes share', () => {
  const open = async (machine: Machine, part: string) =>
    await openDataDirectory(machine, { path: 'shared', secrets: SECRETS, parts: [part] })

  test('has one process for each part, and none for all of it meanwhile', async () => {
    const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
    const machine = machineOn(runtime, new MemoryDisk(runtime, 1024 * 1024))
    {
      const opened = await Promise.all(['storage', 'index', 'edge'].map(async (part) => await open(machine, part)))
      await assert.rejects(open(machine, 'index'), { code: 'data_locked' })
      await refuses(machine, 'shared', 'data_locked', /Another cairn/)
      for (const data of opened) await data.close()
    }
    await using whole = await openDataDirectory(machine, { path: 'shared', secrets: SECRETS })
    assert.equal(whole.isShared, false)
  })

  test('one changes a key at a time, and the others see it when they look', async () => {
    const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
    const machine = machineOn(runtime, new MemoryDisk(runtime, 1024 * 1024))
    await using one = await open(machine, 'storage')
    await using other = await open(machine, 'index')
    const add = async (data: typeof one): Promise<void> =>
      await data.exclusively(async () => {
        const before = Buffer.from(await data.latest('token-root')).toString('latin1')
        await data.replaceSecret('token-root', Buffer.from(`${before}+`, 'latin1'))
      })
    await Promise.all([add(one), add(other), add(one), add(other)])
    const after = Buffer.from(await one.latest('token-root')).toString('latin1')
    assert.equal(after.slice(32), '++++')
    assert.deepEqual(await other.latest('token-root'), await one.latest('token-root'))
  })
})

describe('the root key', () => {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const machine = { ...runtime, crypto: systemCrypto }

  test('is new each time unless it is given, and its kid follows from it', () => {
    const given = 'A1'.repeat(32)
    assert.deepEqual(makeRootKey(machine, given), makeRootKey(machine, given.toLowerCase()))
    assert.deepEqual([...makeRootKey(machine, given).key], [...Buffer.alloc(32, 0xa1)])
    const [one, two] = [makeRootKey(machine), makeRootKey(machine)]
    assert.notEqual(one.kid, two.kid)
    assert.match(one.kid, /^[0-9a-f]{16}$/)
    assert.equal(one.key.length, 32)
  })

  test('must be 64 hex digits', () => {
    for (const bad of ['', 'a1', 'g'.repeat(64), 'a'.repeat(65)]) {
      assert.throws(
        () => makeRootKey(machine, bad),
        (error) => isKind(error, 'Malformed') && error.message.includes('openssl rand -hex 32'),
      )
    }
  })
})

function machineOn(runtime: Runtime, disk: Disk): Machine {
  return { ...runtime, disk, crypto: systemCrypto }
}

async function onDisk(body: (machine: Machine, root: string) => Promise<void>): Promise<void> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const root = await mkdtemp(join(tmpdir(), 'cairn-data-'))
  try {
    await body(machineOn(runtime, new RealDisk(runtime)), root)
  } finally {
    await rm(root, { recursive: true })
  }
  assert.deepEqual(leaks(runtime), [])
}

async function refuses(machine: Machine, path: string, code: string, message: RegExp): Promise<void> {
  await assert.rejects(openDataDirectory(machine, { path, secrets: SECRETS }), (error: CairnError) => {
    assert.equal(error.code, code)
    assert.match(error.message, message)
    return true
  })
}

function script(): string {
  return new URL('./test/hold.ts', import.meta.url).pathname
}

function hold(path: string): ChildProcess {
  return spawn(process.execPath, [script(), path], { stdio: ['pipe', 'pipe', 'inherit'] })
}

function never(): never {
  assert.fail('This secret must not be made again.')
}
