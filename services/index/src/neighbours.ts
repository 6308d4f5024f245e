/** Whom the index asks: the registry for names, other indexes and the DHT for providers. */
import { CairnError } from '@cairn/kernel'
import { parseTrust } from '@cairn/names'
import { readSmallFile } from '@cairn/platform'
import {
  HttpRouting,
  KadRouting,
  type LocalRecords,
  type ProviderRouting,
  type Reach,
  type RecordGate,
} from '@cairn/routing'
import type { FollowedNames } from './domain/name-source.ts'
import type { PartsHost } from './parts.ts'
import { RegistryView } from './registry-view/registry-view.ts'
import { remoteRegistry } from './registry-view/remote-registry.ts'

/** The verified view of the registry, if there is one: the one that is configured, else that of this node. */
export async function openNames({
  platform,
  directory,
  config,
  registry,
}: Pick<PartsHost, 'platform' | 'directory' | 'config' | 'registry'>): Promise<FollowedNames | undefined> {
  const { url, trust_path: path } = config.current.registry
  const trust = path === undefined ? undefined : await readTrust(platform.disk, path)
  const common = { platform, directory: `${directory}/registry`, trust }
  if (url === undefined) return registry && new RegistryView({ ...common, client: registry })
  if (trust === undefined) {
    const detail = `registry.url names ${url}; set registry.trust_path to its trust file (\`cairn registry trust -o FILE\`, from somebody you believe).`
    throw new CairnError('Malformed', detail, { code: 'config' })
  }
  return new RegistryView({ ...common, ...remoteRegistry(platform, url) })
}

async function readTrust(disk: PartsHost['platform']['disk'], path: string) {
  const bytes = await readSmallFile(disk, path)
  if (bytes === undefined) throw new CairnError('NotFound', `registry.trust_path names ${path}, which does not exist.`)
  return parseTrust(bytes)
}

interface Doors {
  readonly reach: Reach
  readonly gate: RecordGate
  readonly local: LocalRecords
}

/** The ways the configuration asks for, the preferred first. */
export function openRoutings(
  { platform, config, identitySeed: seed, readRoots }: PartsHost,
  doors: Doors,
): readonly ProviderRouting[] {
  const { dht, announce } = config.current
  const readFile = readRoots ?? (async (path: string) => await readSmallFile(platform.disk, path))
  const routings: ProviderRouting[] = []
  const reach = (): Reach => doors.reach
  const { gate } = doors
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
    const records = doors.local.about.bind(doors.local)
    routings.push(new KadRouting(platform, { seed, crypto, gate, reach, records, listen, bootstrap, protocol }))
  }
  return routings
}

async function readToken(readFile: NonNullable<PartsHost['readRoots']>, path: string): Promise<string> {
  const bytes = await readFile(path)
  if (bytes === undefined) throw new CairnError('NotFound', `announce.to names ${path}, which does not exist.`)
  return new TextDecoder().decode(bytes).trim()
}
