import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Health, LiveTopology, Shutdown } from '@cairn/kernel'
import { z } from 'zod'
import { opsRoutes } from '../pipeline/ops-routes.ts'
import { defineRoutes, type Route, route } from '../pipeline/route.ts'
import { json } from '../response/message.ts'
import { HELLO } from '../test/fixture.ts'
import { FILES, NOTE, UPLOAD } from '../test/routes.ts'
import { errorsOf, openApi } from './openapi.ts'
import { renderRoutes } from './route-docs.ts'

const PIN: Route = route({
  method: 'POST',
  path: '/admin/pin/:address',
  lane: 'work',
  summary: 'Pins.',
  scope: 'index:pin',
  body: z.strictObject({ days: z.int().min(1) }),
  responses: { 200: { description: 'Pinned.', schema: z.strictObject({ ok: z.boolean() }) } },
  errors: { not_found: 404 },
  handler: () => json(200, { ok: true }),
})

test('the document says what the table says', () => {
  const document = openApi(
    { title: 'index', version: '0.1.0', description: 'Finds.' },
    defineRoutes([PIN, NOTE, FILES]),
  )
  const { paths, openapi } = document as {
    openapi: string
    paths: Record<string, Record<string, Record<string, unknown>>>
  }
  assert.equal(openapi, '3.1.0')
  assert.deepEqual(Object.keys(paths), ['/admin/pin/{address}', '/notes/{name}', '/files/{path}'])
  const pin = paths['/admin/pin/{address}']?.['post']
  assert.deepEqual(pin?.['security'], [{ capability: ['index:pin'] }])
  assert.deepEqual(pin['requestBody'], {
    required: true,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: { days: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
          required: ['days'],
          additionalProperties: false,
        },
      },
    },
  })
  assert.equal(Object.keys(pin['responses'] as object).join(' '), '200 400 401 403 404 408 413 415 421 429 431 503 504')
  const put = paths['/notes/{name}']?.['put']
  assert.deepEqual(put?.['parameters'], [
    { name: 'name', in: 'path', required: true, schema: { type: 'string', maxLength: 8 } },
    { name: 'pin', in: 'query', required: false, schema: { type: 'string', enum: ['yes', 'no'] } },
  ])
})

test('a code that a service gives to two statuses is told with both', () => {
  const refusing = { ...PIN, errors: { MALFORMED: 400, BUSY: 503 } }
  const told = errorsOf(refusing, { malformed: 'MALFORMED', unsupported_coding: 'MALFORMED', busy: 'BUSY' })
  const of = (name: string): number[] => told.filter(({ code }) => code === name).map(({ status }) => status)
  assert.deepEqual(
    [of('MALFORMED'), of('BUSY')],
    [
      [400, 415],
      [429, 503],
    ],
  )
})

test('the Markdown table has one line for each route', () => {
  const ops = opsRoutes({
    health: new Health([]),
    shutdown: new Shutdown(),
    topology: new LiveTopology(() => {}),
    version: {},
    metricsText: () => '',
    apiText: () => '',
  })
  const text = renderRoutes(defineRoutes([...ops, PIN, UPLOAD]))
  const [above = '', empty, ...lines] = text.trimEnd().split('\n')
  assert.equal(empty, '')
  assert.equal(lines.length, 2 + 6 + 2)
  assert.match(above, /^Every route may refuse with 400 `malformed`, .*503 `draining`/)
  assert.match(
    text,
    /\| `POST` \| `\/admin\/pin\/:address` \| `index:pin` \| work \| Pins\. \| 200 \| .*404 `not_found`/,
  )
  assert.ok(!lines.at(-1)?.includes('`draining`'), 'said once')
  assert.match(text, /\| stream on request \|/)
})

for (const [name, rows] of [
  ['the same route twice', [HELLO, HELLO]],
  ['a path with a trailing slash', [{ ...HELLO, path: '/hello/' }]],
  ['a path with two slashes', [{ ...HELLO, path: '/hello//x' }]],
  ['a GET with a body', [{ ...HELLO, body: 'bytes' as const }]],
  ['an ops route with a scope', [{ ...HELLO, lane: 'ops' as const, scope: 'node:admin' as const }]],
  ['a stream with a schema', [{ ...NOTE, limits: { stream: true } }]],
] as const) {
  test(`${name} is not a table`, () => {
    assert.throws(() => defineRoutes(rows), TypeError)
  })
}

test('what only one route refuses, or not every route of a group, stands in its row', () => {
  const open: Route = { ...HELLO, method: 'GET', path: '/open', errors: { gone: 404 } }
  const lines = renderRoutes(defineRoutes([PIN, open])).split('\n')
  const row = (path: string): string => lines.find((line) => line.includes(`\`${path}\``)) ?? ''
  assert.match(row('/admin/pin/:address'), /403 `scope_missing`.*404 `not_found`/)
  assert.match(row('/open'), /404 `gone`/)
})
