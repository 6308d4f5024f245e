/** Who holds an address, best first; and a word against one of them. */

import { indexAnswers } from '@cairn/api'
import { empty, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import { z } from 'zod'
import { digestOfProviders } from '../domain/known-providers.ts'
import type { LookupResult } from '../domain/lookup.ts'
import { type RankClass, rankProviders, type ScoredProvider } from '../domain/rank.ts'
import { noProviders } from '../errors.ts'
import type { Answered } from '../intake.ts'
import type { IndexParts } from '../parts.ts'
import { cidParams, type IndexRequestContext, lookupErrors, respondTagged } from './params.ts'

const LIMIT_MAX = 32
const LIMIT_DEFAULT = 5
const CLASSES: readonly RankClass[] = ['region_match', 'fresh', 'any', 'unverified']

const number = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)

const query = z.looseObject({
  limit: number.transform((limit) => Math.min(Math.max(limit, 1), LIMIT_MAX)).default(LIMIT_DEFAULT),
  region: z.string().max(32).optional(),
  min_freshness: number.optional(),
})

export function providerRoutes(parts: IndexParts): RouteTable {
  return [providers(parts), report(parts)]
}

type Query = z.output<typeof query>

function providers(parts: IndexParts): RouteTable[number] {
  const { admission, intake } = parts
  return route({
    method: 'GET',
    path: '/providers/:cid',
    lane: 'inline',
    summary:
      'Who holds an address, best first: at most `limit`, preferably in `region`, confirmed at most `min_freshness` seconds ago.',
    params: cidParams,
    query,
    responses: {
      200: { description: 'The providers, and how the lookup went.', schema: indexAnswers.providerSet },
      304: { description: 'The client has it.' },
    },
    errors: lookupErrors,
    handler: (context) => {
      const { cid } = context.params
      admission.take('providers')
      const kept = intake.cached({ tag: 'providers', cid })
      if (kept !== undefined) return show(parts, context, cid, context.query, kept)
      return lookUp(parts, context, cid, context.query)
    },
  })
}

async function lookUp(
  parts: IndexParts,
  context: IndexRequestContext,
  cid: Address,
  asked: Query,
): Promise<IngressResponse> {
  using _place = parts.admission.enter('providers')
  const { deadline, signal } = context
  return show(parts, context, cid, asked, await parts.intake.lookUp({ tag: 'providers', cid }, { deadline, signal }))
}

/** The providers of a finding that may be shown, best first. */
export function rankedFor(
  { runtime, config, suppressions, latencies }: IndexParts,
  cid: Address,
  finding: LookupResult,
  region?: string,
): readonly ScoredProvider[] {
  if (finding.tag !== 'providers') return []
  const { rank } = config()
  return rankProviders(suppressions.without(cid, finding.providers), {
    nowMs: runtime.clock.wall(),
    region,
    regionBias: rank.region_bias,
    halfLifeMs: rank.freshness_half_life,
    latencyBucketsMs: rank.latency_buckets_ms,
    latencyMs: latencies.of,
    allowedRegions: rank.allowed_regions,
    denied: rank.provider_denylist,
  })
}

function show(
  parts: IndexParts,
  context: IndexRequestContext,
  cid: Address,
  { limit, region, min_freshness: freshestS }: Query,
  { finding }: Answered,
): IngressResponse {
  const { clock, metrics } = parts.runtime
  const nowMs = clock.wall()
  const oldest = freshestS === undefined ? -Infinity : nowMs - freshestS * 1000
  const ranked = rankedFor(parts, cid, finding, region)
    .filter((each) => each.provider.seenAtMs >= oldest)
    .slice(0, limit)
  if (ranked.length === 0) throw noProviders(cid)
  for (const each of CLASSES) {
    const count = ranked.filter((row) => row.class === each).length
    if (count > 0) metrics.observe('index_providers_returned', count, { class: each })
  }
  const hedge = finding.tag === 'providers' ? finding.hedge : undefined
  const body = (): string =>
    JSON.stringify({
      cid,
      providers: ranked.map((each) => rowOf(each, nowMs)),
      ...(hedge === undefined
        ? {}
        : { hedge: { alpha_ms: hedge.alphaMs, beta_ms: hedge.betaMs, winner: hedge.winner } }),
    })
  return respondTagged(context, nowMs, {
    tag: digestOfProviders(ranked.map((each) => each.provider)),
    isFresh: false,
    body,
  })
}

function rowOf({ provider: { id, http, region, seenAtMs }, class: each, score }: ScoredProvider, nowMs: number) {
  const seen = Math.max(0, Math.floor((nowMs - seenAtMs) / 1000))
  return { id, http, ...(region === undefined ? {} : { region }), class: each, score, last_seen_s: seen }
}

function report({ suppressions, audit, runtime }: IndexParts): RouteTable[number] {
  return route({
    method: 'POST',
    path: '/providers/:cid/report',
    lane: 'inline',
    scope: 'index:announce',
    summary:
      'Says that a provider handed out other bytes or none: it is left out of answers about this address for a while.',
    params: cidParams,
    body: z.strictObject({
      provider: z.string().min(1).max(128).meta({ pattern: '^[1-9A-HJ-NP-Za-km-z]+$' }),
      reason: z.enum(['corrupt', 'dead']),
    }),
    responses: { 204: { description: 'Left out for ten minutes.' } },
    handler: (context) => {
      const { params, body } = context
      if (!/^[1-9A-HJ-NP-Za-km-z]+$/.test(body.provider))
        throw new CairnError('Malformed', 'A provider is named by its id.')
      if (body.reason === 'corrupt') runtime.metrics.count('index_integrity_fail_total', { stage: 'cid' })
      suppressions.report(params.cid, body.provider)
      audit.note(context, 'report', `${params.cid} ${body.provider} ${body.reason}`, true)
      return empty(204)
    },
  })
}
