/** Requests the way any client makes them: over TCP, TLS or a Unix socket. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Asked {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  /** The certificate to trust. */
  readonly ca?: string
  /** What a relative `unix:` path starts from. */
  readonly directory?: string
}

/** Begins a request and leaves its body to the caller. */
export function open(
  url: string,
  path: string,
  { method = 'GET', headers = {}, ca, directory = '.' }: Asked,
): ClientRequest {
  const common: RequestOptions = { method, path, headers, agent: false }
  if (url.startsWith('unix:')) return httpRequest({ ...common, socketPath: resolve(directory, url.slice(5)) })
  const { protocol, hostname, port } = new URL(url)
  const target = { ...common, host: hostname, port }
  return protocol === 'https:' ? httpsRequest({ ...target, ca }) : httpRequest(target)
}

export async function answerTo(request: ClientRequest): Promise<Answer> {
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

export async function ask(url: string, path: string, asked: Asked = {}): Promise<Answer> {
  const request = open(url, path, asked)
  request.end(asked.body)
  return await answerTo(request)
}

export async function bearer(directory: string): Promise<Record<string, string>> {
  const token = (await readFile(`${directory}/.cairn/admin.token`, 'utf8')).trim()
  return { authorization: `Bearer ${token}` }
}

/** The value of a metric, 0 where it has none yet. */
export async function metric(url: string, name: RegExp): Promise<number> {
  const { body } = await ask(url, '/metrics')
  const line = body.split('\n').find((row) => !row.startsWith('#') && name.test(row))
  return line === undefined ? 0 : Number(line.split(' ').at(-1))
}
