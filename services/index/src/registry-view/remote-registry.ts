/** A registry elsewhere, asked over HTTP. */
import { Caller, NO_SCOPES, type RegistryClient, registryClient } from '@cairn/clients'
import { BREAKER_DEFAULT, Breakers } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'

export interface RemoteRegistry {
  readonly client: RegistryClient
  /** Keeps its breaker; ends with the signal. */
  readonly janitor: (signal: AbortSignal) => Promise<void>
  readonly close: () => void
}

export function remoteRegistry(platform: Platform, url: string): RemoteRegistry {
  const breakers = new Breakers(platform, BREAKER_DEFAULT, { queue: 'registry-outcomes' })
  const base = new URL(url.endsWith('/') ? url : `${url}/`)
  const { transport } = platform
  const caller = new Caller({ runtime: platform, transport, base, target: 'registry', breakers, grant: NO_SCOPES })
  const janitor = async (signal: AbortSignal): Promise<void> => await breakers.janitor(signal)
  return { client: registryClient(caller), janitor, close: () => breakers.close() }
}
