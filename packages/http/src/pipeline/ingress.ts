/**
 * The way of every request, whatever carried it here.
 *
 *     framing, Host ─▶ path ─┬─▶ ops ─▶ handler ─▶ answer
 *                            └─▶ draining ─▶ connections ─▶ rate ─▶ cross-site ─▶ route ─▶ capability
 *                                  ─▶ in flight ─▶ body, inflate ─▶ deadline ─▶ lane ─▶ handler ─▶ answer
 *
 * Every step passes or throws; a throw is answered as a problem. What is accepted is answered: by its handler, at
 * its deadline, or when the service stops waiting.
 */
import { CairnError, parseBudget, type Runtime, type Shutdown, type TaskContext, timedOut, Watch } from '@cairn/kernel'
import { type Inflate, threadInflate } from '@cairn/platform'
import { type IngressResponse, isStream } from '@cairn/transport'
import type { IpBlock, Scope } from '@cairn/wire'
import { openApi } from '../docs/openapi.ts'
import { type BodyDecoder, parseQuery, takeBody } from '../request/body.ts'
import { clientAddress, isLocal, isLoopback, proxyBlocks } from '../request/client-address.ts'
import { CorrelationIds } from '../request/correlation.ts'
import { preflight, refuseCrossSiteEmbed, refuseCrossSiteWrite } from '../request/cross-origin.ts'
import {
  checkExpectation,
  checkFraming,
  crowded,
  draining,
  HostNames,
  notFound,
  readTarget,
} from '../request/request-checks.ts'
import { RequestHeaders } from '../request/request-headers.ts'
import { AccountedStream, discardBody } from '../response/accounted-stream.ts'
import type { CompletedResponse, IngressRequest } from '../response/message.ts'
import { type ProblemStyle, Responder } from '../response/responder.ts'
import { Admission } from './admission.ts'
import { type Authorizer, authorize } from './authorizer.ts'
import type { IngressConfig } from './config.ts'
import { Exchange } from './exchange.ts'
import type { Traffic } from './metrics.ts'
import { isLocalOnly, isNeverRefused, type OpsSource, opsRoutes } from './ops-routes.ts'
import { defineRoutes, type RequestContext, type Route, type RouteTable } from './route.ts'
import { type FoundRoute, Router, type ServedRoute } from './router.ts'

export type HandlerResult = IngressResponse | Promise<IngressResponse>

/** Runs the handler of a `work` route where the service wants it run. */
export type WorkLane = (
  context: RequestContext<unknown, unknown, unknown>,
  run: () => HandlerResult,
) => Promise<IngressResponse>

export interface IngressOptions extends ProblemStyle {
  readonly runtime: Runtime
  readonly shutdown: Shutdown
  readonly routes: RouteTable
  readonly ops: Omit<OpsSource, 'shutdown' | 'topology' | 'apiText'>
  /** What the service is for, in a sentence; its OpenAPI document begins with it. */
  readonly about?: string | undefined
  readonly config: IngressConfig
  readonly authorizer: Authorizer
  /** Needed by a table with `work` routes. */
  readonly work?: WorkLane
  readonly inflate?: Inflate
  readonly sites?: SiteHosts
}

/** Hosts that serve users' pages: only these routes are served there, so that no page shares an origin with an API. */
export interface SiteHosts {
  readonly routes: RouteTable
  /** Asked for every request, so that a reload takes hold at once. */
  readonly hosts: () => readonly string[]
}

export class Ingress {
  readonly #options: IngressOptions
  readonly #runtime: Runtime
  readonly #shutdown: Shutdown
  readonly #router: Router
  readonly #siteRouter: Router
  readonly #admission: Admission
  readonly #ids: CorrelationIds
  readonly #answers: Responder
  readonly #decoder: BodyDecoder
  #config: IngressConfig
  #apiText: string | undefined
  #hosts: HostNames
  #proxies: readonly IpBlock[]
  /** Accepted and not yet over, streams included: what a shutdown waits for, and aborts in the end. */
  readonly #open = new Set<Exchange>()
  readonly #isIdle = new Watch(true)

  constructor(options: IngressOptions) {
    const { runtime, shutdown, config, routes, ops } = options
    this.#options = options
    this.#runtime = runtime
    this.#shutdown = shutdown
    this.#config = config
    const metricsText = (): string | Promise<string> => {
      this.updateMetrics()
      return ops.metricsText()
    }
    const apiText = (): string => this.apiText()
    const own = opsRoutes({ ...ops, shutdown, topology: runtime.topology, metricsText, apiText })
    this.#router = new Router(defineRoutes([...own, ...routes]))
    this.#siteRouter = new Router(defineRoutes(options.sites?.routes ?? []))
    if (options.work === undefined && routes.some(({ lane }) => lane === 'work'))
      throw new TypeError('A table with work routes needs a work lane.')
    this.#admission = new Admission(runtime, config)
    this.#ids = new CorrelationIds(runtime)
    this.#answers = new Responder(runtime, shutdown, config, options)
    const { inflate = threadInflate } = options
    this.#decoder = { inflate, metrics: runtime.metrics, admission: this.#admission }
    this.#hosts = new HostNames(config.hosts)
    this.#proxies = proxyBlocks(config.trusted_proxies)
  }

  /** Returns the table of routes as an OpenAPI document, made at first use. */
  apiText(): string {
    const { ops, routes, codes, about = '' } = this.#options
    this.#apiText ??= JSON.stringify(
      openApi({ title: `cairn ${String(ops.version['service'])}`, version: '1', description: about }, routes, codes),
    )
    return this.#apiText
  }

  /** The row that serves this request, for tests that hold an answer against it. */
  routeOf(method: string, target: string): Route | undefined {
    const match = this.#router.find(method, target.replace(/[?#].*$/, ''))
    return match.tag === 'found' ? match.served.route : undefined
  }

  /** What there was to do since the start. */
  get traffic(): Readonly<Traffic> {
    return this.#answers.traffic
  }

  /** New limits, for every request that comes from now on. */
  reconfigure(config: IngressConfig): void {
    this.#proxies = proxyBlocks(config.trusted_proxies)
    this.#hosts = new HostNames(config.hosts)
    this.#admission.reconfigure(config)
    this.#answers.reconfigure(config)
    this.#config = config
  }

  /** The answer to a request; never rejects. A body in it must be read to its end or returned. */
  async handle(request: IngressRequest): Promise<IngressResponse> {
    const { headers, added, ...rest } = await this.answer(request)
    return { ...rest, headers: [...headers, ...added] }
  }

  /** The same, at once where nothing has to be waited for. */
  answer(request: IngressRequest): CompletedResponse | Promise<CompletedResponse> {
    const headers = request.headers instanceof RequestHeaders ? request.headers : new RequestHeaders(request.headers)
    const id = this.#ids.of(headers.slot('x-corr-id'))
    const exchange = new Exchange(this.#runtime, request, headers, id, this.#shutdown.draining)
    let answer: HandlerResult
    try {
      answer = this.#enter(exchange)
    } catch (error) {
      answer = this.#answers.refusal(exchange, error)
    }
    return answer instanceof Promise ? this.#settle(exchange, answer) : this.#finish(exchange, answer)
  }

  /** Requests accepted and not yet over. */
  get openRequests(): number {
    return this.#open.size
  }

  /**
   * The body of a service's listener task: returns once the service drains, no service in front needs it any more and
   * nothing accepted is open, or, at the drain deadline, once everything still open has been answered 503 and counted.
   */
  async run({ aborting, busyWhen }: Pick<TaskContext, 'aborting' | 'busyWhen'>): Promise<void> {
    busyWhen?.(() => this.#open.size > 0)
    // Heard before the workers hear it, so that a straggler counts as one wherever its work is.
    aborting.addEventListener('abort', this.#abortOpen, { once: true })
    try {
      await this.#shutdown.closedToWork.until((isClosed) => isClosed, { signal: aborting })
      this.#isIdle.set(this.#open.size === 0)
      await this.#isIdle.until((isIdle) => isIdle, { signal: aborting })
    } catch (error) {
      if (!aborting.aborted) throw error
    } finally {
      aborting.removeEventListener('abort', this.#abortOpen)
    }
  }

  readonly #abortOpen = (): void => {
    this.#runtime.metrics.count('tasks_aborted_total', { kind: 'request' }, this.#open.size)
    for (const exchange of this.#open) exchange.end(stopped())
  }

  #enter(exchange: Exchange): HandlerResult {
    const { request, headers } = exchange
    // After an offer to speak another protocol the parser of `node:http` may pass over what follows.
    exchange.isLast = headers.slot('upgrade') !== undefined
    try {
      checkFraming(headers)
    } catch (error) {
      exchange.isLast = true
      throw error
    }
    const { target, host } = readTarget(request.target, headers, this.#hosts)
    exchange.path = target.path
    exchange.queryText = target.query
    exchange.host = host
    const isSite = this.#options.sites?.hosts().includes(host) === true
    const match = (isSite ? this.#siteRouter : this.#router).find(request.method, target.path)
    if (match.tag === 'found') exchange.served = match.served
    if (this.#proxies.length > 0) {
      const forwardedFor = headers.slot('x-forwarded-for')
      exchange.clientAddress = clientAddress(exchange.clientAddress, forwardedFor, this.#proxies)
    }
    if (match.tag === 'found' && match.served.route.lane === 'ops') return this.#answerOps(exchange, match.served)
    if (request.listenerKind === 'metrics') throw notFound()
    if (!this.#shutdown.takesWork(request.listenerKind === 'peer-service' ? 'dependent' : 'outside')) throw draining()
    if (request.crowded) throw crowded()
    this.#admission.takeRateOf(exchange.clientAddress)
    if (exchange.served?.route.limits?.admission !== 'handler') this.#admission.takeRate()
    const origins = this.#config.cors.allow_origins
    refuseCrossSiteWrite(request.method, headers, origins)
    refuseCrossSiteEmbed(host, headers, origins)
    if (match.tag === 'unknown') throw notFound()
    if (match.tag === 'method') {
      exchange.allow = match.allow
      const answer = preflight(request.method, headers, origins, match.allow)
      if (answer !== undefined) return answer
      throw new CairnError('Malformed', `This path is served with ${match.allow.join(', ')}.`, {
        code: 'method_not_allowed',
        status: 405,
      })
    }
    return this.#admit(exchange, match)
  }

  #answerOps(exchange: Exchange, { route }: ServedRoute): HandlerResult {
    const { request } = exchange
    if (isLocalOnly(route.path) && request.listenerKind === 'service' && !isLocal(request.peer))
      throw new CairnError(
        'Forbidden',
        `${route.path} is for this machine only; set metrics_addr to serve it elsewhere.`,
        {
          code: 'local_only',
        },
      )
    const { clientAddress: address } = exchange
    const isProbe = request.listenerKind !== 'service' || address === '' || isLoopback(address)
    if (!isProbe && !isNeverRefused(route.path)) this.#admission.takeOpsOf(address)
    exchange.isHandled = true
    return route.handler(exchange)
  }

  #admit(exchange: Exchange, match: FoundRoute): HandlerResult {
    const { served, params } = match
    const { route } = served
    const { headers } = exchange
    exchange.params = params
    const scope = route.scopeInstead?.(exchange) ?? route.scope
    if (scope !== undefined) this.#authorize(exchange, scope, params['address'])
    const furtherScope = route.furtherScope?.(exchange)
    if (furtherScope !== undefined) this.#authorize(exchange, furtherScope, params['address'])
    checkExpectation(headers)
    const { stream } = route.limits ?? {}
    const isStreaming = typeof stream === 'function' ? stream(exchange) : stream === true
    const streamSeat = route.limits?.admission === 'handler' ? 'own' : 'stream'
    const seat = isStreaming ? streamSeat : 'inflight'
    this.#admission.take(seat)
    exchange.slot = seat
    served.open += 1
    exchange.params = match.checkedParams
    if (route.query !== undefined) exchange.query = parseQuery(route.query, exchange.queryText)
    this.#setBudget(exchange, isStreaming ? undefined : (route.limits?.timeoutMs ?? this.#config.request_timeout))
    if (exchange.budgetMs === 0) throw timedOut('the request')
    const hasNoBody = exchange.request.body === undefined && route.body === undefined && !isStreaming
    const reading = hasNoBody ? undefined : takeBody(exchange, route, this.#config, this.#decoder)
    if (reading === undefined) return this.#run(exchange, served)
    exchange.isReading = true
    return reading.then(() => {
      exchange.isReading = false
      exchange.deadline.throwIfExpired('the request')
      return this.#run(exchange, served)
    })
  }

  #authorize(exchange: Exchange, scope: Scope, address: string | undefined): void {
    authorize(this.#options.authorizer, exchange, scope, address, this.#runtime.metrics)
  }

  #setBudget(exchange: Exchange, serverMs: number | undefined): void {
    const { headers } = exchange
    const requestTimeout = headers.slot('request-timeout')
    const deadline = headers.slot('deadline')
    const asked =
      requestTimeout === undefined && deadline === undefined
        ? undefined
        : parseBudget({ requestTimeout, deadline }, this.#runtime.clock.wall())
    exchange.budgetMs = Math.min(asked ?? exchange.budgetMs, serverMs ?? exchange.budgetMs)
    exchange.hasOwnBudget = asked !== undefined && exchange.budgetMs === asked
  }

  #run(exchange: Exchange, { route }: ServedRoute): HandlerResult {
    exchange.isHandled = true
    const { work } = this.#options
    if (route.lane === 'work' && work !== undefined) return work(exchange, () => route.handler(exchange))
    return route.handler(exchange)
  }

  /** Waits for the handler, but not past the deadline nor past the end of the service. */
  #settle(exchange: Exchange, answer: Promise<IngressResponse>): Promise<CompletedResponse> {
    this.#track(exchange)
    return new Promise((resolve) => {
      const timer = exchange.isUnlimited
        ? undefined
        : this.#runtime.clock.timer(exchange.remainingMs, () => this.#outOfTime(exchange))
      exchange.onEnd = (reason) => {
        timer?.cancel()
        exchange.onEnd = undefined
        resolve(this.#answers.complete(exchange, this.#answers.refusal(exchange, reason)))
      }
      /** Whether the client still waits for this answer; false once `onEnd` has given another. */
      const isInTime = (): boolean => {
        timer?.cancel()
        return exchange.onEnd !== undefined
      }
      answer.then(
        (response) => {
          if (isInTime()) resolve(this.#finish(exchange, response))
          else this.#discard(exchange, response)
        },
        (error: unknown) => {
          if (isInTime()) resolve(this.#finish(exchange, this.#answers.refusal(exchange, error)))
          else this.#release(exchange)
        },
      )
    })
  }

  /** A body that is not in when our time is over is the client's doing, 408; past a budget of its own it hears 504. */
  #outOfTime(exchange: Exchange): void {
    const { isReading, hasOwnBudget, request } = exchange
    if (hasOwnBudget) exchange.end(timedOut('the request'))
    const isSlowBody = isReading && request.body?.giveUp?.() === true
    if (hasOwnBudget) return
    if (isSlowBody) this.#runtime.metrics.count('io_timeouts_total', { op: 'read' })
    else exchange.end(timedOut('the request'))
  }

  /** The handler came too late: its answer is released, and only now is its place free. */
  #discard(exchange: Exchange, { body, held }: IngressResponse): void {
    if (isStream(body)) discardBody(body)
    held?.[Symbol.dispose]()
    this.#release(exchange)
  }

  /** The last touches of an answer in time; frees its place, or keeps it until its body has been read. */
  #finish(exchange: Exchange, response: IngressResponse): CompletedResponse {
    if (!isStream(response.body) || exchange.method === 'HEAD') {
      if (isStream(response.body)) discardBody(response.body)
      this.#release(exchange)
      return this.#answers.complete(exchange, response)
    }
    if (exchange.slot === 'inflight') {
      try {
        this.#admission.take('stream')
      } catch (error) {
        this.#discard(exchange, response)
        return this.#answers.complete(exchange, this.#answers.refusal(exchange, error))
      }
      this.#admission.release('inflight')
      exchange.slot = 'stream'
    }
    this.#track(exchange)
    const body = new AccountedStream(response.body, lengthIn(response.headers), () => this.#release(exchange))
    return this.#answers.complete(exchange, { ...response, body })
  }

  /** It outlives the call that brought it; ops routes do not hold a shutdown up. */
  #track(exchange: Exchange): void {
    if (exchange.slot !== undefined) this.#open.add(exchange)
  }

  #release(exchange: Exchange): void {
    exchange.over()
    if (exchange.slot === undefined) return
    this.#admission.release(exchange.slot)
    exchange.slot = undefined
    this.#admission.releaseDecoded(exchange.decodedBytes)
    exchange.decodedBytes = 0
    if (exchange.served !== undefined) exchange.served.open -= 1
    if (!this.#open.delete(exchange)) return
    if (this.#open.size === 0 && this.#shutdown.closedToWork.value) this.#isIdle.set(true)
  }

  /** Brings the metrics up to this moment; the rest of the time they lag by a batch. */
  updateMetrics(): void {
    this.#answers.flush()
    const openByPath = new Map<string, number>()
    for (const { route, open } of [...this.#router.routes, ...this.#siteRouter.routes]) {
      if (route.lane !== 'ops') openByPath.set(route.path, (openByPath.get(route.path) ?? 0) + open)
    }
    for (const [route, open] of openByPath) this.#runtime.metrics.set('inflight_requests', open, { route })
  }
}

function stopped(): CairnError {
  return new CairnError('Canceled', 'The service stopped before this was done; ask again.', { retryAfterMs: 1000 })
}

function lengthIn(headers: readonly string[]): number | undefined {
  const at = headers.findIndex((field, index) => index % 2 === 0 && field.toLowerCase() === 'content-length')
  return at === -1 ? undefined : Number(headers[at + 1])
}
