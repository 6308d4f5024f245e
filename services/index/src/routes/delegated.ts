/** IPFS Delegated Routing v1: who holds an address, as every client of that protocol asks for it. */

import { indexAnswers, textOf } from '@cairn/api'
import { type RequestContext, type RouteTable, route } from '@cairn/http'
import { delegatedJson, delegatedLines, filterList, NDJSON, wantsNdjson } from '@cairn/routing'
import type { IngressResponse } from '@cairn/transport'
import { type Address, knownAddressOfCid } from '@cairn/wire'
import { z } from 'zod'
import { digestOfProviders } from '../domain/known-providers.ts'
import { noProviders } from '../errors.ts'
import type { Answered } from '../intake.ts'
import type { IndexParts } from '../parts.ts'
import { type IndexRequestContext, lookupErrors, respondTagged } from './params.ts'
import { rankedFor } from './providers.ts'

/** What the protocol's clients expect an index to give at most. */
const PROVIDERS_MAX = 64

/** Of an object here; any other CID is unknown. */
const CID_FORM = /^bafkr4i[a-h][a-z2-7]{50}[aeimquy4]$/

const query = z.looseObject({
  'filter-protocols': z.string().max(1000).optional(),
  'filter-addrs': z.string().max(1000).optional(),
})

type DelegatedContext = RequestContext<unknown, z.output<typeof query>, unknown>

export function delegatedRoute(parts: IndexParts): RouteTable[number] {
  const { admission, intake } = parts
  return route({
    method: 'GET',
    path: '/routing/v1/providers/:cid',
    lane: 'inline',
    summary:
      'Who holds the object of a CID (raw, blake3), as JSON or, where asked for, as NDJSON; an empty list for a CID of another kind. `filter-protocols` and `filter-addrs` as IPIP-484 says. With `Max-Forwards: 0`, which indexes send each other, no other index is asked.',
    params: z.strictObject({ cid: textOf(CID_FORM, knownAddressOfCid) }),
    query,
    responses: {
      200: { description: 'Peers.', schema: indexAnswers.delegatedProviders },
      304: { description: 'The client has it.' },
    },
    errors: lookupErrors,
    handler: (context) => {
      const { cid } = context.params
      admission.take('routing')
      // Nothing here has such a name. It is no mistake of the client's, who asks everybody about everything.
      if (cid === undefined) return nothingKnown(context)
      const kept = intake.cached({ tag: 'providers', cid })
      return kept === undefined ? lookUp(parts, context, cid) : show(parts, context, cid, kept)
    },
  })
}

function nothingKnown({ headers }: IndexRequestContext): IngressResponse {
  const isLines = wantsNdjson(headers.get('accept'))
  const caching = ['Cache-Control', 'public, max-age=300', 'Vary', 'Accept']
  const type = isLines ? NDJSON : 'application/json'
  return { status: 200, headers: ['Content-Type', type, ...caching], body: isLines ? '' : '{"Providers":[]}' }
}

async function lookUp(parts: IndexParts, context: DelegatedContext, cid: Address): Promise<IngressResponse> {
  using _place = parts.admission.enter('routing')
  const { deadline, signal } = context
  const passedOn = context.headers.get('max-forwards') === '0'
  return show(parts, context, cid, await parts.intake.lookUp({ tag: 'providers', cid, passedOn }, { deadline, signal }))
}

function show(parts: IndexParts, context: DelegatedContext, cid: Address, { finding }: Answered): IngressResponse {
  const providers = rankedFor(parts, cid, finding)
    .slice(0, PROVIDERS_MAX)
    .map(({ provider }) => provider)
  if (providers.length === 0) throw noProviders(cid)
  const isLines = wantsNdjson(context.headers.get('accept'))
  const { 'filter-protocols': protocols, 'filter-addrs': addrs } = context.query
  const filters = { protocols: filterList(protocols), addrs: filterList(addrs) }
  const body = (): string =>
    isLines ? delegatedLines(providers, filters) : JSON.stringify(delegatedJson(providers, filters))
  const type = isLines ? NDJSON : 'application/json'
  const response = respondTagged(context, parts.runtime.clock.wall(), {
    tag: digestOfProviders(providers),
    isFresh: false,
    type,
    body,
  })
  return { ...response, headers: [...response.headers, 'Vary', 'Accept'] }
}
