/** What a key means. Cached answers are given at once; the rest waits for a lookup. */

import { indexAnswers } from '@cairn/api'
import { type RouteTable, route } from '@cairn/http'
import type { IngressResponse } from '@cairn/transport'
import { z } from 'zod'
import { keyHint, keyText, type LookupKey, type LookupQuestion, type LookupResult } from '../domain/lookup.ts'
import { noProviders, noSuchName } from '../errors.ts'
import type { Answered } from '../intake.ts'
import type { IndexParts } from '../parts.ts'
import { flag, type IndexRequestContext, keyParams, lookupErrors, respondTagged } from './params.ts'

export function resolveRoute(parts: IndexParts): RouteTable[number] {
  const resolving = new Resolving(parts)
  return route({
    method: 'GET',
    path: '/resolve/:key',
    lane: 'inline',
    summary:
      'What `name:…` or `b3:…` means; a name with its proof. `fresh=true` looks past what is kept. With `from`, the proof also shows that the log continues the tree of that size.',
    params: keyParams,
    query: z.looseObject({ fresh: flag.optional(), from: treeSize.optional() }),
    responses: {
      200: { description: 'The meaning.', schema: indexAnswers.resolution },
      304: { description: 'The client has it.' },
    },
    errors: lookupErrors,
    handler: (context) => {
      const { fresh, from } = context.query
      return resolving.answer(context, context.params.key, fresh === true || from !== undefined, from)
    },
  })
}

/** Of a tree of the log. */
const treeSize = z
  .string()
  .regex(/^[1-9]\d{0,15}$/, 'must be the size of a tree')
  .transform(Number)

type PositiveResult = Exclude<LookupResult, { tag: 'nothing' }>

class Resolving {
  readonly #parts: IndexParts
  /** Bodies of what is cached, as long as nothing in them changes: a key that everybody asks for is written once a second. */
  readonly #bodies = new WeakMap<LookupResult, { readonly stamp: string; readonly body: string }>()

  constructor(parts: IndexParts) {
    this.#parts = parts
  }

  answer(
    context: IndexRequestContext,
    key: LookupKey,
    isFresh: boolean,
    from: number | undefined,
  ): IngressResponse | Promise<IngressResponse> {
    const { admission, intake, runtime } = this.#parts
    admission.take('resolve')
    const startedAt = runtime.clock.now()
    const question: LookupQuestion =
      key.kind === 'name' ? { tag: 'name', name: key.name, from } : { tag: 'providers', cid: key.cid }
    const kept = isFresh ? undefined : intake.cached(question)
    if (kept !== undefined) return this.#show(context, key, kept, startedAt, isFresh)
    return this.#lookUp(context, key, question, startedAt, isFresh)
  }

  async #lookUp(
    context: IndexRequestContext,
    key: LookupKey,
    question: LookupQuestion,
    startedAt: number,
    isFresh: boolean,
  ): Promise<IngressResponse> {
    const { admission, intake, events, runtime } = this.#parts
    using _place = admission.enter('resolve')
    const { deadline, signal, corrId } = context
    const answered = await intake.lookUp(question, { deadline, signal, fresh: isFresh })
    const response = this.#show(context, key, answered, startedAt, isFresh)
    if (answered.finding.tag !== 'nothing') {
      const latencyMs = Math.round(runtime.clock.now() - startedAt)
      const body = { key_hint: keyHint(key), source: answered.finding.source, latency_ms: latencyMs, corr_id: corrId }
      events.publish({ topic: 'index.resolve.observed', body })
    }
    return response
  }

  #show(
    context: IndexRequestContext,
    key: LookupKey,
    { finding, cachedMs }: Answered,
    startedAt: number,
    isFresh: boolean,
  ): IngressResponse {
    const { runtime } = this.#parts
    const { clock, metrics } = runtime
    metrics.observe('resolve_latency_seconds', (clock.now() - startedAt) / 1000)
    const hint = this.#providersHint(key, finding)
    if (finding.tag === 'nothing' || (key.kind === 'cid' && hint === 0))
      throw key.kind === 'name' ? noSuchName(key.name) : noProviders(key.cid)
    const source = cachedMs === undefined ? finding.source : 'cache'
    metrics.count('index_resolves_total', { type: key.kind, source })
    const tag = finding.tag === 'name' ? finding.address : keyAddress(key)
    const body = (): string => this.#body(key, finding, source, cachedMs ?? 0, hint)
    return respondTagged(context, clock.wall(), { tag, isFresh, body })
  }

  #providersHint(key: LookupKey, finding: LookupResult): number {
    const { suppressions, intake } = this.#parts
    if (finding.tag === 'name') return intake.known(finding.address)
    if (finding.tag === 'nothing' || key.kind === 'name') return 0
    return suppressions.without(key.cid, finding.providers).length
  }

  #body(key: LookupKey, finding: PositiveResult, source: string, cachedMs: number, hint: number): string {
    const freshness = Math.floor((cachedMs + (finding.tag === 'name' ? finding.freshnessMs : 0)) / 1000)
    const stamp = `${source} ${freshness} ${hint}`
    const made = this.#bodies.get(finding)
    if (made?.stamp === stamp) return made.body
    const manifest = finding.tag === 'name' ? finding.address : keyAddress(key)
    const body = JSON.stringify({
      key: keyText(key),
      kind: key.kind,
      manifest_cid: manifest,
      source,
      integrity: { algo: 'blake3', digest: manifest.slice('b3:'.length) },
      etag: manifest,
      freshness_s: freshness,
      providers_hint: hint,
      ...(finding.tag === 'name' && finding.proof !== undefined ? { proof: finding.proof } : {}),
    })
    if (source === 'cache') this.#bodies.set(finding, { stamp, body })
    return body
  }
}

function keyAddress(key: LookupKey) {
  if (key.kind === 'cid') return key.cid
  throw new TypeError('A name is no address.')
}
