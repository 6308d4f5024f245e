import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Deadline, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { openIsolated } from '../real-platform.ts'
import { identifyFile, QUERY_SQLITE, querySqlite } from './query-sqlite.ts'

async function withDatabase(run: (path: string, directory: string) => void | Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-sqlite-'))
  try {
    const path = join(directory, 'some.db')
    using database = new DatabaseSync(path)
    database.exec("CREATE TABLE t (n INTEGER, b BLOB); INSERT INTO t VALUES (1, x'0102'), (2, NULL), (3, NULL)")
    await run(path, directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

const query = { sql: 'SELECT n, b FROM t WHERE n >= ? ORDER BY n', parameters: [1], rowsMax: 2 }

test('rows come as values and bytes, as many as were asked for', async () => {
  await withDatabase(async (path, directory) => {
    const rows = querySqlite({ path, ...query })
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [
        { n: 1, b: Uint8Array.of(1, 2) },
        { n: 2, b: null },
      ],
    )
    assert.deepEqual(await readdir(directory), ['some.db'])
  })
})

test('nothing can be written', async () => {
  await withDatabase((path) => {
    assert.throws(() => querySqlite({ path, ...query, sql: 'DELETE FROM t WHERE n >= ? RETURNING n, b' }), {
      kind: 'Integrity',
    })
    assert.equal(querySqlite({ path, ...query, rowsMax: 9 }).length, 3)
  })
})

test('what is no database, and what is not there, is said', async () => {
  await withDatabase(async (path) => {
    await writeFile(`${path}.txt`, 'a text that is long enough to be taken for a page of something')
    assert.throws(() => querySqlite({ ...query, path: `${path}.txt` }), {
      kind: 'Integrity',
      message: /not a database/,
    })
    assert.throws(() => querySqlite({ ...query, path: `${path}.none` }), { kind: 'Integrity' })
  })
})

test('a query that does not end loses its process, and the next one gets another', async () => {
  await withDatabase(async (path) => {
    const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
    const isolated = openIsolated(runtime)
    const within = (ms: number) => ({ deadline: Deadline.after(runtime.clock, ms) })
    const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE random() = ?`
    await assert.rejects(isolated.run(QUERY_SQLITE, { path, ...query, sql: endless }, within(300)), { kind: 'Timeout' })
    assert.equal((await isolated.run(QUERY_SQLITE, { path, ...query }, within(30_000))).length, 2)
    await isolated.close()
    assert.deepEqual(leaks(runtime), [])
  })
})

test('a question about one file is not answered from another that took its name', async () => {
  await withDatabase(async (path, directory) => {
    const file = identifyFile(path)
    assert.equal(querySqlite({ path, ...query, file }).length, 2)
    await copyFile(path, join(directory, 'other.db'))
    await rename(join(directory, 'other.db'), path)
    assert.throws(() => querySqlite({ path, ...query, file }), { kind: 'StorageBusy' })
    assert.throws(() => identifyFile(join(directory, 'nothing')), { kind: 'NotFound' })
  })
})
