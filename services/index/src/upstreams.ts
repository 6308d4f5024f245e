/** Whom the index asks: the registry for names, other indexes and the DHT for providers. */
import { Caller, NO_SCOPES, type RegistryClient, registryClient, type StorageClient } from '@cairn/clients'
import {
  BREAKER_DEFAULT,
  Breakers,
  CairnError,
  Deadline,
  type Runtime,
  throwIfCanceled,
  toCairnError,
} from '@cairn/kernel'
import { parseTrust } from '@cairn/names'
import { type Platform, readSmallFile } from '@cairn/platform'
import {
  type DialPolicy,
  HttpRouting,
  KadRouting,
  type LocalRecords,
  type LocalRecordsOptions,
  type ProviderRouting,
  type RecordGate,
} from '@cairn/routing'
import type { FollowedNames } from './domain/name-source.ts'
import type { IndexPartsHost } from './parts.ts'
import { RegistryView } from './registry-view/registry-view.ts'

// Whether this node's own storage holds an object, as far as it can be asked.

/** Storage is a neighbour; past this its answer would cost the lookup in the network its time. */
const STORAGE_MS = 200

/** A storage that does not answer counts as one that holds nothing: others may hold it too. */
export function holdingsOf(
  { clock, log }: Runtime,
  storage: Pick<StorageClient, 'has'> | undefined,
): LocalRecordsOptions['has'] {
  return async (cid, { signal }) => {
    if (storage === undefined) return false
    try {
      return await storage.has(cid, { deadline: Deadline.after(clock, STORAGE_MS), signal })
    } catch (error) {
      throwIfCanceled(signal)
      log.debug({ error: toCairnError(error).message }, 'storage could not be asked')
      return false
    }
  }
}

/** A registry elsewhere, asked over HTTP. */

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

/** The verified view of the registry, if there is one: the one that is configured, else that of this node. */
export async function openNames({
  platform,
  directory,
  config,
  registry,
}: Pick<IndexPartsHost, 'platform' | 'directory' | 'config' | 'registry'>): Promise<FollowedNames | undefined> {
  const {
    url,
    trust_path: path,
    max_checkpoint_age: maxCheckpointAgeMs,
    when_stale: whenStale,
  } = config.current.registry
  const trust = path === undefined ? undefined : await readTrust(platform.disk, path)
  const age = { maxCheckpointAgeMs, refusesStale: whenStale === 'refuse' }
  const common = { platform, directory: `${directory}/registry`, trust, ...age }
  if (url === undefined) return registry && new RegistryView({ ...common, client: registry })
  if (trust === undefined) {
    const detail = `registry.url names ${url}; set registry.trust_path to its trust file (\`cairn registry trust -o FILE\`, from an operator you trust).`
    throw new CairnError('Malformed', detail, { code: 'config' })
  }
  return new RegistryView({ ...common, ...remoteRegistry(platform, url) })
}

async function readTrust(disk: IndexPartsHost['platform']['disk'], path: string) {
  const bytes = await readSmallFile(disk, path)
  if (bytes === undefined) throw new CairnError('NotFound', `registry.trust_path names ${path}, which does not exist.`)
  return parseTrust(bytes)
}

interface RoutingDependencies {
  readonly reach: DialPolicy
  readonly gate: RecordGate
  readonly local: LocalRecords
}

/** The ways the configuration asks for, the preferred first. */
export function openRoutings(
  { platform, config, identitySeed: seed, readRoots }: IndexPartsHost,
  dependencies: RoutingDependencies,
): readonly ProviderRouting[] {
  const { dht, announce } = config.current
  const readFile = readRoots ?? (async (path: string) => await readSmallFile(platform.disk, path))
  const routings: ProviderRouting[] = []
  const reach = (): DialPolicy => dependencies.reach
  const { gate } = dependencies
  if (dht.endpoints.length > 0 || announce.to.length > 0) {
    const endpoints = dht.endpoints.map((text) => new URL(text))
    const announceTo = announce.to.map(({ url, token_path: path }) => ({
      url: new URL(url),
      token: async () => await readToken(readFile, path),
    }))
    const { transport } = platform
    routings.push(new HttpRouting(platform, { transport, endpoints: () => endpoints, announceTo, gate, reach }))
  }
  if (dht.kad) {
    const { crypto } = platform
    const { listen, bootstrap, protocol } = dht
    const records = dependencies.local.about.bind(dependencies.local)
    routings.push(new KadRouting(platform, { seed, crypto, gate, reach, records, listen, bootstrap, protocol }))
  }
  return routings
}

async function readToken(readFile: NonNullable<IndexPartsHost['readRoots']>, path: string): Promise<string> {
  const bytes = await readFile(path)
  if (bytes === undefined) throw new CairnError('NotFound', `announce.to names ${path}, which does not exist.`)
  return new TextDecoder().decode(bytes).trim()
}
