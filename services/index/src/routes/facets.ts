/** Search and graph: off unless switched on, and served by workers of their own. */
import { indexAnswers } from '@cairn/api'
import { json, type RouteTable, route } from '@cairn/http'
import { z } from 'zod'
import { findRelated, searchNames } from '../domain/facets-core.ts'
import { keyText } from '../domain/lookup.ts'
import type { IndexParts } from '../parts.ts'
import { keyParams } from './params.ts'

const QUERY_LENGTH_MAX = 128

function whole(min: number, max: number, byDefault: number) {
  return z.coerce.number().int().min(min).max(max).default(byDefault)
}

export function facetRoutes(parts: IndexParts): RouteTable {
  const { search: hasSearch, graph: hasGraph } = parts.config().facets
  return [...(hasSearch ? [searchRoute(parts)] : []), ...(hasGraph ? [graphRoute(parts)] : [])]
}

function searchRoute({ catalogue }: IndexParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/search/:query',
    lane: 'work',
    scope: 'index:read',
    summary: 'Names that hold a text, the most alike first, page by page.',
    params: z.strictObject({ query: z.string().min(1).max(QUERY_LENGTH_MAX) }),
    query: z.looseObject({ limit: whole(1, 50, 10), offset: whole(0, 1_000_000, 0) }),
    responses: {
      200: { description: 'A page of names.', schema: indexAnswers.searchPage },
    },
    errors: { bad_request: 400, over_capacity: 429 },
    handler: ({ params, query: { limit, offset } }) => {
      const matches = searchNames(catalogue.meanings(), params.query)
      const page = matches.slice(offset, offset + limit)
      const next = offset + page.length
      const hasMore = next < matches.length
      return json(200, {
        query: params.query,
        results: page.map(({ name, address, score }) => ({ key: `name:${name}`, cid: address, score })),
        limit,
        offset,
        total_estimate: matches.length,
        has_more: hasMore,
        ...(hasMore ? { next_offset: next } : {}),
      })
    },
  })
}

function graphRoute({ catalogue }: IndexParts): RouteTable[number] {
  const row = z.strictObject({ cid: z.string(), edge: z.string(), weight: z.number() })
  return route({
    method: 'GET',
    path: '/graph/:key',
    lane: 'work',
    scope: 'index:read',
    summary: 'What is near a name or an address: what it means, and the other versions of it.',
    params: keyParams,
    query: z.looseObject({ max_neighbors: whole(1, 128, 16), hops: whole(1, 3, 1) }),
    responses: {
      200: {
        description: 'The neighbours, nearest first.',
        schema: z.strictObject({ root: z.string(), neighbors: z.array(row), truncated: z.boolean() }),
      },
    },
    errors: { bad_request: 400, over_capacity: 429 },
    handler: ({ params: { key }, query: { max_neighbors: max, hops } }) => {
      const found = findRelated(catalogue.meanings(), key.kind === 'name' ? key.name : key.cid, hops)
      return json(200, { root: keyText(key), neighbors: found.slice(0, max), truncated: found.length > max })
    },
  })
}
