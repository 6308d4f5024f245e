/** The work of a fill from an upstream: ask, judge, keep. Runs on a fill worker. */
import { type Bus, type CairnError, toCairnError } from '@cairn/kernel'
import { formatHttpDate } from '@cairn/wire'
import { type FieldOf, mayStandIn, selectingOf, validatorsOf } from '../caching/reuse.ts'
import type { HeaderMap, ResponseHead } from '../caching/stored-response.ts'
import { isStorable, keptHeaders, type StorableRequest, selectingNames, updatedHeaders } from '../caching/storing.ts'
import { BodyWriter } from '../cas/body-writer.ts'
import type { Cas } from '../cas/cas.ts'
import { entryId, makeEntry, type StoredEntry } from '../cas/entry.ts'
import type { EdgeEvents } from '../parts.ts'
import { askUpstream, bodyOf, giveUp, type UpstreamAnswer, type UpstreamDependencies } from './ask-upstream.ts'
import type { Fill, FillWork, Growth } from './fill.ts'
import type { Fills } from './fills.ts'
import type { UpstreamRoute } from './upstream-route.ts'

/** What is to be filled, and for what kind of client. */
export interface UpstreamFill {
  /** Under which it is stored. */
  readonly key: string
  readonly route: UpstreamRoute
  readonly url: URL
  readonly method: 'GET' | 'HEAD'
  /** As the upstream is sent them, without validators. */
  readonly headers: HeaderMap
  readonly fieldOf: FieldOf
  readonly storable: StorableRequest
  /** To be asked about. */
  readonly stored: StoredEntry | undefined
}

export interface FillDependencies {
  readonly upstream: () => UpstreamDependencies
  readonly cas: Cas
  readonly fills: Fills
  readonly events: Bus<EdgeEvents>
  readonly isAmnesiac: boolean
}

export function fillUpstream(around: FillDependencies, wanted: UpstreamFill): FillWork {
  return async (fill, signal) => {
    const asking = around.upstream()
    const { clock, metrics } = asking.runtime
    const beganAt = clock.now()
    const { route } = wanted
    // While the upstream is asked about it, it may make room or be made invalid: it must be whole when the answer comes.
    using held = wanted.stored === undefined ? undefined : around.cas.hold(wanted.stored.body)
    const stored = held === undefined ? undefined : wanted.stored
    try {
      const question = { ...questionOf({ ...wanted, stored }), onInterim: fill.inform }
      const answer = await askUpstream(asking, question, signal)
      metrics.observe('fill_latency_seconds', (clock.now() - beganAt) / 1000, { route: route.name })
      await settle(around, asking, fill, { ...wanted, stored }, answer)
      metrics.count('edge_live_fill_success_total', { route: route.name })
    } catch (error) {
      const failure = toCairnError(error)
      if (fill.state.value.tag === 'asking' && stored !== undefined && standsIn(failure, stored, clock.wall()))
        fill.state.set({ tag: 'stored', entry: stored, how: 'stood-in' })
      else throw failure
    }
  }
}

function questionOf({ route, url, method, headers, stored }: UpstreamFill) {
  const validators = stored === undefined ? {} : validatorsOf(stored.headers)
  return {
    route: route.name,
    url,
    method,
    headers: { ...headers, ...validators },
    storedTag: stored?.headers['etag'],
    isValidation: Object.keys(validators).length > 0,
  }
}

/** A refusal by our own policy is no failure of the upstream, and neither is a lie about what it has. */
function standsIn({ kind, code }: CairnError, stored: StoredEntry, now: number): boolean {
  const isUpstreams = kind === 'Timeout' || code === 'upstream' || code === 'bad_answer' || code === 'tls_untrusted'
  return isUpstreams && mayStandIn(stored.freshness, now)
}

async function settle(
  around: FillDependencies,
  asking: UpstreamDependencies,
  fill: Fill,
  wanted: UpstreamFill,
  answer: UpstreamAnswer,
): Promise<void> {
  const { head } = answer
  const { key, route, stored, storable } = wanted
  if (head.status === 304 && stored !== undefined) {
    giveUp(answer)
    const headers = updatedHeaders(stored.headers, datedHeaders(head, route))
    const entry = makeEntry({ ...stored, headers, requestedAt: head.requestedAt, receivedAt: head.receivedAt })
    if (!fill.isOutdated && !isOvertaken(around.cas, entry)) around.cas.put(entry)
    fill.state.set({ tag: 'stored', entry, how: 'validated' })
    return
  }
  if (head.status >= 500 && stored !== undefined && mayStandIn(stored.freshness, head.receivedAt)) {
    giveUp(answer)
    fill.state.set({ tag: 'stored', entry: stored, how: 'stood-in' })
    return
  }
  if (!isStorable(storable, head.status, head.headers)) {
    if (head.status < 500) around.fills.markUnshared(key)
    // What was stored is no longer what the upstream says.
    if (stored !== undefined && head.status < 500) around.cas.remove(stored)
    fill.state.set({ tag: 'private', answer })
    return
  }
  around.fills.markShared(key)
  await keep(around, asking, fill, wanted, answer)
}

async function keep(
  around: FillDependencies,
  asking: UpstreamDependencies,
  fill: Fill,
  wanted: UpstreamFill,
  answer: UpstreamAnswer,
): Promise<void> {
  const { cas, events, isAmnesiac } = around
  const { key, route, fieldOf } = wanted
  const kept: ResponseHead = { ...answer.head, headers: datedHeaders(answer.head, route) }
  const selecting = selectingOf(selectingNames(answer.head.headers), fieldOf)
  const length = declaredLength(answer.head.headers)
  let writer: BodyWriter
  try {
    const bytesMax = asking.config.max_fill_bytes
    writer = new BodyWriter(cas, asking.runtime.metrics, { bytesMax, lengthExpected: length, amnesia: isAmnesiac })
  } catch (error) {
    giveUp(answer)
    throw error
  }
  const growth: Growth = { head: kept, selecting, body: writer.growing, length }
  fill.state.set({ tag: 'growing', growth })
  try {
    for await (const piece of bodyOf(asking, route.name, answer)) await writer.push(piece)
  } catch (error) {
    await writer.fail(error)
    throw error
  }
  fill.isWhole = true
  const body = await writer.finish()
  const entry = body === undefined ? undefined : makeEntry({ key, selecting, body, ...kept })
  if (entry === undefined || fill.isOutdated || isOvertaken(cas, entry)) {
    // Whoever reads along may still need chunks that memory no longer has.
    fill.whenLeft(() => writer.handOver())
    fill.state.set({ tag: 'unkept', growth })
    return
  }
  cas.put(entry)
  writer.handOver()
  fill.state.set({ tag: 'stored', entry, how: 'filled' })
  events.publish({ topic: 'edge.fill', body: { route: route.name, status: kept.status, bytes: entry.body.size } })
}

/** With the date of its arrival where the upstream gave none (RFC 9110 §6.6.1). */
function datedHeaders({ headers, receivedAt }: ResponseHead, route: UpstreamRoute): HeaderMap {
  const kept = keptHeaders(headers, route.responseNames)
  return kept['date'] === undefined ? { ...kept, date: formatHttpDate(Math.floor(receivedAt / 1000)) } : kept
}

/** Whether a response that was asked for later is stored already: the slower of two fills must not undo the other. */
function isOvertaken(cas: Cas, entry: StoredEntry): boolean {
  const id = entryId(entry)
  return cas.entriesOf(entry.key).some((other) => other.requestedAt > entry.requestedAt && entryId(other) === id)
}

function declaredLength(headers: HeaderMap): number | undefined {
  const text = headers['content-length']
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
