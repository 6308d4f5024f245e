/** Whatever a service answers, a get hands out the object's bytes or an error: never one byte that is not the object's. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import {
  type Address,
  chainingValue,
  createManifest,
  decodeManifest,
  encodeManifest,
  type Manifest,
  ManifestBuilder,
} from '@cairn/wire'
import fc from 'fast-check'
import { CHUNK, collectUntilError, noise } from './bytes.ts'
import { type Between, StorageService } from './storage-service.ts'

const RUNS = process.env['CAIRN_LONG'] === '1' ? 2000 : 150
const DIGEST = 32

let service: StorageService
const truth = new Map<number, { address: Address; bytes: Uint8Array }>()
const manifests = new Map<Address, Manifest>()
before(async () => {
  service = await StorageService.start()
  for (const size of [700, CHUNK, 2 * CHUNK, 4 * CHUNK, 37 * CHUNK + 11]) {
    const bytes = noise(size, size)
    truth.set(size, { address: (await service.client().put(bytes)).address, bytes })
    const builder = new ManifestBuilder()
    for (let at = 0; at < size; at += CHUNK) builder.add(bytes.subarray(at, at + CHUNK))
    const built = builder.finish()
    if (built.kind === 'chunked') manifests.set(built.id, built.manifest)
  }
})
after(async () => await service[Symbol.asyncDispose]())

/** Changes what the service answered. */
type Lie = (path: string, bytes: Uint8Array, at: number) => Uint8Array

const onlyManifest =
  (change: (manifest: Manifest, at: number) => Parameters<typeof createManifest>[0]): Lie =>
  (path, bytes, at) => {
    if (!path.startsWith('/m/')) return bytes
    const address = path.slice('/m/'.length) as Address
    const manifest = decodeManifest(bytes, address)
    const changed = change(manifest, at)
    // The id it claims stays, even where the parts no longer fold to it.
    try {
      return encodeManifest({ ...createManifest(changed), id: address })
    } catch {
      return encodeManifest({ ...manifest, ...changed, id: address })
    }
  }

const LIES: Readonly<Record<string, Lie>> = {
  'a bit of anything is flipped': (_path, bytes, at) => {
    const changed = bytes.slice()
    if (bytes.length > 0) changed[at % bytes.length]! ^= 1 << (at % 8)
    return changed
  },
  'a bit of the bytes is flipped': (path, bytes, at) => {
    if (!path.startsWith('/o/')) return bytes
    const changed = bytes.slice()
    changed[at % bytes.length]! ^= 128
    return changed
  },
  'two chunks are swapped': (path, bytes) => {
    if (!path.startsWith('/o/') || bytes.length < 2 * CHUNK) return bytes
    return new Uint8Array(
      Buffer.concat([bytes.subarray(CHUNK, 2 * CHUNK), bytes.subarray(0, CHUNK), bytes.subarray(2 * CHUNK)]),
    )
  },
  'the answer ends early': (_path, bytes, at) => bytes.slice(0, at % (bytes.length + 1)),
  'the answer is too long': (_path, bytes) => new Uint8Array(Buffer.concat([bytes, bytes])),
  'the manifest has swapped ids': onlyManifest((manifest) => {
    const { chunkIds } = manifest
    const rest = chunkIds.subarray(2 * DIGEST)
    const swapped = [chunkIds.subarray(DIGEST, 2 * DIGEST), chunkIds.subarray(0, DIGEST), rest]
    return { ...manifest, chunkIds: new Uint8Array(Buffer.concat(swapped)) }
  }),
  'the manifest has swapped chaining values': onlyManifest((manifest) => {
    const { chainingValues: values } = manifest
    const swapped = [values.subarray(DIGEST, 2 * DIGEST), values.subarray(0, DIGEST), values.subarray(2 * DIGEST)]
    return { ...manifest, chainingValues: new Uint8Array(Buffer.concat(swapped)) }
  }),
  'the manifest has another size': onlyManifest((manifest, at) => {
    const lastBytes = ((manifest.size - 1) % CHUNK) + 1
    return { ...manifest, size: manifest.size - lastBytes + 1 + (at % CHUNK) }
  }),
  'the manifest has another chunk size': onlyManifest((manifest) => ({ ...manifest, chunkSize: 2 * CHUNK })),
  'the manifest is another object’s': (path, bytes) => {
    if (!path.startsWith('/m/')) return bytes
    const other = truth.get(37 * CHUNK + 11)!
    return other.address === path.slice(3) ? bytes.slice(1) : encodeManifest(manifests.get(other.address)!)
  },
}

/** Applies the lie to every answer of the kind it is about. */
function telling(lie: Lie, at: number, breaks: boolean): Between {
  return async (url, _init, pass) => {
    const response = await pass()
    if (!response.ok) return response
    const bytes = new Uint8Array(await response.arrayBuffer())
    const changed = lie(url.pathname, bytes, at)
    const { status } = response
    if (!breaks || changed.length >= bytes.length) return new Response(changed as Uint8Array<ArrayBuffer>, { status })
    return new Response(broken(changed), { status })
  }
}

/** These bytes, then a reset. */
function broken(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let isSent = false
  return new ReadableStream({
    pull: (controller) => {
      if (isSent) controller.error(new TypeError('terminated'))
      else if (bytes.length > 0) controller.enqueue(bytes)
      isSent = true
    },
  })
}

for (const [name, lie] of Object.entries(LIES)) {
  test(`not one wrong byte when ${name}`, async () => {
    let caught = 0
    const lies = fc.record({ size: fc.constantFrom(...truth.keys()), at: fc.nat(3_000_000), breaks: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(lies, async ({ size, at, breaks }) => {
        const { address, bytes } = truth.get(size)!
        service.between = telling(lie, at, breaks)
        const got = await collectUntilError(service.client().get(address))
        assert.deepEqual(got.bytes, bytes.slice(0, got.bytes.length))
        if (got.error === undefined) assert.equal(got.bytes.length, bytes.length)
        else {
          assert.ok(got.error instanceof CairnError && got.error.kind !== 'Canceled')
          caught += 1
        }
      }),
      { numRuns: Math.ceil(RUNS / Object.keys(LIES).length) },
    )
    // What a manifest names its chunks by is of no use to a get by range; too many bytes are not looked at.
    const isHarmless = ['the manifest has swapped ids', 'the answer is too long'].includes(name)
    assert.ok(isHarmless || caught > 0, 'the lie was never noticed')
  })
}

test('inner nodes of the true tree, passed off as the manifest of a shorter object, are noticed', async () => {
  const { address, bytes } = truth.get(4 * CHUNK)!
  const real = manifests.get(address)!
  const pair = (from: number): Uint8Array =>
    chainingValue(bytes.subarray(from * CHUNK, (from + 2) * CHUNK), (from * CHUNK) / 1024)
  const chainingValues = new Uint8Array(Buffer.concat([pair(0), pair(2)]))
  const forged = createManifest({
    size: 2 * CHUNK,
    chunkSize: CHUNK,
    chunkIds: real.chunkIds.subarray(0, 2 * DIGEST),
    chainingValues,
  })
  assert.equal(forged.id, address, 'it folds to the same address')
  service.between = async (url, _init, pass) =>
    url.pathname.startsWith('/m/') ? new Response(encodeManifest(forged) as Uint8Array<ArrayBuffer>) : await pass()
  const whole = await collectUntilError(service.client().get(address))
  assert.deepEqual([whole.bytes.length, (whole.error as CairnError).kind], [0, 'Integrity'])
  const part = await collectUntilError(service.client().get(address, { range: { first: CHUNK, last: 3 * CHUNK } }))
  assert.deepEqual([part.bytes.length, (part.error as CairnError).kind], [0, 'Integrity'])
})

test('a large object said to be a single chunk is refused', async () => {
  const { address } = truth.get(37 * CHUNK + 11)!
  service.between = async (url, _init, pass) => {
    if (!url.pathname.startsWith('/m/')) return await pass()
    const headers = { 'content-type': 'application/problem+json' }
    return new Response('{"code":"single_chunk","detail":"One chunk."}', { status: 404, headers })
  }
  const got = await collectUntilError(service.client().get(address))
  assert.equal(got.bytes.length, 0)
  assert.ok(got.error instanceof CairnError)
})
