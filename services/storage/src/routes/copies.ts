/**
 * What nodes that hold copies together ask each other. It is about the drives of this node and nobody further, so that
 * no question goes round in circles; the flag `copy` says the same on the routes of objects, manifests and references.
 */

import { storageApi } from '@cairn/api'
import { json, problem, type RouteTable, route } from '@cairn/http'
import { CairnError, isKind } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import type { Address, Scope } from '@cairn/wire'
import { noSuchObject } from '../errors.ts'
import type { ObjectPutResult } from '../objects/object-writer.ts'
import type { StorageParts } from '../parts.ts'
import type { Statements } from '../targets/statements.ts'
import type { KnownCopy } from '../targets/target.ts'

/** Says how many copies there are, where that is fewer than there should be, and how many of them by a peer's word alone. */
export function copiesHeader(copies: ObjectPutResult['copies']): string[] {
  if (copies === undefined) return []
  const { made, wanted, told = 0 } = copies
  if (made >= wanted && told === 0) return []
  return ['X-Cairn-Copies', told === 0 ? `${made}/${wanted}` : `${made}/${wanted}; told=${told}`]
}

export function ownersIn(owners: string | undefined): string[] {
  return owners === undefined || owners === '' ? [] : owners.split(',')
}

/** Copies come from other nodes, which have a scope of their own in place of those of clients. */
export function copyScope({ queryText }: { readonly queryText: string }): Scope | undefined {
  return new URLSearchParams(queryText).has('copy') ? 'storage:peer' : undefined
}

/** The answer to a copy that is older than what is known here; any other error is thrown on. */
export function olderCopy(error: unknown, corrId: string): IngressResponse {
  if (!isKind(error, 'Conflict') || error.code !== 'newer_version') throw error
  const known = new CairnError('Conflict', error.message, { code: 'newer_version' })
  return problem(known, corrId, { fields: { version: error.cause } })
}

export function copyRoutes(parts: StorageParts): RouteTable {
  return [known(parts), page(parts), facts(parts)]
}

function known({ own, config, peersGate, replication, statements }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.listKnownCopies,
    handler: async ({ body, headers }) => {
      peersGate.admit(headers)
      const copies = (await own.known(body.ids)).map((copy, at) => encodeKnownCopy(statements, body.ids[at], copy))
      const version = replication.replicas.highestVersion
      return json(200, { node: config().placement.id ?? '', key: statements.key, version, copies })
    },
  })
}

function page({ own, statements }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.listCopies,
    handler: async ({ query }) => {
      const rows = await own.page(query.after, query.limit)
      const copies = rows.map(({ id, known: copy }) => ({ address: id, ...encodeKnownCopy(statements, id, copy) }))
      return json(200, { copies })
    },
  })
}

function facts({ own }: StorageParts): RouteTable[number] {
  return route({
    ...storageApi.getCopyFacts,
    handler: async ({ params }) => {
      const copy = await own.stat(params.address)
      if (copy === undefined) throw noSuchObject(params.address)
      const { size, type, chunkSize, version, owners } = copy
      return json(200, { size, type, chunk_size: chunkSize, version, owners })
    },
  })
}

function encodeKnownCopy(statements: Statements, id: Address | undefined, copy: KnownCopy): Record<string, unknown> {
  switch (copy.tag) {
    case 'absent':
      return { tag: copy.tag, ...(copy.isPartial === true ? { partial: true } : {}) }
    case 'tombstone': {
      const { tag, version, record } = copy
      // One of no version is about this copy alone.
      const shown = version === 0 || id === undefined ? undefined : statements.shownFor(id, version, record)
      return shown === undefined ? { tag, version } : { tag, version, record: shown }
    }
    case 'object':
      return { tag: copy.tag, version: copy.version, proved: copy.isProved, owners: copy.owners }
  }
}
