/** RFC 9110 §13 and §14 through `GET /o`, each case against a reference made from the bytes alone. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { TestService } from './harness.ts'
import { CHUNK } from './objects.ts'

const SUBJECTS = [
  { name: 'an object of one chunk', bytes: noise(1000, 21) },
  { name: 'an object of several chunks', bytes: noise(2 * 1024 * 1024 + 777, 22) },
  { name: 'an object of exactly one chunk', bytes: noise(CHUNK, 23) },
  { name: 'the empty object', bytes: Buffer.alloc(0) },
]

/** What the server must do with a Range, written down by hand: positions relative to the size `n`. */
type Expected = 'whole' | 'unsatisfiable' | readonly (readonly [first: number, last: number])[]

interface RangeCase {
  readonly range: string
  readonly expected: (n: number) => Expected
}

const one = (first: number, last: number): Expected => [[first, last]]
/** For sizes above 700; the empty object has rows of its own. */
const RANGES: readonly RangeCase[] = [
  { range: 'bytes=0-0', expected: () => one(0, 0) },
  { range: 'bytes=0-', expected: (n) => one(0, n - 1) },
  { range: 'bytes=0-99', expected: () => one(0, 99) },
  { range: 'bytes=100-199', expected: () => one(100, 199) },
  { range: 'bytes=500-', expected: (n) => one(500, n - 1) },
  { range: 'bytes=-1', expected: (n) => one(n - 1, n - 1) },
  { range: 'bytes=-500', expected: (n) => one(n - 500, n - 1) },
  { range: 'bytes=-99999999', expected: (n) => one(0, n - 1) },
  { range: 'bytes=0-99999999', expected: (n) => one(0, n - 1) },
  { range: 'bytes=999-99999999999999999999', expected: (n) => one(999, n - 1) },
  { range: 'BYTES=1-2', expected: () => one(1, 2) },
  { range: 'bytes=007-0010', expected: () => one(7, 10) },
  { range: 'bytes= 1-2', expected: () => 'whole' },
  { range: 'bytes=1-2 ', expected: () => one(1, 2) },
  { range: 'bytes=99999999-', expected: () => 'unsatisfiable' },
  { range: 'bytes=99999999-99999999', expected: () => 'unsatisfiable' },
  { range: 'bytes=-0', expected: () => 'unsatisfiable' },
  { range: 'bytes=99999999-,-0', expected: () => 'unsatisfiable' },
  { range: 'bytes=5-4', expected: () => 'whole' },
  { range: 'bytes=a-b', expected: () => 'whole' },
  { range: 'bytes=1-x', expected: () => 'whole' },
  { range: 'bytes=--1', expected: () => 'whole' },
  { range: 'bytes=-', expected: () => 'whole' },
  { range: 'bytes=', expected: () => 'whole' },
  { range: 'bytes', expected: () => 'whole' },
  { range: 'items=0-1', expected: () => 'whole' },
  { range: 'bytes=0-1,5-4', expected: () => 'whole' },
  { range: 'bytes=1.5-2', expected: () => 'whole' },
  {
    range: 'bytes=0-0,-1',
    expected: (n) => [
      [0, 0],
      [n - 1, n - 1],
    ],
  },
  {
    range: 'bytes=0-9, 20-29',
    expected: () => [
      [0, 9],
      [20, 29],
    ],
  },
  {
    range: 'bytes=200-299,0-99',
    expected: () => [
      [200, 299],
      [0, 99],
    ],
  },
  {
    range: 'bytes=0-9,,20-29',
    expected: () => [
      [0, 9],
      [20, 29],
    ],
  },
  { range: 'bytes=0-9,99999999-', expected: () => one(0, 9) },
  { range: 'bytes=0-10,5-20', expected: () => 'whole' },
  { range: 'bytes=0-9,9-20', expected: () => 'whole' },
  {
    range: `bytes=${list(16)}`,
    expected: () => Array.from({ length: 16 }, (_, at) => [at * 10, at * 10 + 3] as const),
  },
  { range: `bytes=${list(17)}`, expected: () => 'whole' },
]

function list(count: number): string {
  return Array.from({ length: count }, (_, at) => `${at * 10}-${at * 10 + 3}`).join(',')
}

const EMPTY_RANGES: readonly RangeCase[] = [
  { range: 'bytes=0-', expected: () => 'unsatisfiable' },
  { range: 'bytes=0-0', expected: () => 'unsatisfiable' },
  { range: 'bytes=-1', expected: () => 'whole' },
  { range: 'bytes=-0', expected: () => 'unsatisfiable' },
  { range: 'bytes=x', expected: () => 'whole' },
]

/** Ranges that begin, end or lie on the seams of chunks and windows. */
const SEAMS: readonly (readonly [number, number])[] = [CHUNK, 2 * CHUNK, 1024 * 1024].flatMap((seam) => [
  [seam - 1, seam - 1] as const,
  [seam, seam] as const,
  [seam - 1, seam] as const,
  [seam - 10, seam + CHUNK + 10] as const,
  [1, seam - 1] as const,
  [seam, seam + 1024 * 1024 - 1] as const,
])

interface Precondition {
  readonly name: string
  readonly headers: (etag: string) => Record<string, string>
  readonly status: 200 | 206 | 304 | 412
  readonly headStatus?: number
}

const OTHER = `"b3:${'0'.repeat(64)}"`
const PAST = 'Sun, 06 Nov 1994 08:49:37 GMT'
const FUTURE = 'Sun, 06 Nov 2094 08:49:37 GMT'
const RANGE = 'bytes=1-2'
const PRECONDITIONS: readonly Precondition[] = [
  { name: 'If-None-Match, the same', headers: (etag) => ({ 'if-none-match': etag }), status: 304 },
  { name: 'If-None-Match, weak', headers: (etag) => ({ 'if-none-match': `W/${etag}` }), status: 304 },
  { name: 'If-None-Match, in a list', headers: (etag) => ({ 'if-none-match': `${OTHER}, ${etag}` }), status: 304 },
  { name: 'If-None-Match, any', headers: () => ({ 'if-none-match': '*' }), status: 304 },
  { name: 'If-None-Match, another', headers: () => ({ 'if-none-match': OTHER }), status: 200 },
  { name: 'If-None-Match, unreadable', headers: () => ({ 'if-none-match': 'b3' }), status: 200 },
  { name: 'If-Match, the same', headers: (etag) => ({ 'if-match': etag }), status: 200 },
  { name: 'If-Match, any', headers: () => ({ 'if-match': '*' }), status: 200 },
  { name: 'If-Match, in a list', headers: (etag) => ({ 'if-match': `${OTHER}, ${etag}` }), status: 200 },
  { name: 'If-Match, another', headers: () => ({ 'if-match': OTHER }), status: 412 },
  { name: 'If-Match, weak', headers: (etag) => ({ 'if-match': `W/${etag}` }), status: 412 },
  { name: 'If-Match, unreadable', headers: () => ({ 'if-match': 'b3' }), status: 412 },
  {
    name: 'If-Match before If-None-Match',
    headers: (etag) => ({ 'if-match': OTHER, 'if-none-match': etag }),
    status: 412,
  },
  { name: 'both hold', headers: (etag) => ({ 'if-match': etag, 'if-none-match': etag }), status: 304 },
  { name: 'If-Modified-Since, without a date of ours', headers: () => ({ 'if-modified-since': FUTURE }), status: 200 },
  {
    name: 'If-Unmodified-Since, without a date of ours',
    headers: () => ({ 'if-unmodified-since': PAST }),
    status: 200,
  },
  { name: '304 comes before Range', headers: (etag) => ({ 'if-none-match': etag, range: RANGE }), status: 304 },
  { name: '412 comes before Range', headers: () => ({ 'if-match': OTHER, range: RANGE }), status: 412 },
  {
    name: 'If-Match holds, with Range',
    headers: (etag) => ({ 'if-match': etag, range: RANGE }),
    status: 206,
    headStatus: 200,
  },
  { name: 'If-Range, the same', headers: (etag) => ({ 'if-range': etag, range: RANGE }), status: 206, headStatus: 200 },
  { name: 'If-Range, another', headers: () => ({ 'if-range': OTHER, range: RANGE }), status: 200 },
  { name: 'If-Range, weak', headers: (etag) => ({ 'if-range': `W/${etag}`, range: RANGE }), status: 200 },
  { name: 'If-Range, a date', headers: () => ({ 'if-range': FUTURE, range: RANGE }), status: 200 },
  { name: 'If-Range without Range', headers: (etag) => ({ 'if-range': etag }), status: 200 },
  {
    name: 'If-Range, another, with a Range that cannot be met',
    headers: () => ({ 'if-range': OTHER, range: 'bytes=99999999-' }),
    status: 200,
  },
]

describe('ranges and preconditions', () => {
  let service: TestService
  before(async () => {
    service = await TestService.start()
    for (const { bytes } of SUBJECTS)
      await service.ask('POST', '/o?stream', { body: bytes, headers: { 'content-type': 'text/plain' } })
  })
  after(async () => {
    await service.stop()
  })

  for (const { name, bytes } of SUBJECTS) {
    const target = `/o/${addressOf(bytes)}`
    const cases = bytes.length === 0 ? EMPTY_RANGES : RANGES
    for (const { range, expected } of cases) {
      test(`${name}, Range: ${range.slice(0, 40)}`, async () => {
        const answer = await service.ask('GET', target, { headers: { range }, token: null })
        check(answer, bytes, expected(bytes.length))
        const head = await service.ask('HEAD', target, { headers: { range } })
        assert.deepEqual(
          [head.status, head.headers['content-length'], head.body.length],
          [200, String(bytes.length), 0],
        )
      })
    }
    if (bytes.length > 2 * 1024 * 1024) {
      for (const [first, last] of SEAMS) {
        test(`${name}, bytes ${first} to ${last}`, async () => {
          const answer = await service.ask('GET', target, { headers: { range: `bytes=${first}-${last}` } })
          check(answer, bytes, one(first, last))
        })
      }
      test(`${name}, two parts that lie in several windows`, async () => {
        const range = `bytes=0-1200000,1300000-`
        const answer = await service.ask('GET', target, { headers: { range } })
        check(answer, bytes, [
          [0, 1200000],
          [1300000, bytes.length - 1],
        ])
      })
    }
    if (bytes.length === 0) continue
    for (const { name: rule, headers, status, headStatus = status } of PRECONDITIONS) {
      test(`${name}, ${rule}`, async () => {
        const etag = `"${addressOf(bytes)}"`
        const answer = await service.ask('GET', target, { headers: headers(etag) })
        assert.equal(answer.status, status)
        if (status === 200) assert.ok(answer.body.equals(bytes))
        if (status === 206) assert.deepEqual(answer.body, bytes.subarray(1, 3))
        if (status === 304) {
          assert.equal(answer.body.length, 0)
          assert.deepEqual([answer.headers['etag'], answer.headers['content-type']], [etag, undefined])
          assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
        }
        if (status === 412) assert.equal(answer.code, 'precondition_failed')
        const head = await service.ask('HEAD', target, { headers: headers(etag) })
        assert.deepEqual([head.status, head.body.length], [headStatus, 0])
      })
    }
  }
})

function check(answer: Answer, bytes: Buffer, expected: Expected): void {
  const size = bytes.length
  if (expected === 'unsatisfiable') {
    assert.deepEqual([answer.status, answer.code], [416, 'range_not_satisfiable'])
    assert.equal(answer.headers['content-range'], `bytes */${size}`)
    return
  }
  assert.equal(answer.headers['content-length'], String(answer.body.length))
  if (expected === 'whole') {
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-range'], undefined)
    assert.ok(answer.body.equals(bytes))
    return
  }
  assert.equal(answer.status, 206)
  const [only, ...more] = expected
  if (only !== undefined && more.length === 0) {
    assert.equal(answer.headers['content-range'], `bytes ${only[0]}-${only[1]}/${size}`)
    assert.ok(answer.body.equals(bytes.subarray(only[0], only[1] + 1)))
    return
  }
  const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(answer.headers['content-type'] ?? '')?.[1]
  const parts = expected.map(([first, last]) => [
    Buffer.from(`--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes ${first}-${last}/${size}\r\n\r\n`),
    bytes.subarray(first, last + 1),
    Buffer.from('\r\n'),
  ])
  assert.ok(answer.body.equals(Buffer.concat([...parts.flat(), Buffer.from(`--${boundary}--\r\n`)])))
}
