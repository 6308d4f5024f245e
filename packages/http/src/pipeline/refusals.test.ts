import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as zlib from 'node:zlib'
import { leaks } from '@cairn/kernel/testing'
import type { IngressRequest } from '../response/message.ts'
import { bodyOf, type ConfigInput, fixture } from '../test/fixture.ts'
import { HOST, post, ROUTES, zeros } from '../test/routes.ts'

interface Case {
  readonly name: string
  readonly request: Partial<IngressRequest>
  readonly config?: ConfigInput
  readonly status: number
  readonly code?: string
}

const CASES: readonly Case[] = [
  { name: 'a route answers', request: {}, status: 200 },
  { name: 'a GET route answers HEAD', request: { method: 'HEAD' }, status: 200 },
  { name: 'no Host', request: { headers: [] }, status: 400, code: 'malformed' },
  { name: 'two Hosts', request: { headers: [...HOST, ...HOST] }, status: 400, code: 'repeated_header' },
  { name: 'a Host of others', request: { headers: ['Host', 'evil.example'] }, status: 421, code: 'misdirected' },
  { name: 'a Host that is no host', request: { headers: ['Host', 'localhost:80/'] }, status: 421, code: 'misdirected' },
  { name: 'our Host with any port', request: { headers: ['host', '127.0.0.1:7071'] }, status: 200 },
  { name: 'our Host in capitals', request: { headers: ['HOST', 'LocalHost'] }, status: 200 },
  { name: 'our IPv6 Host', request: { headers: ['Host', '[::1]:7071'] }, status: 200 },
  {
    name: 'a configured Host',
    request: { headers: ['Host', 'a.example'] },
    config: { hosts: ['a.example'] },
    status: 200,
  },
  {
    name: 'a Host below a wildcard',
    request: { headers: ['Host', 'docs.localhost'] },
    config: { hosts: ['*.localhost'] },
    status: 200,
  },
  {
    name: 'a Host that only ends like a wildcard',
    request: { headers: ['Host', 'evil-localhost'] },
    config: { hosts: ['*.localhost'] },
    status: 421,
  },
  ...['content-length', 'transfer-encoding', 'Authorization', 'RANGE', 'If-Match', 'If-None-Match', 'If-Range']
    .concat(['If-Modified-Since', 'If-Unmodified-Since', 'Deadline', 'Request-Timeout'])
    .map((name) => ({
      name: `two ${name} fields`,
      request: { headers: [...HOST, name, '1', name.toLowerCase(), '1'] },
      status: 400,
      code: 'repeated_header',
    })),
  {
    name: 'two ways to say where the body ends',
    request: { headers: [...HOST, 'Content-Length', '3', 'Transfer-Encoding', 'chunked'] },
    status: 400,
    code: 'malformed',
  },
  { name: 'an unknown expectation', request: { headers: [...HOST, 'Expect', 'tea'] }, status: 417 },
  ...['/a%2fb', '/a%5Cb', '/%2e%2e/etc', '/a%00', '/a//b', '//hello', '/a/../b', '/a/.', '/./a', '/..', '/a\\b', '/%zz']
    .concat(['/a#b', '/\u00e9', '/files/%2E%2E/x'])
    .map((target) => ({ name: `the path ${target}`, request: { target }, status: 400, code: 'bad_path' })),
  { name: 'a target that is no path', request: { target: 'hello' }, status: 400, code: 'malformed' },
  { name: 'an asterisk', request: { method: 'OPTIONS', target: '*' }, status: 400, code: 'malformed' },
  { name: 'our absolute form', request: { target: 'http://127.0.0.1:7071/hello?x' }, status: 200 },
  { name: 'an absolute form of others', request: { target: 'http://evil.example/hello' }, status: 421 },
  { name: 'an absolute form with a user', request: { target: 'http://me@localhost/hello' }, status: 421 },
  { name: 'an unknown path', request: { target: '/nowhere' }, status: 404, code: 'not_found' },
  { name: 'a path below a route', request: { target: '/hello/there' }, status: 404, code: 'not_found' },
  { name: 'another method', request: { method: 'DELETE' }, status: 405, code: 'method_not_allowed' },
  { name: 'an invented method', request: { method: 'BREW' }, status: 405, code: 'method_not_allowed' },
  { name: 'too many connections', request: { crowded: true }, status: 429, code: 'too_many_connections' },
  { name: 'a defect of ours', request: { target: '/failing' }, status: 500, code: 'internal' },
  {
    name: 'a cross-site write',
    request: post('/echo', bodyOf('x'), 'Sec-Fetch-Site', 'cross-site'),
    status: 403,
    code: 'cross_site',
  },
  {
    name: 'a write by a page on another port of this host',
    request: post('/echo', bodyOf('x'), 'Sec-Fetch-Site', 'same-site'),
    status: 403,
    code: 'cross_site',
  },
  {
    name: 'a same-site write of a listed origin',
    request: post('/echo', bodyOf('x'), 'Sec-Fetch-Site', 'same-site', 'Origin', 'http://localhost:3000'),
    config: { cors: { allow_origins: ['http://localhost:3000'] } },
    status: 200,
  },
  ...['/hello', '/nowhere'].map((target) => ({
    name: `what a page of another site embeds, ${target}`,
    request: { target, headers: [...HOST, 'Sec-Fetch-Site', 'cross-site', 'Sec-Fetch-Dest', 'object'] },
    status: 403,
    code: 'cross_site',
  })),
  {
    name: 'what a page of another site embeds, where an origin is listed',
    request: { headers: [...HOST, 'Sec-Fetch-Site', 'cross-site', 'Sec-Fetch-Dest', 'image'] },
    config: { cors: { allow_origins: ['https://app.example'] } },
    status: 200,
  },
  {
    name: 'a link from a page of another site',
    request: { headers: [...HOST, 'Sec-Fetch-Site', 'cross-site', 'Sec-Fetch-Dest', 'document'] },
    status: 200,
  },
  { name: 'a cross-site read', request: { headers: [...HOST, 'Sec-Fetch-Site', 'cross-site'] }, status: 200 },
  { name: 'a same-origin write', request: post('/echo', bodyOf('x'), 'Sec-Fetch-Site', 'same-origin'), status: 200 },
  {
    name: 'a cross-site write of a listed origin',
    request: post('/echo', bodyOf('x'), 'Sec-Fetch-Site', 'cross-site', 'Origin', 'https://app.example'),
    config: { cors: { allow_origins: ['https://app.example'] } },
    status: 200,
  },
  {
    name: 'a whole body at the cap',
    request: post('/echo', bodyOf(zeros(1024))),
    config: { max_body_bytes: 1024 },
    status: 200,
  },
  {
    name: 'a body one byte above the cap',
    request: post('/echo', bodyOf(zeros(1000), zeros(25))),
    config: { max_body_bytes: 1024 },
    status: 413,
    code: 'body_cap',
  },
  {
    name: 'a declared length above the cap',
    request: post('/echo', bodyOf('x'), 'Content-Length', '1048577'),
    status: 413,
    code: 'body_cap',
  },
  { name: 'a length that is no number', request: post('/echo', bodyOf('x'), 'Content-Length', '0x10'), status: 400 },
  {
    name: 'a gzip body',
    request: post('/echo', bodyOf(zlib.gzipSync('hello')), 'Content-Encoding', 'gzip'),
    status: 200,
  },
  {
    name: 'a zstd body',
    request: post('/echo', bodyOf(zlib.zstdCompressSync('hi')), 'Content-Encoding', 'zstd'),
    status: 200,
  },
  {
    name: 'a br body',
    request: post('/echo', bodyOf(zlib.brotliCompressSync('hi')), 'Content-Encoding', 'br'),
    status: 200,
  },
  { name: 'identity by name', request: post('/echo', bodyOf('hi'), 'Content-Encoding', 'identity'), status: 200 },
  {
    name: 'zeros that pack well, however few',
    request: post('/echo', bodyOf(zlib.gzipSync(zeros(1024))), 'Content-Encoding', 'gzip'),
    status: 413,
    code: 'ratio_cap',
  },
  ...(['gzip', 'br', 'zstd'] as const).map((coding) => ({
    name: `a ${coding} bomb`,
    request: post('/echo', bodyOf(packed(coding, zeros(64 * 1024 + 1))), 'Content-Encoding', coding),
    status: 413,
    code: 'ratio_cap',
  })),
  {
    name: 'a body that opens past the absolute cap',
    request: post('/echo', bodyOf(zlib.gzipSync(noise(40_000))), 'Content-Encoding', 'gzip'),
    config: { decompress_max_bytes: 32 * 1024 },
    status: 413,
    code: 'decompress_cap',
  },
  {
    name: 'a coding unlike its name',
    request: post('/echo', bodyOf('hello'), 'Content-Encoding', 'gzip'),
    status: 400,
    code: 'bad_coding',
  },
  {
    name: 'a coding cut short',
    request: post('/echo', bodyOf(zlib.gzipSync('hello').subarray(0, 12)), 'Content-Encoding', 'gzip'),
    status: 400,
    code: 'bad_coding',
  },
  {
    name: 'two codings',
    request: post('/echo', bodyOf('x'), 'Content-Encoding', 'gzip, br'),
    status: 415,
    code: 'unsupported_coding',
  },
  {
    name: 'an unknown coding',
    request: post('/echo', bodyOf('x'), 'Content-Encoding', 'compress'),
    status: 415,
    code: 'unsupported_coding',
  },
  {
    name: 'a streamed body above the cap for whole ones',
    request: post('/upload?stream', bodyOf(zeros(2 ** 21))),
    status: 200,
  },
  {
    name: 'the same body, not streamed',
    request: post('/upload', bodyOf(zeros(2 ** 21))),
    status: 413,
    code: 'body_cap',
  },
  {
    name: 'a streamed body above its own cap',
    request: post('/upload?stream', bodyOf(zeros(5 * 2 ** 20))),
    status: 413,
  },
  {
    name: 'a streamed body in a coding',
    request: post('/upload?stream', bodyOf('x'), 'Content-Encoding', 'gzip'),
    status: 415,
  },
  { name: 'no time at all', request: { headers: [...HOST, 'Request-Timeout', '0ms'] }, status: 504, code: 'timeout' },
  {
    name: 'a deadline that has passed',
    request: { headers: [...HOST, 'Deadline', '1000'] },
    status: 504,
    code: 'timeout',
  },
  {
    // Its body was read on and refused after the answer: the unhandled rejection crashed the process.
    name: 'a deadline that has passed, with a body that would be refused too',
    request: { ...post('/notes/one', bodyOf('no json'), 'Deadline', '1000'), method: 'PUT' },
    status: 504,
    code: 'timeout',
  },
  { name: 'a budget nobody can read', request: { headers: [...HOST, 'Request-Timeout', 'soon'] }, status: 400 },
  {
    name: 'metrics from another machine',
    request: { target: '/metrics', peer: { address: '192.0.2.7', kind: 'tcp' } },
    status: 403,
    code: 'local_only',
  },
  {
    name: 'the topology from another machine',
    request: { target: '/debug/topology', peer: { address: '2001:db8::1', kind: 'tls' } },
    status: 403,
  },
  {
    name: 'metrics from another machine at the metrics listener',
    request: { target: '/metrics', peer: { address: '192.0.2.7', kind: 'tcp' }, listenerKind: 'metrics' },
    status: 200,
  },
  { name: 'a service route at the metrics listener', request: { listenerKind: 'metrics' }, status: 404 },
  {
    name: 'metrics over a Unix socket',
    request: { target: '/metrics', peer: { address: '', kind: 'unix' } },
    status: 200,
  },
  {
    name: 'health from another machine',
    request: { target: '/healthz', peer: { address: '192.0.2.7', kind: 'tcp' } },
    status: 200,
  },
  { name: 'health on a crowded connection', request: { target: '/healthz', crowded: true }, status: 200 },
]

function packed(coding: 'gzip' | 'br' | 'zstd', bytes: Uint8Array): Uint8Array {
  if (coding === 'gzip') return zlib.gzipSync(bytes)
  return coding === 'br' ? zlib.brotliCompressSync(bytes) : zlib.zstdCompressSync(bytes)
}

/** Bytes that do not pack: a ratio near 1. */
function noise(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let at = 0, state = 1; at < length; at += 1) {
    state = (state * 48_271) % 0x7fff_ffff
    bytes[at] = state >> 8
  }
  return bytes
}

describe('the pipeline answers', () => {
  for (const { name, request, config = {}, status, code } of CASES) {
    test(`${name}: ${status}${code === undefined ? '' : ` ${code}`}`, async () => {
      const { call, runtime, ingress } = fixture({ routes: ROUTES, config })
      const answer = await call(request)
      assert.equal(answer.status, status, answer.text)
      assert.match(answer.headers['x-corr-id'] ?? '', /^[0-9A-HJKMNP-TV-Z]{26}$/)
      if (request.method !== 'HEAD')
        assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.text)))
      if (status >= 400) {
        const problem = answer.json()
        assert.equal(answer.headers['content-type'], 'application/problem+json')
        assert.equal(problem['status'], status)
        assert.equal(problem['corr_id'], answer.headers['x-corr-id'])
        assert.equal(answer.headers['retry-after'] !== undefined, status === 429 || status === 503)
        if (code !== undefined) assert.equal(problem['code'], code)
      }
      assert.equal(ingress.openRequests, 0)
      assert.deepEqual(leaks(runtime), [])
    })
  }
})
