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

/** A route and what is counted of it. */
export class ServedRoute {
  readonly route: Route
  readonly #counted = new Map<number, { route: string; method: string; status: string }>()
  readonly latency: { readonly route: string; readonly method: string }
  /** Requests in flight on it, streams included. */
  open = 0

  constructor(route: Route) {
    this.route = route
    this.latency = { route: route.path, method: route.method }
  }

  /** Labels are made once for each status, not once for each request. */
  labels(status: number): { route: string; method: string; status: string } {
    let labels = this.#counted.get(status)
    if (labels === undefined) {
      labels = { route: this.route.path, method: this.route.method, status: String(status) }
      this.#counted.set(status, labels)
    }
    return labels
  }
}

/** Path parameters are bounded by the header limit; the library's own bound of 100 would cut names short. */
const PARAMETER_LENGTH_MAX = 16_384

/** Finds the route of a normalised path. A `GET` route answers `HEAD` as well. */
export class Router {
  readonly #finder = FindMyWay({ maxParamLength: PARAMETER_LENGTH_MAX })
  readonly #served = new Map<unknown, ServedRoute>()
  readonly #methods: readonly FindMyWay.HTTPMethod[]

  constructor(table: RouteTable) {
    for (const route of table) {
      // Never called: it stands for the route, since the library finds functions.
      const key = (): void => {}
      this.#served.set(key, new ServedRoute(route))
      this.#finder.on(route.method === 'GET' ? ['GET', 'HEAD'] : route.method, route.path, key)
    }
    this.#methods = [
      ...new Set(table.flatMap(({ method }) => (method === 'GET' ? (['GET', 'HEAD'] as const) : [method]))),
    ]
  }

  find(method: string, path: string): RouteMatch {
    const known = this.#methods.find((candidate) => candidate === method)
    const found = known === undefined ? null : this.#finder.find(known, path)
    const served = this.#served.get(found?.handler)
    if (found !== null && served !== undefined) return { tag: 'found', served, params: found.params }
    const allow = this.#methods.filter((candidate) => this.#finder.find(candidate, path) !== null)
    return allow.length === 0 ? { tag: 'unknown' } : { tag: 'method', allow }
  }

  get routes(): Iterable<ServedRoute> {
    return this.#served.values()
  }
}
