import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { leaks, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { LmdbKvOpener } from './lmdb-kv.ts'

describe('LmdbKv', () => {
  test('a commit the disk refuses poisons the store, leaves nothing visible and does not end the process', async (t) => {
    if (process.platform === 'win32') return t.skip('needs a limit on the size of files')
    await inDirectory((root) => {
      const script = new URL('./test/refused-commit.ts', import.meta.url).pathname
      const limited = `ulimit -f 2000; exec "$0" "$1" "$2"`
      const run = spawnSync('bash', ['-c', limited, process.execPath, script, `${root}/kv`], { encoding: 'utf8' })
      assert.equal(
        run.stdout,
        [
          'kv_poisoned: Input/output error',
          'kv_poisoned: Input/output error',
          'kv_poisoned: Input/output error',
          'kv_poisoned: Input/output error',
          'after reopening: 1',
          'and again kv_poisoned: Input/output error\n',
        ].join('\n'),
        run.stderr,
      )
      assert.equal(run.status, 0)
    })
  })

  test('outgrows the address space it was given', async () => {
    await inDirectory(async (root) => {
      const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
      {
        await using kv = await new LmdbKvOpener(runtime).open(`${root}/kv`, { mapBytes: 256 * 1024 })
        for (let round = 0; round < 4; round += 1) {
          await kv.commit([{ tag: 'put', key: Uint8Array.of(round), value: new Uint8Array(1024 * 1024).fill(round) }])
        }
        assert.equal(kv.get(Uint8Array.of(3))?.[1000], 3)
      }
      assert.deepEqual(leaks(runtime), [])
    })
  })

  test('the library is loaded with the first store, not with the package', () => {
    const probe = `await import(${JSON.stringify(new URL('../index.ts', import.meta.url).href)});
      process.stdout.write(String(process.report.getReport().sharedObjects.some((path) => path.includes('lmdb'))))`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', probe], { encoding: 'utf8' })
    assert.equal(run.stdout, 'false', run.stderr)
  })
})

async function inDirectory(body: (root: string) => void | Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'cairn-kv-'))
  try {
    await body(root)
  } finally {
    await rm(root, { recursive: true })
  }
}
