/** A registry elsewhere, asked over HTTP. */
import { Caller, NO_SCOPES, type RegistryClient, registryClient } from '@cairn/clients'
import { Breakers } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'

export interface RemoteRegistry {
  readonly client: RegistryClient
  readonly close: () => void
}

export function remoteRegistry(platform: Platform, url: string): RemoteRegistry {
  const breakers = new Breakers(platform)
  const base = new URL(url.endsWith('/') ? url : `${url}/`)
  const { transport } = platform
  const caller = new Caller({ runtime: platform, transport, base, target: 'registry', breakers, grant: NO_SCOPES })
  return { client: registryClient(caller), close: () => breakers.close() }
}
