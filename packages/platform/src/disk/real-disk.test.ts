import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { isKind, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { replaceSmallFile } from './durable-file.ts'
import { RealDisk } from './real-disk.ts'

describe('RealDisk', () => {
  test('makes files and directories for their owner alone, unless told otherwise', async () => {
    await inDirectory(async (disk, root) => {
      await (await disk.open(`${root}/key`, { mode: 'create' })).close()
      await (await disk.open(`${root}/page`, { mode: 'create', permissions: 0o640 })).close()
      await disk.makeDirectory(`${root}/data`)
      assert.equal((await stat(`${root}/key`)).mode & 0o777, 0o600)
      assert.equal((await stat(`${root}/page`)).mode & 0o777, 0o640)
      assert.equal((await stat(`${root}/data`)).mode & 0o777, 0o700)
    })
  })

  test('calls what is neither file nor directory other', async () => {
    await inDirectory(async (disk, root) => {
      await symlink(`${root}/nowhere`, `${root}/link`)
      assert.deepEqual(await disk.list(root), [{ name: 'link', kind: 'other' }])
    })
  })

  test('says 507 no_space on a full disk, and then takes nothing more', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('this system has no /dev/full')
    await inDirectory(async (disk) => {
      await using file = await disk.open('/dev/full', { mode: 'append' })
      const full = (error: unknown): boolean =>
        isKind(error, 'StorageBusy') && error.code === 'no_space' && error.status === 507
      await assert.rejects(file.append([Buffer.from('x')]), full)
      await assert.rejects(file.append([Buffer.from('x')]), full)
      await assert.rejects(file.sync(), full)
    })
  })

  test('says short_write when a write stops in the middle, and then takes nothing more', async (t) => {
    if (process.platform === 'win32') return t.skip('needs a limit on the size of files')
    await inDirectory(async (_disk, root) => {
      // The limit holds for a whole process, so it is another one.
      const script = new URL('./test/short-write.ts', import.meta.url).pathname
      const limited = `ulimit -f 4; exec "$0" "$1" "$2"`
      const run = spawnSync('bash', ['-c', limited, process.execPath, script, `${root}/file`], { encoding: 'utf8' })
      assert.equal(run.stdout, 'short_write, then short_write\n', run.stderr)
    })
  })

  test('a lock is readable by this user only, whatever the umask says, and a lock file of an earlier version becomes so', async () => {
    await inDirectory(async (disk, root) => {
      const mask = process.umask(0o022)
      try {
        await (await disk.lock(`${root}/new.db`)).close()
        await writeFile(`${root}/old.db`, '', { mode: 0o644 })
        await (await disk.lock(`${root}/old.db`)).close()
      } finally {
        process.umask(mask)
      }
      for (const name of ['new.db', 'old.db']) assert.equal((await stat(`${root}/${name}`)).mode & 0o777, 0o600, name)
    })
  })

  test('replaces a small file as a whole, over whatever an earlier attempt left', async () => {
    await inDirectory(async (disk, root) => {
      await (await disk.open(`${root}/token.new`, { mode: 'create' })).close()
      await replaceSmallFile(disk, `${root}/token`, Buffer.from('one'))
      await replaceSmallFile(disk, `${root}/token`, Buffer.from('two'))
      assert.equal(await readFile(`${root}/token`, 'utf8'), 'two')
      assert.deepEqual(await disk.list(root), [{ name: 'token', kind: 'file' }])
    })
  })
})

async function inDirectory(body: (disk: RealDisk, root: string) => Promise<void>): Promise<void> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const root = await mkdtemp(join(tmpdir(), 'cairn-disk-'))
  try {
    await body(new RealDisk(runtime), root)
  } finally {
    await rm(root, { recursive: true })
  }
  assert.deepEqual(leaks(runtime), [])
}
