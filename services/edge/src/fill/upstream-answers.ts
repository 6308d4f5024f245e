/**
 * A request for something an upstream has.
 *
 *     stored? ─┬─ fresh ──▶ answer at once
 *              ├─ stale, may be used meanwhile ──▶ answer at once, ask in the background
 *              └─ no, or to be asked about ──▶ the fill of the key ─┬─ growing: read along
 *                                                                   ├─ stored: answer from it
 *                                                                   └─ private, and not ours ──▶ a fill of our own
 */
import { CairnError, Cancel, Deadline, type Runtime } from '@cairn/kernel'
import type { Inflate } from '@cairn/platform'
import type { IngressResponse, InterimListener } from '@cairn/transport'
import { ageAndCacheHeaders, type EntryAnswers, headerArray } from '../answers/entry-answer.ts'
import { accepts, knownCoding, preferredCoding } from '../answers/response-headers.ts'
import { type EdgeRequestContext, serve } from '../answers/serve.ts'
import {
  type CacheOutcome,
  type FieldOf,
  isSelected,
  mayStandIn,
  type RequestDirectives,
  requestDirectives,
  selectingOf,
  useOf,
} from '../caching/reuse.ts'
import { freshnessOf, type HeaderMap, ttlMs } from '../caching/stored-response.ts'
import { invalidatedBy, keptHeaders } from '../caching/storing.ts'
import type { StoredEntry } from '../cas/entry.ts'
import type { EdgeConfig } from '../config.ts'
import { badUpstream, methodNotAllowed, notAllowed, notCached } from '../errors.ts'
import { askUpstream, bodyOf, giveUp, type UpstreamAnswer } from './ask-upstream.ts'
import type { Fill, FillState, Growth } from './fill.ts'
import { type FillDependencies, fillUpstream, type UpstreamFill } from './fill-upstream.ts'
import { isFinal, type Joined } from './fills.ts'
import { decoded, type Passing, type PassOnRequest, passOn, servingOf } from './pass-on.ts'
import type { UpstreamRoute } from './upstream-route.ts'

/** Another client's answer was private, or selected by something else; after this many, something is odd. */
const JOINS_MAX = 4
/** For the disk to take the rest of a response that is all here. */
const SETTLE_MS = 250

export interface UpstreamAnswersOptions extends FillDependencies {
  readonly runtime: Runtime
  readonly config: () => EdgeConfig
  readonly entries: EntryAnswers
  readonly inflate: Inflate
}

/** What a request asks for, worked out once. */
interface WantedResponse extends PassOnRequest {
  readonly url: URL
  readonly key: string
  readonly headers: HeaderMap
  readonly fieldOf: FieldOf
  readonly request: RequestDirectives
}

type Why = Extract<CacheOutcome, { tag: 'forwarded' }>['why']

export class UpstreamAnswers {
  readonly #options: UpstreamAnswersOptions

  constructor(around: UpstreamAnswersOptions) {
    this.#options = around
  }

  /** At once where a stored response will do. */
  answer(context: EdgeRequestContext, route: UpstreamRoute, path: string): IngressResponse | Promise<IngressResponse> {
    return this.#answer(this.#wanted(context, route, path), true)
  }

  #answer(wanted: WantedResponse, mayWait: boolean): IngressResponse | Promise<IngressResponse> {
    const { request, key, config } = wanted
    const now = this.#options.runtime.clock.wall()
    const entries = this.#options.cas.entriesOf(key)
    const entry = selectEntry(entries, wanted.fieldOf)
    const use = entry === undefined ? 'validate' : useOf(entry.freshness, request, now)
    if (entry !== undefined && use !== 'validate') {
      if (use === 'stale-while-revalidate' && config.mode === 'live') this.#refresh(wanted, entry)
      return this.#hit(wanted, entry, now)
    }
    if (request.onlyIfCached) throw notCached()
    if (config.mode === 'offline') return this.#offline(wanted, entry, now)
    const flight = flightKey(wanted, entry ?? entries.at(-1))
    const settling = mayWait ? this.#options.fills.settling(flight) : undefined
    if (settling !== undefined) return this.#whenSettled(wanted, settling)
    const why = entry === undefined ? (entries.length > 0 ? 'vary-miss' : 'uri-miss') : whyOf(request)
    this.#options.runtime.metrics.count('edge_cache_misses_total', { cause: entry === undefined ? 'cold' : 'stale' })
    return this.#fill(wanted, entry, why, flight)
  }

  /**
   * A response that is all here is stored as soon as the disk has it: a moment's wait, and the upstream is asked with its
   * validators, or not at all. A disk that takes longer is not waited for.
   */
  async #whenSettled(wanted: WantedResponse, fill: Fill): Promise<IngressResponse> {
    const { clock } = this.#options.runtime
    const { signal } = wanted.context
    using cancel = new Cancel({ signals: [signal], deadline: Deadline.after(clock, SETTLE_MS) })
    try {
      await fill.state.until(isFinal, { signal: cancel.signal })
    } catch (error) {
      if (signal.aborted) throw error
    }
    return await this.#answer(wanted, false)
  }

  /** An unsafe method: handed on, never kept, and what it may have changed is forgotten. */
  async pass(
    context: EdgeRequestContext,
    route: UpstreamRoute,
    path: string,
    body: Uint8Array,
  ): Promise<IngressResponse> {
    if (!route.passMethods.includes(context.method)) throw methodNotAllowed()
    const wanted = this.#wanted(context, route, path)
    if (wanted.config.mode === 'offline') throw offline()
    const type = context.headers.slot('content-type')
    const headers = type === undefined ? wanted.headers : { ...wanted.headers, 'content-type': type }
    const { url } = wanted
    const onInterim = this.#informing(wanted)
    const question = { route: route.name, method: context.method, url, headers, body, onInterim }
    const asking = this.#options.upstream()
    const answer = await askUpstream(asking, { ...question, storedTag: undefined, isValidation: false }, context.signal)
    const gone = invalidatedBy(url, answer.head.status, answer.head.headers)
    if (gone.reduce((sum, each) => sum + this.#invalidate(route, each), 0) > 0) await this.#forget()
    return await this.#private(wanted, answer, { tag: 'forwarded', why: 'method', status: answer.head.status })
  }

  /** Before the change is told: what was there before it is not back after a restart. */
  async #forget(): Promise<void> {
    const { cas, runtime } = this.#options
    try {
      await cas.writeIndex()
    } catch (error) {
      // The upstream has changed, whatever our drive says; the janitor goes on trying.
      runtime.log.warn({ error }, 'what a change made invalid is not yet forgotten on the drive')
    }
  }

  /** How much that was. */
  #invalidate(route: UpstreamRoute, url: URL): number {
    const { cas, fills, runtime } = this.#options
    const key = route.key(url)
    const gone = cas.invalidate(key) + fills.invalidate(key)
    if (gone > 0) runtime.metrics.count('edge_invalidations_total', { route: route.name }, gone)
    return gone
  }

  #wanted(context: EdgeRequestContext, route: UpstreamRoute, path: string): WantedResponse {
    const { headers: fields } = context
    const acceptEncoding = fields.get('accept-encoding')
    const coding = preferredCoding(acceptEncoding)
    const url = route.url(path, context.queryText)
    const sent: Record<string, string> = { 'accept-encoding': coding }
    for (const name of route.requestNames) {
      const values = fields.all(name)
      if (values.length > 0) sent[name] = values.join(', ')
    }
    return {
      context,
      config: this.#options.config(),
      route,
      url,
      key: route.key(url),
      headers: sent,
      fieldOf: (name) => sent[name],
      request: requestDirectives(fields.get('cache-control'), fields.get('pragma')),
      acceptEncoding,
    }
  }

  #hit(wanted: WantedResponse, entry: StoredEntry, now: number): IngressResponse | Promise<IngressResponse> {
    const { cas, runtime } = this.#options
    cas.touch(entry)
    runtime.metrics.count('edge_cache_hits_total', { kind: 'cas' })
    return this.#fromEntry(wanted, entry, { tag: 'hit', ttlMs: ttlMs(entry.freshness, now) })
  }

  /** Nobody may be asked: what is here will do, where its origin does not forbid that. */
  #offline(
    wanted: WantedResponse,
    entry: StoredEntry | undefined,
    now: number,
  ): IngressResponse | Promise<IngressResponse> {
    if (entry === undefined || !mayStandIn(entry.freshness, now)) throw offline()
    const outcome = { tag: 'stood-in', ttlMs: ttlMs(entry.freshness, now), detail: 'offline' } as const
    return this.#fromEntry(wanted, entry, outcome)
  }

  #fromEntry(
    wanted: WantedResponse,
    entry: StoredEntry,
    outcome: CacheOutcome,
  ): IngressResponse | Promise<IngressResponse> {
    const { entries, runtime, cas } = this.#options
    const { context, acceptEncoding } = wanted
    const what = entries.representation(entry, runtime.clock.wall(), outcome)
    const coding = knownCoding(entry.headers['content-encoding'])
    if (coding === undefined || entry.body.size === 0 || accepts(acceptEncoding, coding))
      return serve(context, what, servingOf(runtime, wanted))
    const told = ageAndCacheHeaders(entry.freshness, runtime.clock.wall(), outcome)
    const body = cas.read(entry.body, { first: 0, last: entry.body.size - 1 })
    return decoded(this.#options, wanted, { status: entry.status, headers: entry.headers, body }, told)
  }

  #refresh(wanted: WantedResponse, entry: StoredEntry): void {
    const { fills } = this.#options
    const work = fillUpstream(this.#options, this.#toFill(wanted, entry, 'GET'))
    const order = { key: flightKey(wanted, entry), route: wanted.route.name, work }
    fills.background(order, wanted.context.draining)
  }

  #toFill(
    { key, route, url, headers, fieldOf, context, request }: WantedResponse,
    stored: StoredEntry | undefined,
    method: 'GET' | 'HEAD',
  ): UpstreamFill {
    const storable = {
      method,
      hasAuthorization: context.headers.slot('authorization') !== undefined,
      noStore: request.directives.has('no-store'),
    }
    return { key, route, url, method, headers, fieldOf, storable, stored }
  }

  async #fill(
    wanted: WantedResponse,
    entry: StoredEntry | undefined,
    why: Why,
    flight: string,
  ): Promise<IngressResponse> {
    const { fills } = this.#options
    const { context, route } = wanted
    const { signal } = context
    // A HEAD brings no body that could be shared, and an answer for one client is not waited for by others.
    const isHead = context.method === 'HEAD' && entry === undefined
    let isAlone = isHead || wanted.request.directives.has('no-store') || fills.isUnshared(wanted.key)
    let key = flight
    const mayShare = (state: FillState): boolean =>
      isReusable(state, wanted.request, this.#options.runtime.clock.wall())
    const work = fillUpstream(this.#options, this.#toFill(wanted, entry, isHead ? 'HEAD' : 'GET'))
    for (let joins = 1; ; joins += 1) {
      const order = { key, route: route.name, work }
      const leftMs = context.deadline.remaining()
      const joined = isAlone ? fills.alone(order, leftMs) : fills.join(order, leftMs, mayShare)
      const unfollow = joined.fill.follow(this.#informing(wanted))
      try {
        const state = await settled(joined, context).finally(unfollow)
        const answer = this.#fromState(wanted, joined, state, why)
        if (answer !== undefined) return await answer
        if (joins >= JOINS_MAX) throw badUpstream('gives every client another answer')
        if (state.tag === 'growing') key = variantKey(wanted, state.growth)
        else isAlone = true
        joined[Symbol.dispose]()
      } catch (error) {
        joined[Symbol.dispose]()
        throw error
      }
      if (signal.aborted) throw new CairnError('Canceled', 'The client has left.')
    }
  }

  /** What the upstream says before its answer goes on to the client, with the headers that its answer may have. */
  #informing({ context, route }: WantedResponse): InterimListener {
    return (status, headers) => context.inform(status, headerArray(keptHeaders(headers, route.responseNames)))
  }

  /** The answer that a state gives us; nothing if it is for somebody else. Lets go of `joined` when that is due. */
  #fromState(
    wanted: WantedResponse,
    joined: Joined,
    state: FillState,
    why: Why,
  ): IngressResponse | Promise<IngressResponse> | undefined {
    const collapsed = !joined.isFirst
    const { runtime } = this.#options
    switch (state.tag) {
      case 'growing':
      case 'unkept': {
        const { selecting, head } = state.growth
        if (!isSelected(selecting, wanted.fieldOf, head.headers['content-language'])) return undefined
        return this.#readAlong(wanted, joined, state.growth, { tag: 'forwarded', why, stored: true, collapsed })
      }
      case 'stored': {
        if (!isSelected(state.entry.selecting, wanted.fieldOf)) return undefined
        joined[Symbol.dispose]()
        return this.#fromEntry(wanted, state.entry, outcomeOf(state, why, collapsed, runtime.clock.wall()))
      }
      case 'private': {
        const answer = joined.isFirst ? joined.fill.takePrivate() : undefined
        if (answer === undefined) {
          const { status } = state.answer.head
          // An upstream in trouble is not asked once more by everybody who waited.
          if (status >= 500) throw badUpstream(`answered ${status}`)
          return undefined
        }
        runtime.metrics.count('edge_cache_misses_total', { cause: 'bypass' })
        joined[Symbol.dispose]()
        return this.#private(wanted, answer, { tag: 'forwarded', why, status: answer.head.status })
      }
      case 'failed':
        throw state.error
      case 'asking':
        throw new CairnError('Internal', 'A fill was answered from before it was asked.')
    }
  }

  /** While it grows, at the pace of the one who reads. */
  #readAlong(
    wanted: WantedResponse,
    joined: Joined,
    { head, body, length }: Growth,
    outcome: CacheOutcome,
  ): IngressResponse | Promise<IngressResponse> {
    const { context, route } = wanted
    const { metrics } = this.#options.runtime
    const labels = { route: route.name }
    const letGo = (): void => joined[Symbol.dispose]()
    const read = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for await (const piece of body.read(context.signal)) {
          metrics.count('edge_bytes_out_total', labels, piece.length)
          yield piece
        }
      } finally {
        letGo()
      }
    }
    const answer = { head, headers: head.headers, length: length?.toString(), body: read(), letGo }
    return passOn(this.#options, wanted, answer, outcome)
  }

  /** Straight from the upstream to the one who asked. */
  #private(
    wanted: WantedResponse,
    answer: UpstreamAnswer,
    outcome: CacheOutcome,
  ): IngressResponse | Promise<IngressResponse> {
    const { runtime } = this.#options
    const { head } = answer
    const { 'content-length': said = '' } = head.headers
    const passing: Passing = {
      head,
      headers: keptHeaders(head.headers, wanted.route.responseNames),
      length: /^\d+$/.test(said) ? said : undefined,
      // What was asked for by HEAD has none.
      body: wanted.context.method === 'HEAD' ? undefined : bodyOf({ runtime }, wanted.route.name, answer),
      // Nothing was read of it and nobody will. Returning a generator that has not begun runs none of its code.
      letGo: () => giveUp(answer),
    }
    return passOn(this.#options, wanted, passing, outcome)
  }
}

/** Whoever wants a part, or has a condition, waits for the end: only then is it known what there is. */
async function settled({ fill }: Joined, { headers, signal }: EdgeRequestContext): Promise<FillState> {
  const waitsForEnd = ['range', 'if-none-match', 'if-match', 'if-modified-since', 'if-unmodified-since'] as const
  const isWaitingForEnd = waitsForEnd.some((name) => headers.slot(name) !== undefined)
  return await fill.state.until((state) => (isWaitingForEnd ? isFinal(state) : state.tag !== 'asking'), { signal })
}

/**
 * Whether a request that comes after the header may be given this answer: only where a stored copy of it would be used
 * without asking. Until it is durable, and that takes a while on a disk, a fill could otherwise answer from the past.
 */
function isReusable(state: FillState, request: RequestDirectives, now: number): boolean {
  switch (state.tag) {
    case 'asking':
      return true
    case 'growing':
    case 'unkept':
      return useOf(freshnessOf(state.growth.head), request, now) !== 'validate'
    case 'stored':
      return useOf(state.entry.freshness, request, now) !== 'validate'
    case 'private':
    case 'failed':
      return false
  }
}

function outcomeOf(
  { entry, how }: Extract<FillState, { tag: 'stored' }>,
  why: Why,
  collapsed: boolean,
  now: number,
): CacheOutcome {
  if (how === 'stood-in') return { tag: 'stood-in', ttlMs: ttlMs(entry.freshness, now), detail: 'upstream-failed' }
  return { tag: 'forwarded', why, status: how === 'validated' ? 304 : entry.status, stored: true, collapsed }
}

function whyOf(request: RequestDirectives): Why {
  return request.mustAsk ? 'request' : 'stale'
}

/** The newest of those the request is selected by. */
function selectEntry(entries: readonly StoredEntry[], fieldOf: FieldOf): StoredEntry | undefined {
  return entries.findLast(({ selecting, headers }) => isSelected(selecting, fieldOf, headers['content-language']))
}

/** Requests that a stored response tells apart are filled apart. */
function flightKey({ key, fieldOf }: WantedResponse, like: StoredEntry | undefined): string {
  return like === undefined ? key : `${key}\n${JSON.stringify(selectingOf(namesOf(like), fieldOf))}`
}

function variantKey({ key, fieldOf }: WantedResponse, growth: Growth): string {
  return `${key}\n${JSON.stringify(
    selectingOf(
      growth.selecting.map(([name]) => name),
      fieldOf,
    ),
  )}`
}

function namesOf({ selecting }: StoredEntry): readonly string[] {
  return selecting.map(([name]) => name)
}

function offline(): CairnError {
  return notAllowed('This edge is offline and asks no upstream; set edge.mode to live.')
}
