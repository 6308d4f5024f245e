/** The node's own storage, as another of its services calls it: in process, through the same ingress as everybody. */
import { Caller, InProcessTransport, type StorageClient, storageClient } from '@cairn/clients'
import { Breakers, type Runtime } from '@cairn/kernel'
import type { Ingress } from '@cairn/platform'
import type { Scope } from '@cairn/wire'

/** What a service may do to objects that only it knows of: put them, and hold them. */
const SCOPES: readonly Scope[] = ['storage:write', 'storage:hold']

export interface StorageAccess extends AsyncDisposable {
  readonly client: StorageClient
}

/** `mint` makes a token for storage with these scopes; it is asked each time, so that a rotated key is used at once. */
export function storageAccess(
  runtime: Runtime,
  ingress: Pick<Ingress, 'handle'>,
  mint: (scopes: readonly Scope[]) => string,
): StorageAccess {
  const transport = new InProcessTransport(ingress)
  const breakers = new Breakers(runtime)
  const grant = { scopes: SCOPES, bearer: async () => await Promise.resolve(mint(SCOPES)) }
  const base = new URL('http://localhost/')
  return {
    client: storageClient(new Caller({ runtime, transport, base, target: 'storage', breakers, grant })),
    [Symbol.asyncDispose]: async () => {
      breakers.close()
      await transport.close()
    },
  }
}
