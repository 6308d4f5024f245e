/** The formats everything else is made of. */
import assert from 'node:assert/strict'
import {
  addressFromCid,
  addressOf,
  authenticate,
  canonicalJson,
  cidFromAddress,
  createKeyring,
  decodeCbor,
  decodeManifest,
  decodeTree,
  encodeCbor,
  encodeManifest,
  encodeTree,
  ManifestBuilder,
  mintToken,
  parseAddress,
  parseByteSize,
  parseDuration,
  parseIp,
  parseIpBlock,
  parseJson,
  readBundle,
} from '@cairn/wire'
import type { FuzzTarget } from '../fuzzer.ts'
import { attempt, bytesOf, textOf } from '../inputs.ts'

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
  covers: ['packages/wire/src/manifest-codec.ts', 'packages/wire/src/manifest.ts', 'packages/wire/src/cbor.ts'],
  seeds: [MANIFEST],
  words: ['v', 'id', 'size', 'chunk_size', 'chunks', 'cvs', '\u0000'],
  bytesMax: 2000,
  run: (input) => {
    assert.deepEqual(encodeManifest(decodeManifest(input, addressOf(OBJECT))), input)
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
  run: (input) => {
    assert.deepEqual(encodeTree(decodeTree(input)), input)
  },
}

const RING = createKeyring('k1', new Uint8Array(32).fill(5))
const TOKEN = mintToken(RING, { tid: new Uint8Array(16), aud: 'storage', scopes: ['storage:write'] })

const token: FuzzTarget = {
  name: 'token',
  covers: ['packages/wire/src/token.ts', 'packages/wire/src/bearer.ts', 'packages/wire/src/caveats.ts'],
  seeds: [TOKEN, `${TOKEN}.${TOKEN}`, 'x'].map(bytesOf),
  words: ['.', 'A', '_', '-', '='],
  bytesMax: 2000,
  run: (input) => {
    const text = textOf(input)
    const judged = authenticate(RING, text)
    // Nobody finds a signature by chance: whatever counts has the one token in it that was minted here.
    if (typeof judged !== 'string') assert.ok(text.includes(TOKEN), 'a forged token counts')
    attempt(() => readBundle(text))
  },
}

const cbor: FuzzTarget = {
  name: 'cbor',
  covers: ['packages/wire/src/cbor.ts', 'node_modules/cborg/', 'node_modules/@ipld/dag-cbor/'],
  seeds: [encodeCbor({ a: [1, -2, 'text', null, true, 1.5], b: new Uint8Array(3) }), MANIFEST, TREE],
  words: ['\u0000', 'a'],
  bytesMax: 2000,
  run: (input) => {
    assert.deepEqual(encodeCbor(decodeCbor(input)), input)
  },
}

const json: FuzzTarget = {
  name: 'json',
  covers: ['packages/wire/src/json.ts', 'node_modules/canonicalize/'],
  seeds: [bytesOf('{"a":[1,-2,"\\u00e9\\n",null,true],"b":{"c":9007199254740991}}'), bytesOf('[]')],
  words: ['"__proto__":', '\\ud800', '1e9', '-0', '{"a":1,"a":2}', '9007199254740992', ',', ':'],
  bytesMax: 2000,
  run: (input) => {
    const value = parseJson(input)
    const canonical = canonicalJson(value)
    assert.deepEqual(parseJson(canonical), value)
    assert.deepEqual(canonicalJson(parseJson(canonical)), canonical)
  },
}

export const TARGETS: readonly FuzzTarget[] = [address, manifest, tree, token, cbor, json]
