/**
 * What curl asks storage, row by row, in this order: every success and every refusal its published table of routes
 * declares, but those that take a slow client or a failing drive.
 */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { addressOf, encodeManifest } from '@cairn/wire'
import type { CurlAnswer } from './curl.ts'
import { cut, framed, noise } from './storage-objects.ts'
import { type Operation, plainRow, type Row, row } from './storage-row.ts'

const SMALL = Buffer.from('hello from curl')
const SMALL_ID = addressOf(SMALL)
const OTHER = Buffer.from('something else')
const LARGE = noise(200_000, 1)
export const LARGE_ID = addressOf(LARGE)
const UPLOADED = cut(noise(2 * 65_536 + 7, 2))
const [FIRST, SECOND, LAST] = UPLOADED.chunks.map(({ id }) => id)
/** As long as the one that is uploaded, and never sent. */
const ABSENT = cut(Buffer.alloc(2 * 65_536 + 7, 1))
const NOWHERE = addressOf(Buffer.from('nobody stored this'))

const json = (value: unknown) => ({
  body: Buffer.from(JSON.stringify(value)),
  headers: ['Content-Type: application/json'],
})
const says = (expected: unknown) => ({
  gives: ({ body }: CurlAnswer) => assert.deepEqual(JSON.parse(body.toString()), expected),
})
const holds = (expected: Uint8Array) => ({
  gives: ({ body }: CurlAnswer) => assert.ok(body.equals(expected), `${body.length} bytes`),
})
const NOTHING = holds(Buffer.alloc(0))

const IMMUTABLE = 'public, max-age=31536000, immutable'
const GUARDED = {
  'cache-control': IMMUTABLE,
  vary: 'Accept-Encoding',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
}
const STORED = { location: `/o/${SMALL_ID}`, etag: `"${SMALL_ID}"`, 'content-type': 'application/json' }
const READ = { ...GUARDED, etag: `"${SMALL_ID}"`, 'content-type': 'text/plain', 'content-length': '15' }

const gzip = (bytes: Uint8Array, level = 6) => ({
  body: gzipSync(bytes, { level }),
  headers: ['Content-Encoding: gzip'],
})
const range = (text: string) => ({ headers: [`Range: bytes=${text}`] })

const OBJECTS: readonly Row[] = [
  row('POST /o', '/o', { body: SMALL, headers: ['Content-Type: text/plain'] }, 201, {
    answers: STORED,
    ...says({ address: SMALL_ID, size: SMALL.length, new: true }),
  }),
  row('POST /o', '/o', { body: SMALL }, 200, { answers: STORED }),
  row('POST /o', '/o?stream', { body: LARGE }, 201),
  row('POST /o', '/o?strean', { body: SMALL }, 400, 'bad_request'),
  row('POST /o', '/o', { body: Buffer.alloc(1024 * 1024 + 1) }, 413, 'payload_too_large'),
  row('POST /o', '/o', gzip(Buffer.alloc(300_000)), 413, 'ratio_cap'),
  row('POST /o', '/o', gzip(noise(600_000, 3), 0), 413, 'decompress_cap'),
  row('PUT /o/{address}', `/o/${addressOf(OTHER)}`, { body: OTHER }, 201),
  row('PUT /o/{address}', `/o/${SMALL_ID}`, gzip(SMALL), 200),
  row('PUT /o/{address}', `/o/${LARGE_ID}?stream`, { body: LARGE, headers: ['Transfer-Encoding: chunked'] }, 200),
  row('PUT /o/{address}', `/o/${NOWHERE}`, { body: OTHER }, 409, 'conflict'),
  row('PUT /o/{address}', '/o/b3:xyz', { body: OTHER }, 400, 'bad_request'),
  row('GET /o/{address}', `/o/${SMALL_ID}`, { bearer: 'none' }, 200, { answers: READ, ...holds(SMALL) }),
  row('HEAD /o/{address}', `/o/${SMALL_ID}`, {}, 200, { answers: READ }),
  row('GET /o/{address}', `/o/${LARGE_ID}`, {}, 200, {
    answers: { 'content-disposition': 'attachment', 'accept-ranges': 'bytes' },
    ...holds(LARGE),
  }),
  row('GET /o/{address}', `/o/${LARGE_ID}`, range('65530-65545'), 206, {
    answers: { 'content-range': 'bytes 65530-65545/200000', 'content-length': '16' },
    ...holds(LARGE.subarray(65530, 65546)),
  }),
  row('GET /o/{address}', `/o/${SMALL_ID}`, range('0-1,-2'), 206, {
    answers: { 'content-type': /^multipart\/byteranges; boundary=/ },
  }),
  row('GET /o/{address}', `/o/${SMALL_ID}`, range('99-'), 416, {
    code: 'range_not_satisfiable',
    answers: { 'content-range': 'bytes */15' },
  }),
  row('GET /o/{address}', `/o/${SMALL_ID}`, { headers: [`If-None-Match: "${SMALL_ID}"`] }, 304, {
    answers: { etag: `"${SMALL_ID}"`, 'cache-control': IMMUTABLE },
    ...NOTHING,
  }),
  row('GET /o/{address}', `/o/${SMALL_ID}`, { headers: ['If-Match: "b3:x"'] }, 412, 'precondition_failed'),
  row('GET /o/{address}', `/o/${NOWHERE}`, {}, 404, 'not_found'),
  row('HEAD /o/{address}', `/o/${NOWHERE}`, {}, 404),
  row('GET /o/{address}', '/o/b3:xyz', {}, 400, 'bad_request'),
]

const CHUNKS: readonly Row[] = [
  row(
    'POST /c/missing',
    '/c/missing?upload=u',
    json({ ids: [SMALL_ID, FIRST] }),
    200,
    says({ missing: [FIRST], upload: 'u' }),
  ),
  row('POST /c/missing', '/c/missing', json({ ids: ['b3:x'] }), 400, 'bad_request'),
  row('PUT /c/{address}', `/c/${FIRST}?upload=u`, { body: UPLOADED.chunks[0]?.bytes }, 201),
  row(
    'PUT /c/{address}',
    `/c/${FIRST}`,
    { body: UPLOADED.chunks[0]?.bytes },
    200,
    says({ address: FIRST, new: false }),
  ),
  row('PUT /c/{address}', `/c/${SECOND}`, { body: UPLOADED.chunks[0]?.bytes }, 409, 'conflict'),
  row(
    'POST /c',
    '/c?upload=u',
    { body: framed(UPLOADED.chunks.map(({ bytes }) => bytes)) },
    200,
    says({ chunks: 3, new: 2 }),
  ),
  row('POST /c', '/c', { body: Buffer.alloc(3) }, 400, 'bad_frame'),
  row('GET /c/{address}', `/c/${LAST}`, { bearer: 'none' }, 200, {
    answers: { ...GUARDED, etag: `"${LAST}"` },
    ...holds(UPLOADED.bytes.subarray(-7)),
  }),
  row('HEAD /c/{address}', `/c/${LAST}`, {}, 200, { answers: { 'content-length': '7' } }),
  row('GET /c/{address}', `/c/${NOWHERE}`, {}, 404, 'not_found'),
]

const ENCODED = encodeManifest(UPLOADED.manifest)
const FORGED = encodeManifest({ ...ABSENT.manifest, chunkIds: UPLOADED.manifest.chunkIds })
const MANIFESTS: readonly Row[] = [
  row('PUT /m/{address}', `/m/${UPLOADED.id}?upload=u`, { body: ENCODED, headers: ['X-Object-Type: video/mp4'] }, 201, {
    answers: { location: `/o/${UPLOADED.id}`, etag: `"${UPLOADED.id}"` },
    ...says({ address: UPLOADED.id, size: UPLOADED.bytes.length, new: true }),
  }),
  row('PUT /m/{address}', `/m/${UPLOADED.id}`, { body: ENCODED }, 200),
  row('PUT /m/{address}', `/m/${NOWHERE}`, { body: ENCODED }, 409, 'conflict'),
  row('PUT /m/{address}', `/m/${ABSENT.id}`, { body: encodeManifest(ABSENT.manifest) }, 409, 'missing_chunks'),
  row('PUT /m/{address}', `/m/${ABSENT.id}`, { body: FORGED }, 409, 'chunk_mismatch'),
  row('PUT /m/{address}', `/m/${UPLOADED.id}`, { body: Buffer.from('nonsense') }, 400, 'bad_request'),
  row('GET /m/{address}', `/m/${UPLOADED.id}`, { bearer: 'none' }, 200, {
    answers: { ...GUARDED, 'content-type': 'application/vnd.ipld.dag-cbor' },
    ...holds(ENCODED),
  }),
  row('GET /o/{address}', `/o/${UPLOADED.id}`, {}, 200, {
    answers: { 'content-type': 'video/mp4' },
    ...holds(UPLOADED.bytes),
  }),
  row('GET /m/{address}', `/m/${SMALL_ID}`, {}, 404, 'single_chunk'),
  row('GET /m/{address}', `/m/${NOWHERE}`, {}, 404, 'not_found'),
]

const TREE_DONE = {
  answers: { 'content-type': 'application/x-ndjson' },
  gives: ({ body }: CurlAnswer) => assert.match(body.toString(), /"objects":1,.*"done":true\}\n$/),
}

const REFERENCES: readonly Row[] = [
  row('PUT /refs/{owner}/{address}', `/refs/mailbox/${SMALL_ID}`, {}, 204, NOTHING),
  row('PUT /refs/{owner}/{address}', `/refs/mailbox/${NOWHERE}`, {}, 404, 'not_found'),
  row('DELETE /o/{address}', `/o/${SMALL_ID}`, {}, 409, 'referenced'),
  row('DELETE /refs/{owner}/{address}', `/refs/mailbox/${SMALL_ID}`, {}, 204, NOTHING),
  row('PUT /refs/{owner}/{address}', `/refs/mailbox/${SMALL_ID}?tree`, {}, 200, TREE_DONE),
  row('DELETE /refs/{owner}/{address}', `/refs/mailbox/${SMALL_ID}?tree`, {}, 200, TREE_DONE),
  row('DELETE /o/{address}', `/o/${SMALL_ID}`, {}, 204, NOTHING),
  row('DELETE /o/{address}', `/o/${SMALL_ID}`, {}, 404, 'not_found'),
]

/** What other nodes ask about the copies of this one. */
const COPIES: readonly Row[] = [
  row('POST /copies/known', '/copies/known', json({ ids: [LARGE_ID, NOWHERE] }), 200, {
    gives: ({ body }) => {
      const { copies } = JSON.parse(body.toString()) as { copies: { tag: string }[] }
      assert.deepEqual(
        copies.map(({ tag }) => tag),
        ['object', 'absent'],
      )
    },
  }),
  row('GET /copies', '/copies?limit=1', {}, 200, { answers: { 'content-type': 'application/json' } }),
  row('GET /copies/{address}', `/copies/${LARGE_ID}`, {}, 200, { answers: { 'content-type': 'application/json' } }),
  row('GET /copies/{address}', `/copies/${NOWHERE}`, {}, 404, 'not_found'),
  row('PUT /o/{address}', `/o/${SMALL_ID}?copy=7`, { body: SMALL }, 201),
  row('DELETE /o/{address}', `/o/${SMALL_ID}?copy=8`, {}, 409, 'unsigned_delete'),
  row('DELETE /o/{address}', `/o/${SMALL_ID}`, {}, 204, NOTHING),
  row('PUT /o/{address}', `/o/${SMALL_ID}?copy=7`, { body: SMALL, bearer: 'another scope' }, 403, 'scope_missing'),
  row('GET /c', '/c?limit=1', {}, 200, { answers: { 'content-type': 'application/json' } }),
  row('DELETE /c/{address}', `/c/${SMALL_ID}`, {}, 204, NOTHING),
  row('DELETE /c/{address}', `/c/${SMALL_ID}`, {}, 404, 'not_found'),
]

const ADMIN: readonly Row[] = [
  row('GET /admin/objects', '/admin/objects?limit=1', {}, 200, { answers: { 'content-type': 'application/json' } }),
  row('GET /admin/objects', '/admin/objects?limit=0', {}, 400, 'bad_request'),
  row('GET /admin/durability', '/admin/durability', {}, 200),
  row('POST /admin/scrub', '/admin/scrub', {}, 202),
  row('POST /admin/scrub/give-up', '/admin/scrub/give-up', json({ segment: 999, dry_run: true }), 404, 'not_found'),
  row('POST /admin/scrub/give-up', '/admin/scrub/give-up', json({ segment: 1 }), 409, 'segment_active'),
  row('POST /admin/repair', '/admin/repair', {}, 202, says({ queued: true })),
  row('POST /admin/repair', '/admin/repair', json({ address: NOWHERE }), 404, 'not_found'),
]

/** Asked once the first segment of the journal cannot be read any more. */
export const GIVEN_UP = row('POST /admin/scrub/give-up', '/admin/scrub/give-up', json({ segment: 1 }), 200, {
  gives: ({ body }) => {
    const { unreadable, kept_as: keptAs } = JSON.parse(body.toString()) as Record<string, unknown>
    assert.deepEqual([unreadable, keptAs], [true, '0000000001.given-up'])
  },
})

/** Every service has these, so no table of routes names them. */
const OPS: readonly Row[] = [
  ...['/healthz', '/readyz', '/version', '/debug/topology'].map((path) =>
    row(`GET ${path}`, path, { bearer: 'none' }, 200),
  ),
  row('GET /metrics', '/metrics', { bearer: 'none' }, 200, {
    answers: { 'content-type': /^text\/plain; version=0\.0\.4/ },
    gives: ({ body }) => {
      for (const series of ['queue_depth{queue="work"', 'queue_depth{queue="repair"', 'open_connections{service'])
        assert.ok(body.toString().includes(series), series)
    },
  }),
  row('GET /nothing', '/nothing', {}, 404, 'not_found'),
  row('PATCH /o/{address}', `/o/${LARGE_ID}`, {}, 405, { code: 'method_not_allowed', answers: { allow: /GET/ } }),
]

export const OWN_ROWS: readonly Row[] = [
  ...OBJECTS,
  ...CHUNKS,
  ...MANIFESTS,
  ...REFERENCES,
  ...COPIES,
  ...ADMIN,
  ...OPS,
]

/** What every operation refuses, whatever it is about. */
export function commonRefusals(operations: readonly Operation[]): Row[] {
  return operations.flatMap((operation) => {
    const plain = plainRow(operation, LARGE_ID)
    const refusals: Row[] = [
      { ...plain, headers: ['Request-Timeout: soon'], status: 400, code: 'bad_request' },
      { ...plain, bearer: 'none', status: 401, code: 'token_missing', answers: { 'www-authenticate': /^Bearer / } },
      { ...plain, bearer: 'another scope', status: 403, code: 'scope_missing' },
      { ...plain, headers: ['Content-Length: 99999999999'], status: 413, code: 'payload_too_large' },
      { ...plain, headers: ['Content-Encoding: lzma'], status: 415, code: 'unsupported_coding' },
      { ...plain, headers: ['Host: elsewhere.example'], status: 421, code: 'misdirected' },
      { ...plain, headers: ['Deadline: 1'], status: 504, code: 'timeout' },
    ]
    return refusals.filter(({ status }) => operation.statuses.includes(status))
  })
}
