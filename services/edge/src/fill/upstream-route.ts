/** One configured upstream: how its URLs, keys and headers are made. */
import { joinUrl } from '@cairn/transport'
import { passedNames } from '../caching/storing.ts'
import { type EdgeConfig, type RouteConfig, routeConfigs } from '../config.ts'

/** Fields of a request every upstream is told. */
const FORWARDED: readonly string[] = ['accept']

/** Never told to an upstream, whatever a route lists: they are the client's, ours, or the connection's. */
const WITHHELD: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'cookie2',
  'proxy-authorization',
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'expect',
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'accept-encoding',
])

export class UpstreamRoute {
  readonly name: string
  readonly base: URL
  readonly passMethods: readonly string[]
  /** Lower-case names of the request fields handed on. */
  readonly requestNames: readonly string[]
  /** Lower-case names of the response fields handed on. */
  readonly responseNames: ReadonlySet<string>
  readonly #query: RouteConfig['query']

  constructor(name: string, config: RouteConfig) {
    this.name = name
    this.base = new URL(config.upstream)
    this.passMethods = config.pass_methods
    this.#query = config.query
    const listed = config.request_headers.map((field) => field.toLowerCase()).filter((field) => !WITHHELD.has(field))
    this.requestNames = [...new Set([...FORWARDED, ...listed])]
    this.responseNames = passedNames(config.response_headers)
  }

  /** Below the base, whatever the path holds; `Malformed` otherwise. */
  url(path: string, queryText: string): URL {
    const query = this.#keptQuery(queryText)
    return joinUrl(this.base, query === '' ? path : `${path}?${query}`)
  }

  /** What is asked for, in one spelling. The fields that select among its responses are kept with each response. */
  key(url: URL): string {
    return `u ${this.name}\n${url.pathname}${url.search}`
  }

  #keptQuery(queryText: string): string {
    if (this.#query === 'keep') return queryText
    if (this.#query === 'drop' || queryText === '') return ''
    const members = queryText.split('&')
    return this.#query
      .flatMap((name) => members.filter((member) => member === name || member.startsWith(`${name}=`)))
      .join('&')
  }
}

export type UpstreamRoutes = ReadonlyMap<string, UpstreamRoute>

export function upstreamRoutes(config: EdgeConfig): UpstreamRoutes {
  return new Map([...routeConfigs(config)].map(([name, row]) => [name, new UpstreamRoute(name, row)]))
}
