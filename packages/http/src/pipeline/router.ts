import type { Labels, Metrics } from '@cairn/kernel'
import FindMyWay from 'find-my-way'
import { checked } from '../request/body.ts'
import type { Route, RouteTable } from './route.ts'

/** A route, and what of the path are its parameters. */
export class FoundRoute {
  readonly tag = 'found'
  readonly served: ServedRoute
  /** As they stand in the path. */
  readonly params: Readonly<Record<string, string | undefined>>
  #checked: unknown

  constructor(served: ServedRoute, params: Readonly<Record<string, string | undefined>>) {
    this.served = served
    this.params = params
  }

  /** The parameters as the route's schema wants them; throws if they are not of that form. */
  get checkedParams(): unknown {
    const { params: schema } = this.served.route
    if (schema === undefined) return this.params
    this.#checked ??= checked(schema, this.params, 'The path')
    return this.#checked
  }
}

export type RouteMatch =
  | FoundRoute
  | { readonly tag: 'unknown' }
  /** The path is served, but not with this method. */
  | { readonly tag: 'method'; readonly allow: readonly string[] }

interface RouteCount {
  readonly labels: { readonly route: string; readonly method: string; readonly status: string }
  count: number
}

/** A route and what is counted of it. */
export class ServedRoute {
  readonly route: Route
  /** Requests in flight on it, streams included. */
  open = 0
  readonly #tallies = new Map<number, RouteCount>()
  /** The same object every time, which is what the metrics are quick with. */
  readonly #labels: Labels
  #latencies: number[] = []

  constructor(route: Route) {
    this.route = route
    this.#labels = { route: route.path, method: route.method }
  }

  note(status: number, elapsedMs: number): void {
    let tally = this.#tallies.get(status)
    if (tally === undefined) {
      tally = { labels: { route: this.route.path, method: this.route.method, status: String(status) }, count: 0 }
      this.#tallies.set(status, tally)
    }
    tally.count += 1
    this.#latencies.push(elapsedMs)
  }

  /** What was noted since the last time. */
  handOver(metrics: Metrics): void {
    for (const tally of this.#tallies.values()) {
      if (tally.count > 0) metrics.count('http_requests_total', tally.labels, tally.count)
      tally.count = 0
    }
    const latencies = this.#latencies
    this.#latencies = []
    for (const elapsedMs of latencies) metrics.observe('request_latency_seconds', elapsedMs / 1000, this.#labels)
  }
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'M-SEARCH'] as const
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/** Path parameters are bounded by the header limit; the library's own bound of 100 would cut names short. */
const PARAMETER_LENGTH_MAX = 16_384

const RECENT_MAX = 1024
/** Longer paths are searched for each time, so that no client can fill the memory with them. */
const RECENT_LENGTH_MAX = 128

/** Finds the route of a normalised path. A `GET` route answers `HEAD` as well. */
export class Router {
  readonly #finder = FindMyWay({ maxParamLength: PARAMETER_LENGTH_MAX })
  readonly #served = new Map<unknown, ServedRoute>()
  readonly #methods = new Set<string>()
  /** Routes without parameters, by method and path: found without searching. */
  readonly #fixed = new Map<string, Map<string, RouteMatch>>(METHODS.map((method) => [method, new Map()]))

  /** Paths of GET routes that were asked for lately, in two generations: what fills the second pushes out the first. */
  #young = new Map<string, FoundRoute>()
  #old = new Map<string, FoundRoute>()

  constructor(table: RouteTable) {
    for (const route of table) {
      const served = new ServedRoute(route)
      // Never called: it stands for the route, since the library finds functions.
      const key = (): void => {}
      this.#served.set(key, served)
      for (const method of route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method]) {
        this.#methods.add(method)
        this.#finder.on(method, route.path, key)
        if (!/[:*(]/.test(route.path)) this.#fixed.get(method)?.set(route.path, new FoundRoute(served, NO_PARAMS))
      }
    }
  }

  find(method: string, path: string): RouteMatch {
    return this.#fixed.get(method)?.get(path) ?? this.#recent(method, path) ?? this.#search(method, path)
  }

  get routes(): Iterable<ServedRoute> {
    return this.#served.values()
  }

  /** A path that was asked for lately: searching again would find the same. */
  #recent(method: string, path: string): RouteMatch | undefined {
    if (method !== 'GET' || path.length > RECENT_LENGTH_MAX) return undefined
    const young = this.#young.get(path)
    if (young !== undefined) return young
    const found = this.#old.get(path) ?? this.#lookUp(method, path)
    if (found === undefined) return undefined
    if (this.#young.size >= RECENT_MAX) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(path, found)
    return found
  }

  #search(method: string, path: string): RouteMatch {
    const asked = this.#lookUp(method, path)
    if (asked !== undefined) return asked
    const allow = [...this.#methods].filter((other) => this.#lookUp(other, path) !== undefined)
    return allow.length === 0 ? { tag: 'unknown' } : { tag: 'method', allow }
  }

  #lookUp(method: string, path: string): FoundRoute | undefined {
    const known = METHODS.find((candidate) => candidate === method)
    const found = known === undefined ? null : this.#finder.find(known, path)
    const served = this.#served.get(found?.handler)
    return found === null || served === undefined ? undefined : new FoundRoute(served, found.params)
  }
}
