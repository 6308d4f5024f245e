/** One request to storage and what must come back, asked by curl. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { ReadyEvent } from '../src/main.ts'
import { ask } from './asking.ts'
import { type CurlAnswer, curl } from './curl.ts'

interface Asked {
  readonly headers?: readonly string[]
  readonly body?: Uint8Array | undefined
  /** The administrator's unless said otherwise. */
  readonly bearer?: 'admin' | 'none' | 'another scope'
}

interface Told {
  /** Of a problem. */
  readonly code?: string
  readonly answers?: Readonly<Record<string, string | RegExp>>
  readonly gives?: (answer: CurlAnswer) => void
}

export interface Row extends Asked, Told {
  /** As the table of routes has it: `GET /o/{address}`. */
  readonly operation: string
  readonly target: string
  readonly status: number
}

export function row(operation: string, target: string, asked: Asked, status: number, told: string | Told = {}): Row {
  return { operation, target, ...asked, status, ...(typeof told === 'string' ? { code: told } : told) }
}

/** What the published table of routes says of one operation. */
export interface Operation {
  readonly name: string
  readonly scope: string | undefined
  readonly takesBody: boolean
  readonly statuses: readonly number[]
}

export function publishedOperations(): Operation[] {
  type Described = { security?: { capability: string[] }[]; requestBody?: object; responses: object }
  const file = new URL('../../docs/generated/openapi-storage.json', import.meta.url)
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as { paths: Record<string, Record<string, Described>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security, requestBody, responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      scope: security?.[0]?.capability[0],
      takesBody: requestBody !== undefined,
      statuses: Object.keys(responses).map(Number),
    })),
  )
}

/** The operation asked for an object that is there. */
export function plainRow({ name, takesBody }: Operation, address: string): Row {
  const [, path = ''] = name.split(' ')
  const target = path.replace('{address}', address).replace('{owner}', 'mailbox')
  return row(name, target, takesBody ? { body: Buffer.from('plain') } : {}, 200)
}

/** Asks one node's storage as its administrator. */
export class Asker {
  readonly url: string
  readonly admin: string
  readonly #without: (scope: string | undefined) => string
  readonly #operations = publishedOperations()

  private constructor(url: string, admin: string, without: (scope: string | undefined) => string) {
    this.url = url
    this.admin = admin
    this.#without = without
  }

  static async of({ urls }: ReadyEvent, admin: string): Promise<Asker> {
    const mint = async (scope: string): Promise<string> => {
      const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ aud: 'storage', scopes: [scope] })
      const answer = await ask(urls['node']?.[0] ?? '', '/admin/tokens', { method: 'POST', headers, body })
      return (JSON.parse(answer.body) as { token: string }).token
    }
    const [events, hold] = [await mint('events:read'), await mint('storage:hold')]
    return new Asker(urls['storage']?.[0] ?? '', admin, (scope) => (scope === 'events:read' ? hold : events))
  }

  async ask(asked: Row): Promise<void> {
    const [method = '', _path] = asked.operation.split(' ')
    const { headers = [], body, bearer = 'admin', target } = asked
    const scope = this.#operations.find(({ name }) => name === asked.operation)?.scope
    const token = { admin: this.admin, none: undefined, 'another scope': this.#without(scope) }[bearer]
    const fields = [...headers]
    if (token !== undefined) fields.push(`Authorization: Bearer ${token}`)
    if (!fields.some((field) => field.startsWith('Content-Type:')))
      fields.push('Content-Type: application/octet-stream')
    const args = [
      ...(method === 'HEAD' ? ['--head'] : ['--request', method]),
      ...fields.flatMap((field) => ['--header', field]),
      ...(body === undefined ? [] : ['--data-binary', '@-']),
      `${this.url}${target}`,
    ]
    checkAnswer(await curl(args, body), asked)
  }
}

function checkAnswer({ status, headers, body }: CurlAnswer, told: Row): void {
  assert.equal(status, told.status, body.toString().slice(0, 300))
  assert.match(headers['x-corr-id'] ?? '', /^[0-9A-HJKMNP-TV-Z]{26}$/)
  for (const [name, expected] of Object.entries(told.answers ?? {})) {
    if (typeof expected === 'string') assert.equal(headers[name], expected, name)
    else assert.match(headers[name] ?? '', expected, name)
  }
  if (told.code !== undefined) checkProblem({ status, headers, body }, told.code)
  told.gives?.({ status, headers, body })
}

function checkProblem({ status, headers, body }: CurlAnswer, code: string): void {
  assert.equal(headers['content-type'], 'application/problem+json')
  const problem = JSON.parse(body.toString()) as Record<string, unknown>
  assert.deepEqual([problem['code'], problem['status'], problem['corr_id']], [code, status, headers['x-corr-id']])
  for (const field of ['type', 'title', 'detail']) assert.equal(typeof problem[field], 'string', field)
  if (status === 429 || status === 503) assert.match(headers['retry-after'] ?? '', /^\d+$/)
  if (status === 415) assert.equal(headers['accept-encoding'], 'gzip, br, zstd')
}
