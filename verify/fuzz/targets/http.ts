/** What clients say over HTTP, and how their bytes may be cut. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type Coding, openCoded, threadInflate } from '@cairn/platform'
import { evaluatePreconditions, formatHttpDate, normalisePath, parseHttpDate, selectRange } from '@cairn/wire'
import { parseEntityTags } from '@cairn/wire/testing'
import { readEvents } from '../../../packages/clients/src/server-events.ts'
import { PlainHeads } from '../../../packages/http/src/connection/plain-head.ts'
import { eventFrame } from '../../../packages/http/src/response/event-stream.ts'
import { readFrames } from '../../../services/storage/src/objects/body-chunks.ts'
import type { FuzzTarget } from '../fuzzer.ts'
import { bytesOf, pieces, textOf } from '../inputs.ts'

const TAG = '"b3:00"'
const SIZES = [1000, 1, 0]

const range: FuzzTarget = {
  name: 'range',
  covers: ['packages/wire/src/range.ts', 'packages/wire/src/preconditions.ts'],
  seeds: ['bytes=0-99', 'bytes=100-', 'bytes=-5', 'bytes=0-0, 5-9,-1', `bytes=0-1\n${TAG}`].map(bytesOf),
  words: ['bytes=', '-', ',', ' ', '\t', '\n', TAG, 'W/', '99999999999999999999'],
  bytesMax: 300,
  run: (input) => {
    const [header, ifRange] = textOf(input).split('\n')
    for (const size of SIZES) {
      const outcome = selectRange({ method: 'GET', range: header, ifRange }, TAG, size)
      const ranges = outcome.kind === 'single' ? [outcome.range] : outcome.kind === 'multiple' ? outcome.ranges : []
      for (const { first, last } of ranges) assert.ok(first >= 0 && first <= last && last < size)
      assert.ok(ranges.length <= 16)
    }
  },
}

const CHANGED = 'Sun, 06 Nov 1994 08:49:37 GMT'
const STATES = [undefined, {}, { etag: TAG }, { etag: 'W/"a"', lastModified: 784_111_777 }]

const conditions: FuzzTarget = {
  name: 'conditions',
  covers: [
    'packages/wire/src/preconditions.ts',
    'packages/wire/src/preconditions.ts',
    'packages/wire/src/preconditions.ts',
  ],
  seeds: [
    `${TAG}\n*\n${CHANGED}\n${CHANGED}\n/a/../b//c/%2e`,
    `\nW/${TAG}, "a,b"\nSunday, 06-Nov-94 08:49:37 GMT`,
    '\n\nTue, 29 Feb 2000 00:00:00 GMT',
    '\n\n\nWednesday, 29-Feb-68 00:00:00 GMT',
  ].map(bytesOf),
  words: [TAG, 'W/', '*', ',', 'GMT', 'Sun Nov  6 08:49:37 1994', '"', '\n', '2000', '1900', 'Feb', '29', 'Jan', '../'],
  bytesMax: 400,
  run: (input) => {
    const lines = textOf(input).split('\n')
    // A line with nothing on it is a header that was not sent.
    const [ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince] = lines.map((line) =>
      line === '' ? undefined : line,
    )
    const headers = { ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince }
    for (const method of ['GET', 'PUT'])
      for (const state of STATES) {
        const outcome = evaluatePreconditions({ method, ...headers }, state, 0)
        assert.ok(method === 'GET' || outcome !== 'not-modified', 'a change was answered like a question')
      }
    parseEntityTags(ifMatch ?? '')
    const seconds = parseHttpDate(ifModifiedSince ?? '', 0)
    if (seconds !== undefined) assert.equal(parseHttpDate(formatHttpDate(seconds), 0), seconds)
    const path = normalisePath(lines[4] ?? '')
    if (path !== undefined) assert.ok(!path.includes('//') && !path.split('/').includes('..'), path)
  },
}

interface Heard {
  readonly method: string
  readonly target: string
  readonly fields: readonly string[]
}

/** What `node:http` makes of the bytes of a connection, cut as they come; nothing if it refuses them. */
async function heardByNode(parts: Iterable<Uint8Array>): Promise<Heard | undefined> {
  // Who the request is for is judged later, for both ways alike.
  const server = createServer({ requireHostHeader: false })
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  try {
    return await new Promise<Heard | undefined>((resolve) => {
      server.on('request', ({ method = '', url = '', rawHeaders }: IncomingMessage) => {
        resolve({ method, target: url, fields: rawHeaders })
      })
      server.on('clientError', () => resolve(undefined))
      server.on('connect', () => resolve(undefined))
      server.on('upgrade', () => resolve(undefined))
      server.emit('connection', socket)
      for (const part of parts) socket.push(part)
      socket.push(null)
      socket.on('close', () => resolve(undefined))
      socket.on('error', () => resolve(undefined))
    })
  } finally {
    socket.destroy()
    server.close()
  }
}

const HEAD = 'GET /o/b3:00 HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=0-9\r\nConnection: keep-alive\r\n\r\n'

const framing: FuzzTarget = {
  name: 'framing',
  covers: ['packages/http/src/connection/plain-head.ts', 'packages/http/src/request/request-headers.ts'],
  seeds: [HEAD, 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'].map(
    bytesOf,
  ),
  words: [
    '\r\n',
    ': ',
    ' HTTP/1.1',
    'GET ',
    'Content-Length: 5',
    'Transfer-Encoding: chunked',
    '\n',
    '\r',
    '\t',
    '\u0000',
  ],
  bytesMax: 600,
  run: async (input) => {
    const plain = new PlainHeads().read(Buffer.from(input))
    if (plain === undefined) return
    // Whatever the short way takes for a request, the long way takes for the very same, however it is cut.
    const heard = await heardByNode(pieces(input, 3))
    const fields = [...plain.fields.raw]
    assert.deepEqual({ method: plain.method, target: plain.target, fields }, heard)
  },
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

async function* flow(parts: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(part)
}

const events: FuzzTarget = {
  name: 'server-events',
  covers: ['packages/clients/src/server-events.ts'],
  seeds: ['id: 7\nevent: registry.update\ndata: {"version":7}\n\n', ': hello\r\n\r\ndata\r\rdata: a\ndata: b\n\n'].map(
    bytesOf,
  ),
  words: ['data:', 'id:', 'event:', 'retry:', '\n', '\r', '\r\n', '\n\n', '\ufeff'],
  bytesMax: 600,
  run: async (input) => {
    const whole = await collect(readEvents(flow([input])))
    for (const salt of [1, 50]) assert.deepEqual(await collect(readEvents(flow(pieces(input, salt)))), whole)
  },
}

const END = { id: 'end', event: 'end', data: 'end' }

const eventFrames: FuzzTarget = {
  name: 'event-frames',
  covers: ['packages/http/src/response/event-stream.ts'],
  seeds: ['k3x9-42\tregistry.update\t{"version":7}', 'a\nb\t\tone\r\n\r\ndata: two\rid: 3'].map(bytesOf),
  words: ['\t', '\n', '\r\n', '\n\n', 'data: ', 'id: ', 'event: ', ':', '\u0000', '\ufeff'],
  bytesMax: 400,
  run: async (input) => {
    const [id = '', event = '', data = ''] = textOf(input).split('\t', 3)
    const sent = Buffer.concat([eventFrame({ id, event, data }), eventFrame(END)])
    const heard = await collect(readEvents(flow(pieces(sent, 7))))
    // Whatever is in it, a frame is one event, and nothing of it is in the next.
    assert.deepEqual(
      heard.map((each) => each.data),
      [data.replace(/\r\n|\r/g, '\n'), END.data],
    )
    assert.deepEqual(heard[1], { ...heard[1], ...END })
    assert.equal(heard[0]?.id, id.replace(/[\r\n\0]/g, ''))
  },
}

const frames: FuzzTarget = {
  name: 'chunk-frames',
  covers: ['services/storage/src/objects/body-chunks.ts'],
  seeds: [Uint8Array.of(0, 0, 0, 2, 9, 9, 0, 0, 0, 1, 7), new Uint8Array()],
  words: ['\u0000\u0000\u0000\u0001'],
  bytesMax: 400,
  run: async (input) => {
    const whole = await collect(copies(readFrames([input], 8)))
    assert.deepEqual(await collect(copies(readFrames(pieces(input, 5), 8))), whole)
    assert.ok(whole.length <= 8)
  },
}

/** A frame is good only until the next but one. */
async function* copies(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield chunk.slice()
}

const PLAIN = bytesOf('all work and no play '.repeat(40))
const CODINGS: readonly Coding[] = ['gzip', 'br', 'zstd']
const LIMITS = { ratioMax: 10, bytesMax: 256 * 1024 }

const inflate: FuzzTarget = {
  name: 'inflate',
  covers: ['packages/platform/src/workers/inflate.ts'],
  seeds: [gzipSync(PLAIN), brotliCompressSync(PLAIN), zstdCompressSync(PLAIN), gzipSync(new Uint8Array(100_000))].map(
    (bytes, at) => Uint8Array.of(at, ...bytes),
  ),
  words: ['\u001f\u008b', '(\u00b5/\u00fd'],
  bytesMax: 2000,
  run: async (input) => {
    const coding = CODINGS[(input[0] ?? 0) % CODINGS.length] ?? 'gzip'
    // As a node does it; besides, Node's synchronous decoders never give back what they took for bytes that are wrong.
    const opened = await openCoded(threadInflate, coding, input.subarray(1), LIMITS)
    assert.ok(opened.length <= Math.max(64 * 1024, 10 * input.length))
  },
}

export const TARGETS: readonly FuzzTarget[] = [range, conditions, framing, events, eventFrames, frames, inflate]
