/**
 * Who calls whom, and what each may do there. A call goes through the same ingress as everybody's, with a token for
 * exactly these scopes: in process where both run in this one, over the port of the other where they do not.
 */
import {
  Caller,
  type IndexClient,
  indexClient,
  type RegistryClient,
  registryClient,
  type StorageClient,
  storageClient,
} from '@cairn/clients'
import { Breakers, type Runtime } from '@cairn/kernel'
import type { Transport } from '@cairn/platform'
import type { Audience, Scope } from '@cairn/wire'

/** What a service is given to call the others with; a service that runs nowhere is missing. */
export interface Neighbours {
  readonly storage?: StorageClient
  readonly registry?: RegistryClient
  readonly index?: IndexClient
}

const CLIENTS = { storage: storageClient, registry: registryClient, index: indexClient }

/** A service that others call. */
export type Called = keyof typeof CLIENTS

/** For each service, the ones it calls and the scopes it has there. What is not listed is not granted. */
const GRANTS: Partial<Record<Audience, Partial<Record<Called, readonly Scope[]>>>> = {
  registry: { storage: ['storage:write', 'storage:hold'] },
  index: { storage: ['storage:admin', 'events:read'], registry: [] },
  edge: { storage: [], index: ['index:read', 'index:announce'] },
  interop: { storage: ['storage:write', 'storage:hold'], registry: ['registry:propose', 'registry:anchor'] },
}

/** Whom a service calls. */
export function calledBy(caller: Audience): readonly Called[] {
  return Object.keys(GRANTS[caller] ?? {}) as Called[]
}

/** Who calls a service: those that have to be done before it may refuse them. */
export function callersOf(called: string): readonly Audience[] {
  const all = Object.entries(GRANTS) as [Audience, Partial<Record<string, unknown>>][]
  return all.filter(([, grants]) => called in grants).map(([caller]) => caller)
}

/** The way to a service. */
export interface Door {
  readonly transport: Transport
  readonly base: URL
}

export interface NeighbourAccess {
  readonly clients: Neighbours
  /** Of these calls; the service whose calls they are keeps them. */
  readonly breakers: Breakers
  close(): void
}

export interface NeighbourOptions {
  /** Nothing if it runs nowhere. */
  readonly doorOf: (name: Called) => Door | undefined
  /** A token; asked for at each call, so that a rotated key is used at once. */
  readonly tokenFor: (audience: Audience, scopes: readonly Scope[]) => string
}

/** The neighbours of `caller`; to be closed after it has stopped. The doors are closed by whoever made them. */
export function neighboursOf(
  runtime: Runtime,
  caller: Audience,
  { doorOf, tokenFor }: NeighbourOptions,
): NeighbourAccess {
  const breakers = new Breakers(runtime)
  const clients = Object.fromEntries(
    calledBy(caller).flatMap((target) => {
      const door = doorOf(target)
      if (door === undefined) return []
      const scopes = GRANTS[caller]?.[target] ?? []
      const grant = { scopes, bearer: async () => await Promise.resolve(tokenFor(target, scopes)) }
      return [[target, CLIENTS[target](new Caller({ runtime, ...door, target, breakers, grant }))]]
    }),
  )
  return { clients, breakers, close: () => breakers.close() }
}
