/**
 * Who calls whom inside a node, and what each may do there. A call goes in process through the same ingress as
 * everybody's, with a token for exactly these scopes.
 */
import {
  Caller,
  type IndexClient,
  InProcessTransport,
  indexClient,
  type RegistryClient,
  registryClient,
  type StorageClient,
  storageClient,
} from '@cairn/clients'
import { Breakers, type Runtime } from '@cairn/kernel'
import type { Ingress } from '@cairn/platform'
import type { Audience, Scope } from '@cairn/wire'

/** What a service is given to call the others with; a service that does not run here is missing. */
export interface Neighbours {
  readonly storage?: StorageClient
  readonly registry?: RegistryClient
  readonly index?: IndexClient
}

const CLIENTS = { storage: storageClient, registry: registryClient, index: indexClient }

type Called = keyof typeof CLIENTS

/** For each service, the ones it calls and the scopes it has there. What is not listed is not granted. */
const GRANTS: Partial<Record<Audience, Partial<Record<Called, readonly Scope[]>>>> = {
  registry: { storage: ['storage:write', 'storage:hold'] },
  index: { storage: ['storage:admin', 'events:read'], registry: [] },
  edge: { storage: [], index: ['index:read', 'index:announce'] },
  interop: { storage: ['storage:write', 'storage:hold'], registry: ['registry:propose', 'registry:anchor'] },
}

export interface NeighbourAccess extends AsyncDisposable {
  readonly clients: Neighbours
}

export interface NeighbourOptions {
  /** The door of a service of this node, if it runs. */
  readonly ingressOf: (name: Called) => Pick<Ingress, 'handle'> | undefined
  /** A token; asked for at each call, so that a rotated key is used at once. */
  readonly tokenFor: (audience: Audience, scopes: readonly Scope[]) => string
}

/** The neighbours of `caller`; to be closed after it has stopped. */
export function neighboursOf(
  runtime: Runtime,
  caller: Audience,
  { ingressOf, tokenFor }: NeighbourOptions,
): NeighbourAccess {
  const breakers = new Breakers(runtime)
  const transports: InProcessTransport[] = []
  const callerOf = (target: Called, scopes: readonly Scope[]): Caller | undefined => {
    const ingress = ingressOf(target)
    if (ingress === undefined) return undefined
    const transport = new InProcessTransport(ingress)
    transports.push(transport)
    const grant = { scopes, bearer: async () => await Promise.resolve(tokenFor(target, scopes)) }
    return new Caller({ runtime, transport, base: new URL('http://localhost/'), target, breakers, grant })
  }
  const clients = Object.fromEntries(
    Object.entries(GRANTS[caller] ?? {}).flatMap(([target, scopes]) => {
      const through = callerOf(target as Called, scopes)
      return through === undefined ? [] : [[target, CLIENTS[target as Called](through)]]
    }),
  )
  return {
    clients,
    [Symbol.asyncDispose]: async () => {
      breakers.close()
      for (const transport of transports) await transport.close()
    },
  }
}
