/** Large directories of sites: read once, on another thread, within a bound, and looked up without being decoded. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import type { Workers } from '@cairn/platform'
import type { Address } from '@cairn/wire'
import type { Answer } from '../../../verify/virtual/answer.ts'
import { FakeStorage, fakeIndex } from './fakes.ts'
import { isProblem, LIVE, TestEdge } from './harness.ts'

const fileNames = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `file-${at}.txt`)

function tree(storage: FakeStorage, names: readonly string[]): Address {
  return storage.tree(Object.fromEntries(names.map((name) => [name, `in ${name}`])))
}

interface Scene {
  readonly edge: TestEdge
  readonly storage: FakeStorage
  /** Bytes of what was handed to threads. */
  readonly indexed: number[]
  /** Reads of whole objects. */
  readonly gets: { count: number }
}

async function start(count: number, config = {}, refuse?: CairnError): Promise<Scene> {
  const storage = new FakeStorage()
  const names = { big: tree(storage, fileNames(count)) }
  const gets = { count: 0 }
  const client = storage.client()
  const counting: typeof client = {
    ...client,
    get: async (id, bytesMax, context) => {
      gets.count += 1
      return await client.get(id, bytesMax, context)
    },
  }
  const indexed: number[] = []
  const edge = await TestEdge.start({
    config: { ...LIVE, ...config },
    storage: counting,
    index: fakeIndex({ names }),
    wrap: (platform) => ({ ...platform, workers: watched(platform.workers, indexed, refuse) }),
  })
  return { edge, storage, indexed, gets }
}

function watched(workers: Workers, indexed: number[], refuse: CairnError | undefined): Workers {
  return {
    run: async (task, input, options) => {
      if (task.name !== 'indexDirectory') return await workers.run(task, input, options)
      if (input instanceof Uint8Array) indexed.push(input.length)
      if (refuse !== undefined) throw refuse
      return await workers.run(task, input, options)
    },
    close: async () => await workers.close(),
  }
}

const page = (name: string): string => `/edge/assets/n/big/${name}`

describe('a large directory', () => {
  test('is indexed on a worker thread, once, and every file in it is found', async () => {
    const { edge, indexed, gets } = await start(2000)
    for (const at of [0, 1, 999, 1000, 1999])
      assert.equal((await edge.get(page(`file-${at}.txt`))).body.toString(), `in file-${at}.txt`)
    isProblem(await edge.get(page('file-2000.txt')), 404, 'not_found')
    assert.equal(indexed.length, 1)
    assert.equal(gets.count, 1)
    await edge.stop()
  })

  test('is never decoded on the event loop: without a thread there is no answer', async () => {
    const refuse = new CairnError('Busy', 'Every thread has work.', { retryAfterMs: 1000 })
    const { edge, indexed } = await start(200, {}, refuse)
    isProblem(await edge.get(page('file-1.txt')), 429, 'rate_limit')
    assert.equal(indexed.length, 1)
    await edge.stop()
  })

  test('is read once for all who ask for it at the same time; one that leaves ends nothing for the others', async () => {
    const { edge, indexed, gets } = await start(2000)
    const leaving = new AbortController()
    const first = edge.send('GET', page('file-0.txt'), { signal: leaving.signal })
    const others = Array.from({ length: 20 }, async (_, at) => await edge.send('GET', page(`file-${at}.txt`)))
    leaving.abort()
    const [gone, ...answers] = await edge.world.run(Promise.all<Answer>([first, ...others]))
    assert.equal(gone?.status, 499)
    assert.ok(answers.every(({ status }) => status === 200))
    assert.deepEqual([indexed.length, gets.count], [1, 1])
    await edge.stop()
  })

  test('ends with the last who waits for it', async () => {
    const { edge, gets } = await start(2000)
    const leaving = new AbortController()
    const first = edge.send('GET', page('file-0.txt'), { signal: leaving.signal })
    leaving.abort()
    assert.equal((await edge.world.run(first)).status, 499)
    assert.equal((await edge.get(page('file-1.txt'))).status, 200)
    assert.equal(gets.count, 2)
    await edge.stop()
  })

  test('past max_directory_bytes is 422 directory_too_large, and is not indexed', async () => {
    const { edge, indexed } = await start(2000, { max_directory_bytes: '64KiB' })
    const answer = await edge.get(page('file-1.txt'))
    isProblem(answer, 422, 'directory_too_large')
    assert.match(String(answer.fields()['detail']), /more than 65536 bytes; split it/)
    assert.equal(indexed.length, 0)
    await edge.stop()
  })
})

test('a small directory costs no thread', async () => {
  const { edge, indexed } = await start(20)
  assert.equal((await edge.get(page('file-1.txt'))).status, 200)
  assert.equal(indexed.length, 0)
  await edge.stop()
})
