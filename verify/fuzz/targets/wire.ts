/** The formats everything else is made of. */
import assert from 'node:assert/strict'
import {
  addressFromCid,
  addressOf,
  canonicalJson,
  chunkLength,
  cidFromAddress,
  decodeCbor,
  decodeManifest,
  decodeTree,
  encodeCbor,
  encodeManifest,
  encodeTree,
  ManifestBuilder,
  parseAddress,
  parseByteSize,
  parseDuration,
  parseIp,
  parseIpBlock,
  parseJson,
  verifyChunk,
} from '@cairn/wire'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf, textOf } from '../inputs.ts'
import { CBOR_SHAPE, JSON_SHAPE } from './shapes.ts'

const SAMPLE = addressOf(bytesOf('a sample'))

const address: FuzzTarget = {
  name: 'address',
  covers: ['packages/wire/src/address.ts', 'packages/wire/src/ip.ts', 'packages/wire/src/quantities.ts'],
  seeds: [SAMPLE, cidFromAddress(SAMPLE), '::ffff:10.0.0.1/96', '192.0.2.7', '64KiB', '1500ms'].map(bytesOf),
  words: ['b3:', 'b', 'z', '::', '/', '.', '0x', 'KiB', 'ms', 'F'],
  bytesMax: 200,
  run: (input) => {
    const text = textOf(input)
    const block = parseIpBlock(text)
    if (block !== undefined) assert.ok(parseIp(text.split('/')[0] ?? '') !== undefined)
    for (const read of [parseAddress, addressFromCid, parseByteSize, parseDuration] as const) attempt(() => read(text))
    const parsed = attempt(() => parseAddress(text))
    if (parsed !== undefined) assert.equal(addressFromCid(cidFromAddress(parsed)), parsed)
  },
}

const CHUNK = 16 * 1024
const OBJECT = new Uint8Array(2 * CHUNK + 5).fill(7)
const BUILDER = new ManifestBuilder(CHUNK)
for (let at = 0; at < OBJECT.length; at += CHUNK) BUILDER.add(OBJECT.subarray(at, at + CHUNK))
const BUILT = BUILDER.finish()
assert.ok(BUILT.kind === 'chunked')
const MANIFEST = encodeManifest(BUILT.manifest)

const manifest: FuzzTarget = {
  name: 'manifest',
  covers: ['packages/wire/src/manifest.ts', 'packages/wire/src/manifest.ts', 'packages/wire/src/cbor.ts'],
  seeds: [MANIFEST],
  words: ['v', 'id', 'size', 'chunk_size', 'chunks', 'cvs', '\u0000'],
  bytesMax: 2000,
  shape: CBOR_SHAPE,
  run: (input) => {
    const read = decodeManifest(input, addressOf(OBJECT))
    assert.deepEqual(encodeManifest(read), input)
    const lengths = Array.from({ length: read.chunkCount }, (_, at) => chunkLength(read, at))
    assert.equal(
      lengths.reduce((sum, length) => sum + length, 0),
      read.size,
    )
    const [first = 0] = lengths
    // Whatever it says the first chunk is, no other bytes are taken for it.
    attempt(() => verifyChunk(read, 0, OBJECT.subarray(0, first)))
    assert.throws(() => verifyChunk(read, 0, new Uint8Array(first)), /chunk/i)
  },
}

const TREE = encodeTree([
  { name: 'a', kind: 'file', id: SAMPLE, size: 3, type: 'text/html' },
  { name: 'b', kind: 'tree', id: SAMPLE, size: 9 },
])

const tree: FuzzTarget = {
  name: 'tree',
  covers: ['packages/wire/src/tree.ts', 'packages/wire/src/cbor.ts'],
  seeds: [TREE, encodeTree([])],
  words: ['name', 'kind', 'file', 'tree', 'id', 'size', 'type', 'entries', '..', '/', '\u0000'],
  bytesMax: 1000,
  shape: CBOR_SHAPE,
  run: (input) => {
    assert.deepEqual(encodeTree(decodeTree(input)), input)
  },
}

const cbor: FuzzTarget = {
  name: 'cbor',
  covers: ['packages/wire/src/cbor.ts', 'node_modules/cborg/', 'node_modules/@ipld/dag-cbor/'],
  seeds: [
    encodeCbor({ a: [1, -2, 'text', null, true, 1.5], b: new Uint8Array(3) }),
    MANIFEST,
    TREE,
    new Uint8Array(70).fill(0x81),
  ],
  words: ['\u0000', 'a'],
  bytesMax: 2000,
  shape: CBOR_SHAPE,
  run: (input) => {
    assert.deepEqual(encodeCbor(decodeCbor(input)), input)
  },
}

const json: FuzzTarget = {
  name: 'json',
  covers: ['packages/wire/src/json.ts', 'node_modules/canonicalize/'],
  seeds: [bytesOf('{"a":[1,-2,"\\u00e9\\n",null,true],"b":{"c":9007199254740991}}'), bytesOf('[]')],
  words: ['"__proto__":', '\\ud800', '1e9', '-0', '{"a":1,"a":2}', '9007199254740992', ',', ':', '['.repeat(70)],
  bytesMax: 2000,
  shape: JSON_SHAPE,
  run: (input) => {
    const value = parseJson(input)
    const canonical = canonicalJson(value)
    assert.deepEqual(parseJson(canonical), value)
    assert.deepEqual(canonicalJson(parseJson(canonical)), canonical)
  },
}

export const TARGETS: readonly FuzzTarget[] = [address, manifest, tree, cbor, json]
