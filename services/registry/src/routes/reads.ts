/** What everybody may read: the head, versions, what a name means. Answered from the published snapshot. */

import { registryAnswers } from '@cairn/api'
import { json, type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { encodeTrust, isLive, itemHash, itemKey, parseArtifact } from '@cairn/names'
import type { IngressResponse } from '@cairn/transport'
import { entityTagOf, parseJson } from '@cairn/wire'
import { z } from 'zod'
import { noSuchVersion, pruned } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import {
  driveErrors,
  IMMUTABLE,
  nameParams,
  REVALIDATED,
  type RegistryRequestContext,
  resource,
  version,
  whole,
} from './params.ts'

// What a reader has to know of this log before it can believe anything else.

export function trustRoute({ signer: { identity, keys } }: RegistryParts): RouteTable[number] {
  const body = encodeTrust({ ...identity, logKeys: keys })
  return route({
    method: 'GET',
    path: '/registry/trust',
    lane: 'inline',
    summary:
      'A trust file for `cairn verify-proof`: the origin, the genesis and the keys of the log. It is worth what the way it came is worth.',
    responses: { 200: { description: 'The trust file.', schema: registryAnswers.trust } },
    handler: () => ({
      status: 200,
      headers: ['Content-Type', 'application/json', 'Cache-Control', REVALIDATED],
      body,
    }),
  })
}

const JSON_TYPE = 'application/json'
const HISTORY_MAX = 1000

export function readRoutes(parts: RegistryParts): RouteTable {
  return [head(parts), versions(parts), names(parts), history(parts)]
}

function head({ published, runtime }: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/registry/head',
    lane: 'inline',
    summary: 'The newest version, and the lowest index of the log that has not been pruned.',
    responses: {
      200: {
        description: 'HEAD.',
        schema: registryAnswers.head,
      },
      304: { description: 'The client has it.' },
    },
    handler: (context) => {
      const { headBody: body, headTag: tag } = published.value
      return resource(context, runtime.clock.wall(), { tag, caching: REVALIDATED, type: JSON_TYPE, body })
    },
  })
}

function versions(parts: RegistryParts): RouteTable[number] {
  const { published, archive, ledger, runtime } = parts
  return route({
    method: 'GET',
    path: '/registry/:version',
    lane: 'inline',
    summary: 'The artifact of a version: canonical JSON, whose BLAKE3 is its hash.',
    params: z.strictObject({ version }),
    responses: {
      200: { description: 'The artifact.', schema: registryAnswers.artifact },
      304: { description: 'The client has it.' },
    },
    errors: { Malformed: 400, NotFound: 404, Pruned: 410, ...driveErrors },
    handler: async (context) => {
      const { version: wanted } = context.params
      const newest = published.value.head.version
      if (wanted > newest) throw noSuchVersion(wanted, newest)
      const { bytes: body } = await archive.artifact(wanted)
      const tag = entityTagOf(ledger.facts(wanted).hash)
      return resource(context, runtime.clock.wall(), { tag, caching: IMMUTABLE, type: JSON_TYPE, body })
    },
  })
}

function names(parts: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/registry/names/:name',
    lane: 'inline',
    summary: 'What a name means now, or meant at a version, and which version says so.',
    params: nameParams,
    query: z.strictObject({ at: version.optional() }),
    responses: {
      200: {
        description: 'The item.',
        schema: registryAnswers.namedItem,
      },
      304: { description: 'The client has it.' },
    },
    errors: { Malformed: 400, NotFound: 404, Pruned: 410, ...driveErrors },
    handler: async (context) => await showName(parts, context, context.params.name, context.query.at),
  })
}

function history({ ledger, published }: RegistryParts): RouteTable[number] {
  return route({
    method: 'GET',
    path: '/registry/names/:name/history',
    lane: 'inline',
    summary: `The versions that changed a name, newest first, its removal among them; at most ${HISTORY_MAX} at once.`,
    params: nameParams,
    query: z.strictObject({ before: version.optional(), limit: whole(HISTORY_MAX).optional() }),
    responses: {
      200: {
        description: 'Versions, for `GET /registry/{version}`; what retention removed is not among them.',
        schema: registryAnswers.history,
      },
    },
    errors: { Malformed: 400 },
    handler: ({ params: { name }, query: { before, limit } }) => {
      // Not beyond what is published: a commit under way shows nowhere.
      const end = Math.min(before ?? Number.MAX_SAFE_INTEGER, published.value.head.version + 1)
      const versions = ledger.changes(itemKey({ kind: 'name', id: name }), end, limit ?? HISTORY_MAX)
      return json(200, { name, versions }, ['Cache-Control', REVALIDATED])
    },
  })
}

async function showName(
  parts: RegistryParts,
  context: RegistryRequestContext,
  name: string,
  at: number | undefined,
): Promise<IngressResponse> {
  const { published, ledger, archive, runtime } = parts
  const { head: newest, state, minimumIndex } = published.value
  if (at !== undefined && at > newest.version) throw noSuchVersion(at, newest.version)
  const upTo = at ?? newest.version
  const isNow = upTo === newest.version
  const changed = ledger.changedBy(itemKey({ kind: 'name', id: name }), upTo)
  // Of what was pruned only what still stands is known: that there was nothing cannot be said.
  if (changed === undefined && !isNow && minimumIndex > 0)
    throw pruned(`What ${name} meant at version ${upTo}`, minimumIndex)
  if (changed === undefined) throw noSuchName(name, upTo)
  const item = isNow ? state.get('name', name) : await itemAt(archive, changed, name)
  if (item === undefined || !isLive(item)) throw noSuchName(name, upTo)
  const body = JSON.stringify({ name, version: changed, item })
  const tag = entityTagOf(itemHash(item))
  const caching = at === undefined ? REVALIDATED : IMMUTABLE
  return resource(context, runtime.clock.wall(), { tag, caching, type: JSON_TYPE, body })
}

async function itemAt(archive: RegistryParts['archive'], changed: number, name: string) {
  const { bytes } = await archive.artifact(changed)
  const { payload } = parseArtifact(parseJson(bytes))
  return payload.items.find(({ kind, id }) => kind === 'name' && id === name)
}

function noSuchName(name: string, upTo: number): CairnError {
  return new CairnError('NotFound', `${name} does not exist at version ${upTo}.`)
}
