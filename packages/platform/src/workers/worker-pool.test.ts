import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError, Deadline, type ErrorKind, isKind, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import type * as tasks from './test/tasks.ts'
import { RealThread } from './threads.ts'
import { type WorkerOptions, WorkerPool, type WorkerTask } from './worker-pool.ts'

type Tasks = typeof tasks

function task<Name extends keyof Tasks>(
  name: Name,
): WorkerTask<Parameters<Tasks[Name]>[0], Awaited<ReturnType<Tasks[Name]>>> {
  return { module: new URL('./test/tasks.ts', import.meta.url), name }
}

interface Shape {
  readonly threads?: number
  readonly queueCapacity?: number
}

async function withPool(
  { threads = 1, queueCapacity = 8 }: Shape,
  body: (pool: WorkerPool, soon: (ms?: number) => WorkerOptions) => Promise<void>,
): Promise<void> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const pool = new WorkerPool(runtime, { name: 'workers', threads, queueCapacity, makeThread: () => new RealThread() })
  try {
    await body(pool, (ms = 20_000) => ({ deadline: Deadline.after(runtime.clock, ms) }))
  } finally {
    await pool.close()
  }
  await pool.close()
  assert.deepEqual(leaks(runtime), [])
}

function of(kind: ErrorKind, code?: string): (error: unknown) => boolean {
  return (error) => isKind(error, kind) && (code === undefined || error.code === code)
}

describe('WorkerPool', () => {
  test('runs functions, plain and asynchronous, and gives back what they return', async () => {
    await withPool({}, async (pool, soon) => {
      assert.equal(await pool.run(task('square'), 12, soon()), 144)
      assert.equal(await pool.run(task('squareLater'), 12, soon()), 144)
    })
  })

  test('moves the buffers it is told to move and copies the others', async () => {
    await withPool({}, async (pool, soon) => {
      const moved = new Uint8Array(16)
      const filled = await pool.run(task('fill'), moved, { ...soon(), transfer: [moved.buffer] })
      assert.deepEqual([...filled], new Array(16).fill(7))
      assert.equal(moved.byteLength, 0, 'moved away')
      const copied = new Uint8Array(16)
      await pool.run(task('fill'), copied, soon())
      assert.deepEqual([...copied], new Array(16).fill(0))
    })
  })

  test('throws what the task throws: an error of ours as it is, any other as a defect', async () => {
    await withPool({}, async (pool, soon) => {
      await assert.rejects(pool.run(task('refuse'), 'no', soon()), (error: unknown) => {
        assert.ok(error instanceof CairnError)
        assert.deepEqual([error.kind, error.message, error.code, error.retryAfterMs], ['Malformed', 'no', 'refused', 5])
        return true
      })
      await assert.rejects(pool.run(task('blunder'), undefined, soon()), of('Internal'))
      await assert.rejects(pool.run(task('uncloneable'), undefined, soon()), of('Internal'))
      const missing = { module: task('square').module, name: 'missing' }
      await assert.rejects(pool.run(missing, undefined, soon()), of('Internal'))
      assert.equal(await pool.run(task('square'), 2, soon()), 4, 'the thread goes on')
    })
  })

  test('jobs one after the other are one thread’s, wherever there is room for more', async () => {
    await withPool({ threads: 2 }, async (pool, soon) => {
      const first = await pool.run(task('whichThread'), undefined, soon())
      assert.equal(await pool.run(task('whichThread'), undefined, soon()), first)
    })
  })

  test('takes the thread from a job that is past its deadline, and puts another in its place', async () => {
    await withPool({}, async (pool, soon) => {
      const first = await pool.run(task('whichThread'), undefined, soon())
      await assert.rejects(pool.run(task('spin'), undefined, soon(50)), of('Timeout'))
      assert.notEqual(await pool.run(task('whichThread'), undefined, soon()), first)
    })
  })

  test('takes the thread from a job whose caller left', async () => {
    await withPool({}, async (pool, soon) => {
      const caller = new AbortController()
      const spinning = pool.run(task('spin'), undefined, { ...soon(), signal: caller.signal })
      caller.abort()
      await assert.rejects(spinning, of('Canceled'))
      assert.equal(await pool.run(task('square'), 3, soon()), 9)
    })
  })

  test('a thread that crashes fails its own job and no other', async () => {
    await withPool({ threads: 1 }, async (pool, soon) => {
      const results = await Promise.allSettled([
        pool.run(task('square'), 2, soon()),
        pool.run(task('crash'), undefined, soon()),
        pool.run(task('square'), 3, soon()),
      ])
      const [before, crashed, after] = results
      assert.equal(before.status === 'fulfilled' && before.value, 4)
      assert.ok(crashed.status === 'rejected' && of('Internal', 'worker_crashed')(crashed.reason))
      assert.equal(after.status === 'fulfilled' && after.value, 9)
    })
  })

  test('is Busy at once when the queue is full, and begins nothing whose time is over', async () => {
    await withPool({ queueCapacity: 1 }, async (pool, soon) => {
      const spinning = assert.rejects(pool.run(task('spin'), undefined, soon(300)), of('Timeout'))
      const waiting = assert.rejects(pool.run(task('crash'), undefined, soon(100)), of('Timeout'))
      await assert.rejects(pool.run(task('square'), 2, soon()), of('Busy'))
      await Promise.all([spinning, waiting])
    })
  })

  test('closing cancels what runs and what waits, and refuses what comes', async () => {
    await withPool({ threads: 1 }, async (pool, soon) => {
      const running = assert.rejects(pool.run(task('spin'), undefined, soon()), of('Canceled'))
      const waiting = assert.rejects(pool.run(task('square'), 2, soon()), of('Canceled'))
      await pool.close()
      await Promise.all([running, waiting])
      await assert.rejects(pool.run(task('square'), 2, soon()), of('Canceled'))
    })
  })
})
