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
