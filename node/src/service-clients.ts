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
import type { StopTogether } from '@cairn/http'
import { Breakers, type Runtime, type StopReport } from '@cairn/kernel'
import type { Transport } from '@cairn/transport'
import type { Audience, Scope } from '@cairn/wire'

/*
 * The services of a process stop together, from the outside in.
 *
 *     edge ─────┬─▶ index ─┬─▶ registry ─▶ storage        ─▶ calls, and so has to be done before
 *     interop ──┴──────────┴───────▲──────────▲
 *
 * All of them refuse clients from the same moment on. A service goes on serving those that call it until they have no
 * task left, because what they accepted has to be answered as it should be. The order follows from who calls whom, so a
 * new service has its place as soon as it has its grants.
 */

export interface Stoppable {
  readonly name: string
  readonly drainDeadlineMs: number
  readonly stop: (together: StopTogether) => Promise<StopReport>
}

/** Stops all of them; resolves with their reports, in the order they were given, once every port is closed. */
export async function stopTogether(services: readonly Stoppable[]): Promise<StopReport[]> {
  const drained = new Map(services.map(({ name }) => [name, Promise.withResolvers<void>()]))
  return await Promise.all(
    services.map(async ({ name, stop }) => {
      const done = drained.get(name)
      const onDrained = (): void => done?.resolve()
      const inFront = callersOf(name).flatMap((caller) => {
        const caught = drained.get(caller)
        return caught === undefined ? [] : [[caller, caught.promise] as const]
      })
      try {
        return await stop({
          dependents: new Map(inFront),
          drainDeadlineMs: deadlineOf(name, services),
          onDrained,
        })
      } finally {
        // However its stop ended, nobody behind it waits for ever.
        onDrained()
      }
    }),
  )
}

/** What a service waits for may not take longer than it: it has the latest deadline of all in front of it. */
function deadlineOf(name: string, services: readonly Stoppable[]): number {
  const own = services.find((service) => service.name === name)?.drainDeadlineMs ?? 0
  return Math.max(own, ...callersOf(name).map((caller) => deadlineOf(caller, services)))
}

/** What a service is given to call the others with; a service that runs nowhere is missing. */
export interface ServiceClients {
  readonly storage?: StorageClient
  readonly registry?: RegistryClient
  readonly index?: IndexClient
}

const CLIENTS = { storage: storageClient, registry: registryClient, index: indexClient }

/** A service that others call. */
export type Called = keyof typeof CLIENTS

export function isCalled(name: string): name is Called {
  return Object.hasOwn(CLIENTS, name)
}

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
function callersOf(called: string): readonly Audience[] {
  const all = Object.entries(GRANTS) as [Audience, Partial<Record<string, unknown>>][]
  return all.filter(([, grants]) => called in grants).map(([caller]) => caller)
}

/** The way to a service. */
export interface ServiceEndpoint {
  readonly transport: Transport
  readonly base: URL
}

export interface ServiceAccess {
  readonly clients: ServiceClients
  /** Of these calls; the service whose calls they are keeps them. */
  readonly breakers: Breakers
  close(): void
}

export interface ServiceAccessOptions {
  /** Nothing if it runs nowhere. */
  readonly endpointFor: (name: Called) => ServiceEndpoint | undefined
  /** A token; asked for at each call, so that a rotated key is used at once. */
  readonly tokenFor: (audience: Audience, scopes: readonly Scope[]) => string
}

/** The neighbours of `caller`; to be closed after it has stopped. The endpoints are closed by the caller that made them. */
export function openServiceClients(
  runtime: Runtime,
  caller: Audience,
  { endpointFor, tokenFor }: ServiceAccessOptions,
): ServiceAccess {
  const breakers = new Breakers(runtime)
  const clients = Object.fromEntries(
    calledBy(caller).flatMap((target) => {
      const endpoint = endpointFor(target)
      if (endpoint === undefined) return []
      const scopes = GRANTS[caller]?.[target] ?? []
      const grant = { scopes, bearer: async () => await Promise.resolve(tokenFor(target, scopes)) }
      return [[target, CLIENTS[target](new Caller({ runtime, ...endpoint, target, breakers, grant }))]]
    }),
  )
  return { clients, breakers, close: () => breakers.close() }
}
