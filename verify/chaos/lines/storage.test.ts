/** Storage, §10: kill/respawn a worker during stream → stream resumes or fails cleanly; `/readyz` semantics correct during drain. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { Cairn } from '../../../sdk/src/index.ts'
import { STORAGE_METRICS } from '../../../services/storage/src/metrics.ts'
import { ChaosProxy } from '../proxy.ts'
import { ask, eventually, fieldsOf, RealPlace, tokenOf } from './real-place.ts'
import { BYTES, ID, type RealStorage, startStorage, stock } from './real-storage.ts'

/** The answer to a read, its body not yet asked for. */
async function begin(url: URL): Promise<IncomingMessage> {
  const [response] = (await once(httpGet(new URL(`/o/${ID}`, url), { agent: false }), 'response')) as [IncomingMessage]
  return response
}

/** Once nobody has asked a worker for anything for some time: sockets and windows are full. */
async function untilHeldUp({ parts }: RealStorage): Promise<void> {
  let idleLooks = 0
  const received = (): number => parts.work.queue.facts().received
  let before = -1
  await eventually(
    () => {
      idleLooks = received() === before ? idleLooks + 1 : 0
      before = received()
      return idleLooks
    },
    (looks) => looks >= 10,
  )
}

/** Kills the workers while one of them is in the middle of its next read of this kind. */
function killInside({ parts, workers }: RealStorage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const read = parts.work.read.bind(parts.work)
  const killing: typeof read = async (item, bounds) => {
    Object.assign(parts.work, { read })
    return await read(async () => {
      workers.kill()
      resolve()
      return await item()
    }, bounds)
  }
  Object.assign(parts.work, { read: killing })
  return promise
}

test('storage: workers killed and respawned while a stream waits for its reader: it goes on to its last byte', async () => {
  await using place = await RealPlace.open(STORAGE_METRICS)
  const storage = await startStorage(place)
  await stock(storage)
  await using proxy = await ChaosProxy.open(Number(storage.url.port))
  const response = await begin(proxy.url)
  proxy.weather = { tag: 'stall' }
  await untilHeldUp(storage)
  storage.workers.kill()
  await eventually(
    () => place.metrics.value('service_restarts_total', { kind: 'get-worker' }),
    (restarts) => restarts > 0,
  )
  proxy.weather = { tag: 'fair' }
  assert.ok((await buffer(response)).equals(BYTES))
})

test('storage: a worker killed in the middle of a read breaks the stream off, never short and whole; the next one serves', async () => {
  await using place = await RealPlace.open(STORAGE_METRICS)
  const storage = await startStorage(place)
  await stock(storage)
  const response = await begin(storage.url)
  const killed = killInside(storage)
  const reading = buffer(response)
  await assert.rejects(reading, { code: 'ECONNRESET' })
  await killed
  // What was in line behind it may be canceled with it; then it says when to come again.
  const again = await eventually(
    async () => await ask(new URL(`/o/${ID}`, storage.url)),
    ({ status }) => status === 200,
  )
  assert.ok(again.body.equals(BYTES))
  assert.ok(place.metrics.value('tasks_panicked_total', { kind: 'get-worker' }) > 0)
})

test('storage: the library over a connection that is torn, with a worker killed under it, still has every byte', async () => {
  await using place = await RealPlace.open(STORAGE_METRICS)
  const storage = await startStorage(place)
  await stock(storage)
  await using proxy = await ChaosProxy.open(Number(storage.url.port))
  const cairn = new Cairn({ storageUrl: proxy.url, token: tokenOf('storage') })
  const killed = killInside(storage)
  const pieces: Uint8Array[] = []
  let length = 0
  let tears = 0
  for await (const piece of cairn.get(ID)) {
    pieces.push(piece.slice())
    length += piece.length
    if (length < (tears + 1) * 4 * 1024 * 1024 || tears === 3) continue
    tears += 1
    proxy.weather = { tag: 'reset' }
    proxy.weather = { tag: 'fair' }
  }
  await killed
  assert.equal(tears, 3)
  assert.ok(Buffer.concat(pieces).equals(BYTES))
})

test('storage: during a drain /readyz says no at once, /healthz yes; what is being read is finished, what comes is sent away', async () => {
  await using place = await RealPlace.open(STORAGE_METRICS)
  const storage = await startStorage(place)
  await stock(storage)
  const at = (path: string): URL => new URL(path, storage.url)
  const response = await begin(storage.url)
  const stopping = storage.stop()
  const ready = await ask(at('/readyz'))
  assert.deepEqual([ready.status, fieldsOf(ready)['ready']], [503, false])
  assert.equal((await ask(at('/healthz'))).status, 200)
  const late = await ask(at(`/o/${ID}`))
  assert.deepEqual([late.status, fieldsOf(late)['code'], late.headers.connection], [503, 'draining', 'close'])
  assert.ok((await buffer(response)).equals(BYTES))
  assert.deepEqual(await stopping, { aborted: [], abandoned: [] })
  await assert.rejects(ask(at('/healthz')), { code: 'ECONNREFUSED' })
})
