/** The client that services use, against the real service; it is here because this is where that service can be run. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CallContext, Caller, type StorageClient, storageClient } from '@cairn/clients'
import { Breakers, Deadline } from '@cairn/kernel'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import { InProcessTransport } from '@cairn/transport'
import { addressOf, chunkAddress, ManifestBuilder, type Scope } from '@cairn/wire'
import { CHUNK, noise } from './bytes.ts'
import { StorageService } from './storage-service.ts'

const SCOPES: readonly Scope[] = ['storage:write', 'storage:delete', 'storage:hold']

let service: StorageService
let breakers: Breakers
let transport: Transport
before(async () => {
  service = await StorageService.start()
  breakers = new Breakers(service.clientRuntime)
  transport = new InProcessTransport(service.ingress)
})
after(async () => {
  breakers.close()
  await transport.close()
  await service[Symbol.asyncDispose]()
})

const context = (): CallContext => ({ deadline: Deadline.after(service.clientRuntime.clock, 10_000) })

function client(through: Transport = transport): StorageClient {
  const grant = { scopes: SCOPES, bearer: async () => service.bearer(SCOPES) }
  const base = new URL('http://localhost/')
  const runtime = service.clientRuntime
  return storageClient(new Caller({ runtime, transport: through, base, target: 'storage', breakers, grant }))
}

test('an object is put, got, held, released and removed', async () => {
  const storage = client()
  const bytes = noise(1000)
  const address = addressOf(bytes)
  assert.deepEqual(await storage.put(bytes, 'text/plain', context()), { address, size: 1000, isNew: true })
  assert.equal((await storage.put(bytes, 'text/plain', context())).isNew, false)
  assert.deepEqual(await storage.get(address, 1000, context()), bytes)
  await assert.rejects(storage.get(address, 999, context()), { kind: 'TooLarge' })
  assert.equal(await storage.manifest(address, context()), undefined)
  await storage.hold('mailbox', address, context())
  await assert.rejects(storage.remove(address, context()), { kind: 'Conflict', code: 'referenced' })
  await storage.release('mailbox', address, context())
  await storage.remove(address, context())
  await assert.rejects(storage.get(address, 1000, context()), { kind: 'NotFound' })
})

test('an object is put and held in one step', async () => {
  const storage = client()
  const bytes = noise(1000, 7)
  await assert.rejects(storage.putHeld('no owner', bytes, 'text/plain', context()), { kind: 'Malformed' })
  assert.equal((await storage.putHeld('interop', bytes, 'text/plain', context())).isNew, true)
  await assert.rejects(storage.remove(addressOf(bytes), context()), { code: 'referenced' })
  await storage.release('interop', addressOf(bytes), context())
  await storage.remove(addressOf(bytes), context())
})

test('chunks are asked for, sent and committed', async () => {
  const storage = client()
  const bytes = noise(3 * CHUNK + 1, 2)
  const builder = new ManifestBuilder()
  const chunks = [0, 1, 2, 3].map((index) => bytes.subarray(index * CHUNK, (index + 1) * CHUNK))
  const ids = chunks.map((chunk) => builder.add(chunk))
  const built = builder.finish()
  assert.ok(built.kind === 'chunked')
  const { manifest } = built
  assert.deepEqual(await storage.missing(ids, 'up', context()), ids)
  await storage.putChunk(ids[1]!, chunks[1]!, 'up', context())
  assert.deepEqual(await storage.missing(ids, 'up', context()), ids.toSpliced(1, 1))
  await assert.rejects(storage.commit(manifest, 'text/plain', 'up', context()), { code: 'missing_chunks' })
  for (const index of [0, 2, 3]) await storage.putChunk(ids[index]!, chunks[index]!, 'up', context())
  await storage.commit(manifest, 'text/plain', 'up', context())
  assert.deepEqual(await storage.manifest(manifest.id, context()), manifest)
  assert.deepEqual(await storage.chunk(chunkAddress(manifest, 3), context()), chunks[3])
  assert.deepEqual(await storage.get(manifest.id, bytes.length, context()), bytes)
})

test('bytes that are not the address’s are refused, whoever sends them', async () => {
  const { address } = await client().put(noise(5000, 3), 'text/plain', context())
  const liar: Transport = {
    request: async (request: OutgoingRequest): Promise<IncomingResponse> => {
      const response = await transport.request(request)
      async function* flipped(): AsyncGenerator<Uint8Array> {
        for await (const piece of response.body) yield piece.map((byte) => byte ^ 1)
      }
      return { ...response, body: Object.assign(flipped(), { cancel: () => response.body.cancel() }) }
    },
    close: async () => undefined,
  }
  await assert.rejects(client(liar).get(address, 5000, context()), { kind: 'Integrity' })
  await assert.rejects(client(liar).chunk(address, context()), { kind: 'Integrity' })
})
