/** Transfers that are cut off, and taken up again. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isKind } from '@cairn/kernel'
import fc from 'fast-check'
import { CHUNK, collect, noise } from './bytes.ts'
import { StorageService } from './storage-service.ts'

const RUNS = process.env['CAIRN_LONG'] === '1' ? 500 : 10

let service: StorageService
before(async () => {
  service = await StorageService.start()
})
after(async () => await service[Symbol.asyncDispose]())

let seed = 0

test('a put cut off anywhere and repeated sends only what is missing', async () => {
  const cuts = fc.record({
    chunks: fc.integer({ min: 2, max: 200 }),
    cut: fc.nat(12),
    how: fc.constantFrom('abort', 'down'),
  })
  await fc.assert(
    fc.asyncProperty(cuts, async ({ chunks, cut, how }) => {
      seed += 1
      const bytes = noise(chunks * CHUNK - 5, seed)
      const controller = new AbortController()
      let stored = 0
      let requests = 0
      service.between = async (url, init, pass) => {
        requests += 1
        if (requests > cut) {
          if (how === 'down') throw new TypeError('fetch failed')
          controller.abort()
        }
        const response = await pass()
        if (url.pathname === '/c' && response.ok) stored += framedBytes(init.body as Uint8Array)
        return response
      }
      service.takeSentBytes()
      const outcome = await service
        .client()
        .put(bytes, { signal: controller.signal })
        .catch((error: unknown) => error)
      const isCut = outcome instanceof Error
      assert.ok(!isCut || isKind(outcome, 'Canceled') || isKind(outcome, 'Timeout'), String(outcome))

      service.between = async (_url, _init, pass) => await pass()
      service.takeSentBytes()
      const { address, newBytes } = await service.client().put(bytes)
      const sent = service.seen.filter(({ path }) => path === '/c').length
      assert.ok(newBytes <= bytes.length - stored, `${newBytes} sent, ${stored} of ${bytes.length} were there`)
      assert.ok(service.takeSentBytes() - newBytes <= 4 * 64 * sent, 'nothing but missing chunks and their lengths')
      if (!isCut) assert.equal(newBytes, 0)
      assert.equal(Buffer.compare(await collect(service.client().get(address)), bytes), 0)
    }),
    { numRuns: RUNS },
  )
})

test('a get goes on over connections that break, and fetches no proved chunk twice', async () => {
  const bytes = noise(40 * CHUNK + 1, 9999)
  const { address } = await service.client().put(bytes)
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.integer({ min: 1, max: 2_000_000 })), async (lengths) => {
      let handed = 0
      service.between = async (url, _init, pass) => {
        const response = await pass()
        if (!url.pathname.startsWith('/o/')) return response
        const whole = new Uint8Array(await response.arrayBuffer())
        const length = Number(lengths.next().value)
        handed += Math.min(length, whole.length)
        const { status } = response
        if (length >= whole.length) return new Response(whole, { status })
        return new Response(thenBroken(whole.subarray(0, length)), { status })
      }
      const got = await collect(service.client().get(address)).catch((error: unknown) => error)
      if (got instanceof Uint8Array) {
        assert.equal(Buffer.compare(got, bytes), 0)
        // For each break at most the chunk that was under way.
        assert.ok(handed < bytes.length + service.seen.length * CHUNK)
      } else assert.ok(isKind(got, 'Timeout'), String(got))
    }),
    { numRuns: RUNS },
  )
})

function framedBytes(body: Uint8Array): number {
  const view = new DataView(body.buffer, body.byteOffset)
  let sum = 0
  for (let at = 0; at < body.length; at += 4 + view.getUint32(at)) sum += view.getUint32(at)
  return sum
}

function thenBroken(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let isSent = false
  return new ReadableStream({
    pull: (controller) => {
      if (isSent) controller.error(new TypeError('terminated'))
      else controller.enqueue(bytes)
      isSent = true
    },
  })
}
