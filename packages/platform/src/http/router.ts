import type { Metrics } from '@cairn/kernel'
import FindMyWay from 'find-my-way'
import type { Route, RouteTable } from './route.ts'

export type RouteMatch =
  | {
      readonly tag: 'found'
      readonly served: ServedRoute
      readonly params: Readonly<Record<string, string | undefined>>
    }
  | { readonly tag: 'unknown' }
  /** The path is served, but not with this method. */
  | { readonly tag: 'method'; readonly allow: readonly string[] }

interface Tally {
  readonly labels: { readonly route: string; readonly method: string; readonly status: string }
  count: number
}

/** A route and what is counted of it. */
export class ServedRoute {
  readonly route: Route
  /** Requests in flight on it, streams included. */
  open = 0
  readonly #tallies = new Map<number, Tally>()
  #latencies: number[] = []

  constructor(route: Route) {
    this.route = route
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
    const { path, method } = this.route
    for (const tally of this.#tallies.values()) {
      if (tally.count > 0) metrics.count('http_requests_total', tally.labels, tally.count)
      tally.count = 0
    }
    const latencies = this.#latencies
    this.#latencies = []
    const labels = { route: path, method }
    for (const elapsedMs of latencies) metrics.observe('request_latency_seconds', elapsedMs / 1000, labels)
  }
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE'] as const
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/** Path parameters are bounded by the header limit; the library's own bound of 100 would cut names short. */
const PARAMETER_LENGTH_MAX = 16_384

/** Finds the route of a normalised path. A `GET` route answers `HEAD` as well. */
export class Router {
  readonly #finder = FindMyWay({ maxParamLength: PARAMETER_LENGTH_MAX })
  readonly #served = new Map<unknown, ServedRoute>()
  readonly #methods = new Set<string>()
  /** Routes without parameters, by method and path: found without searching. */
  readonly #fixed = new Map<string, Map<string, RouteMatch>>(METHODS.map((method) => [method, new Map()]))

  constructor(table: RouteTable) {
    for (const route of table) {
      const served = new ServedRoute(route)
      // Never called: it stands for the route, since the library finds functions.
      const key = (): void => {}
      this.#served.set(key, served)
      for (const method of route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method]) {
        this.#methods.add(method)
        this.#finder.on(method, route.path, key)
        if (!/[:*(]/.test(route.path))
          this.#fixed.get(method)?.set(route.path, { tag: 'found', served, params: NO_PARAMS })
      }
    }
  }

  find(method: string, path: string): RouteMatch {
    return this.#fixed.get(method)?.get(path) ?? this.#search(method, path)
  }

  get routes(): Iterable<ServedRoute> {
    return this.#served.values()
  }

  #search(method: string, path: string): RouteMatch {
    const asked = this.#lookUp(method, path)
    if (asked !== undefined) return asked
    const allow = [...this.#methods].filter((other) => this.#lookUp(other, path) !== undefined)
    return allow.length === 0 ? { tag: 'unknown' } : { tag: 'method', allow }
  }

  #lookUp(method: string, path: string): RouteMatch | undefined {
    const known = METHODS.find((candidate) => candidate === method)
    const found = known === undefined ? null : this.#finder.find(known, path)
    const served = this.#served.get(found?.handler)
    return found === null || served === undefined ? undefined : { tag: 'found', served, params: found.params }
  }
}
