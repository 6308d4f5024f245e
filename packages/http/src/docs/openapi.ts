/** The table of routes as an OpenAPI 3.1 document. */
import type { ResponseRow, Schema } from '@cairn/api'
import { z } from 'zod'
import type { Route, RouteTable } from '../pipeline/route.ts'
import type { ProblemStyle } from '../response/responder.ts'

export interface ApiTitle {
  readonly title: string
  readonly version: string
  readonly description: string
}

type Json = Readonly<Record<string, unknown>>

/** What the pipeline itself may answer, for routes it concerns. */
const COMMON_ERRORS: readonly {
  readonly status: number
  readonly code: string
  readonly concerns: (route: Route) => boolean
}[] = [
  { status: 400, code: 'malformed', concerns: ({ lane }) => lane !== 'ops' },
  { status: 400, code: 'bad_coding', concerns: opensBody },
  { status: 401, code: 'token_missing', concerns: ({ scope }) => scope !== undefined },
  { status: 403, code: 'scope_missing', concerns: ({ scope }) => scope !== undefined },
  { status: 408, code: 'slow_body', concerns: takesBody },
  { status: 413, code: 'body_cap', concerns: takesBody },
  { status: 413, code: 'decompress_cap', concerns: opensBody },
  { status: 413, code: 'ratio_cap', concerns: opensBody },
  { status: 415, code: 'unsupported_coding', concerns: takesBody },
  { status: 415, code: 'unsupported_type', concerns: ({ body }) => body !== undefined && body !== 'bytes' },
  { status: 421, code: 'misdirected', concerns: () => true },
  { status: 429, code: 'busy', concerns: () => true },
  { status: 503, code: 'draining', concerns: ({ lane }) => lane !== 'ops' },
  { status: 431, code: 'header_cap', concerns: () => true },
  // A stream has no budget but the one its client may have given it.
  { status: 504, code: 'timeout', concerns: ({ lane }) => lane !== 'ops' },
]

function takesBody({ body, limits }: Route): boolean {
  return body !== undefined || limits?.streamBytes !== undefined
}

/** The body may come in a coding, which is undone before the handler sees it. */
function opensBody({ body, limits }: Route): boolean {
  return body !== undefined && limits?.stream !== true
}

/** Status and code of everything a route may refuse with, its own and the pipeline's. */
export function errorsOf(
  route: Route,
  codes: ProblemStyle['codes'] = {},
): readonly { readonly status: number; readonly code: string }[] {
  const own = Object.entries(route.errors ?? {}).map(([code, status]) => ({ status, code }))
  const common = COMMON_ERRORS.filter(({ concerns }) => concerns(route)).map(({ status, code }) => {
    const named = codes[code] ?? code
    return typeof named === 'string' ? { status, code: named } : named
  })
  const all = new Map([...own, ...common].map((row) => [`${row.status} ${row.code}`, row]))
  return [...all.values()].sort((a, b) => a.status - b.status)
}

/** `codes` are the service's own names for the codes of the ingress, as it gives them to `runService`. */
export function openApi(info: ApiTitle, table: RouteTable, codes: ProblemStyle['codes'] = {}): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of table) {
    // The document has a word for the usual methods only.
    if (route.method === 'M-SEARCH') continue
    const path = templateOf(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, codes) }
  }
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      securitySchemes: { capability: { type: 'http', scheme: 'bearer', description: 'A capability token.' } },
      schemas: { Problem: schemaOf(PROBLEM, 'output') },
    },
  }
}

const PROBLEM = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().describe('Stable; what a program switches on.'),
  corr_id: z.string().describe('The same as in the X-Corr-ID header and in the log.'),
  retry_after: z.int().optional().describe('Seconds, as in the Retry-After header.'),
})

/** `/o/:address` as `/o/{address}`; the rest of a path is `{path}`. */
function templateOf(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{path}')
}

function operationOf(route: Route, codes: ProblemStyle['codes']): Json {
  return {
    summary: route.summary,
    operationId: `${route.method.toLowerCase()} ${route.path}`,
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(route.scope === undefined ? {} : { security: [{ capability: [route.scope] }] }),
    ...requestBodyOf(route),
    responses: responsesOf(route, codes),
  }
}

function pathParameters({ path, params }: Route): Json[] {
  const properties = propertiesOf(params)
  const names = [...templateOf(path).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return names.map((name) => ({ name, in: 'path', required: true, schema: properties[name] ?? { type: 'string' } }))
}

function queryParameters({ query }: Route): Json[] {
  if (query === undefined) return []
  const { required } = schemaOf(query, 'input')
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name)
  return Object.entries(propertiesOf(query)).map(([name, schema]) => {
    return { name, in: 'query', required: isRequired(name), schema }
  })
}

function propertiesOf(schema: Schema | undefined): Readonly<Record<string, unknown>> {
  const properties = schema === undefined ? undefined : schemaOf(schema, 'input')['properties']
  return typeof properties === 'object' && properties !== null ? { ...properties } : {}
}

function requestBodyOf({ body, limits }: Route): Json {
  if (body === undefined && limits?.streamBytes === undefined) return {}
  const isJson = body !== undefined && body !== 'bytes'
  const content = isJson
    ? { 'application/json': { schema: schemaOf(body, 'input') } }
    : { 'application/octet-stream': {} }
  // No bytes are bytes too.
  const required = isJson && !z.core.safeParse(body, undefined).success
  return { requestBody: { required, content } }
}

function responsesOf(route: Route, names: ProblemStyle['codes']): Json {
  const responses: Record<string, Json> = {}
  for (const [status, row] of Object.entries(route.responses)) responses[status] = responseOf(row)
  for (const [status, errors] of Object.entries(Object.groupBy(errorsOf(route, names), (error) => error.status))) {
    const codes = errors?.map(({ code }) => `\`${code}\``).join(', ')
    const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
    responses[status] = { description: `Refused: ${codes}.`, content }
  }
  return responses
}

function responseOf({ description, schema, mediaType = 'application/json' }: ResponseRow): Json {
  if (schema !== undefined) return { description, content: { [mediaType]: { schema: schemaOf(schema, 'output') } } }
  return mediaType === 'application/json' ? { description } : { description, content: { [mediaType]: {} } }
}

function schemaOf(schema: Schema, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}
