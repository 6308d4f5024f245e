/** What the routes and tasks of the service share, and how it is opened. */
import type { IndexClient, StorageClient } from '@cairn/clients'
import type { ServiceHost } from '@cairn/http'
import { Bus, CairnError, type Runtime } from '@cairn/kernel'
import { GuardedTransport, type Inflate, threadInflate, UrlPolicy } from '@cairn/platform'
import type { Transport } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import { EntryAnswers } from './answers/entry-answer.ts'
import { Cas } from './cas/cas.ts'
import type { EdgeConfig } from './config.ts'
import { Fills } from './fill/fills.ts'
import { UpstreamAnswers } from './fill/upstream-answers.ts'
import { type UpstreamRoutes, upstreamRoutes } from './fill/upstream-route.ts'
import { ObjectAnswers } from './objects/object-answers.ts'
import { ProviderFills, ProviderReach } from './objects/provider-fills.ts'
import { type OpenPack, packOpener } from './packs/open-pack.ts'
import { PackAnswers } from './packs/pack-answers.ts'
import { AddedPacks, PackTable } from './packs/pack-table.ts'
import { Directories } from './sites/directories.ts'
import { Names } from './sites/names.ts'
import { SiteAnswers } from './sites/site-answers.ts'
import { EDGE_TOPOLOGY } from './topology.ts'

// Which host is whose site.

/** Site names by host: a plain label is a name below `localhost`. */
function siteHosts({ sites }: EdgeConfig): ReadonlyMap<string, string> {
  const rows = Object.entries(sites).map(([label, name]) => {
    const host = label.toLowerCase()
    return [host.includes('.') ? host : `${host}.localhost`, name] as const
  })
  return new Map(rows)
}

/** What a node gives beside what every service needs; the last two are for the simulator. */
export interface EdgeDependencies {
  readonly storage?: StorageClient | undefined
  readonly index?: IndexClient | undefined
  /** Reads packs in place of `@cairn/packs`; for tests. */
  readonly openPack?: OpenPack | undefined
  /** Set without a disk: how much memory its files may take. */
  readonly amnesiaBytes?: number | undefined
  readonly transport?: Transport | undefined
  readonly inflate?: Inflate | undefined
}

export interface EdgeParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => EdgeConfig
  readonly cas: Cas
  readonly fills: Fills
  readonly objects: ObjectAnswers
  readonly sites: SiteAnswers
  readonly siteNames: () => ReadonlyMap<string, string>
  readonly upstream: UpstreamAnswers
  readonly upstreamRoutes: () => UpstreamRoutes
  readonly packs: PackAnswers
  readonly packTable: PackTable
  readonly addedPacks: AddedPacks
  readonly providers: ProviderFills | undefined
  readonly events: Bus<EdgeEvents>
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

export type EdgePartsHost = Pick<ServiceHost<EdgeConfig>, 'platform' | 'directory' | 'config'> & EdgeDependencies

const DRIVE_TIMEOUT_MS = 5_000
/** The files of the cache need room beside what it holds. */
const AMNESIA_PART = 0.5

/** Opens the cache under the service's directory and everything around it; no task runs yet. */
export async function openParts(host: EdgePartsHost): Promise<EdgeParts> {
  const { platform, directory, amnesiaBytes } = host
  const config = (): EdgeConfig => host.config.current
  checkConfig(config())
  const { cas_max_bytes: casMaxBytes, cas_cache_bytes: cacheBytes } = config()
  const bytesMax = Math.min(casMaxBytes, Math.floor((amnesiaBytes ?? Infinity) * AMNESIA_PART))
  const addedPacks = await AddedPacks.open(platform.disk, directory)
  const cas = await Cas.open(platform, {
    path: `${directory}/cas`,
    bytesMax,
    cacheBytes,
    ioTimeoutMs: DRIVE_TIMEOUT_MS,
  })
  return joinParts(host, config, cas, addedPacks)
}

function joinParts(host: EdgePartsHost, config: () => EdgeConfig, cas: Cas, addedPacks: AddedPacks): EdgeParts {
  const { platform, index, storage, inflate = threadInflate } = host
  const openPack = host.openPack ?? packOpener(platform, inflate)
  const isAmnesiac = host.amnesiaBytes !== undefined
  const events = new Bus<EdgeEvents>(platform, EDGE_TOPOLOGY)
  const fills = new Fills(platform, config)
  const transport = host.transport ?? guardedTransport(host, config)
  const reach = new ProviderReach(platform, platform.lookup, config().dev_allow_loopback_http)
  const reachProvider = host.transport === undefined ? reach.reach : (): Transport => transport
  const providers =
    index === undefined
      ? undefined
      : new ProviderFills({ runtime: platform, config, index, cas, events, isAmnesiac, reach: reachProvider })
  const objects = new ObjectAnswers({ runtime: platform, config, storage, cas, fills, providers })
  const directories = new Directories({ runtime: platform, workers: platform.workers, config, objects })
  const packTable = new PackTable(platform, events, openPack)
  return {
    runtime: platform,
    config,
    cas,
    fills,
    objects,
    sites: new SiteAnswers(new Names(platform, index), objects, directories),
    siteNames: derived(config, siteHosts),
    upstream: new UpstreamAnswers({
      runtime: platform,
      config,
      upstream: () => ({ runtime: platform, transport, config: config() }),
      cas,
      fills,
      events,
      isAmnesiac,
      entries: new EntryAnswers(cas),
      inflate,
    }),
    upstreamRoutes: derived(config, upstreamRoutes),
    packs: new PackAnswers(platform, config, packTable, inflate),
    packTable,
    addedPacks,
    providers,
    events,
    close: async () => {
      // A queue that was never opened to requests is closed here; closing twice is closing once.
      fills.close()
      events.close()
      providers?.close()
      await packTable.close()
      await reach.close()
      if (host.transport === undefined) await transport.close()
      await cas.close()
    },
  }
}

function guardedTransport({ platform }: EdgePartsHost, config: () => EdgeConfig): Transport {
  const policy = derived(
    config,
    ({ allow, dev_allow_loopback_http: devAllowLoopbackHttp }) => new UrlPolicy({ allow, devAllowLoopbackHttp }),
  )
  return new GuardedTransport(platform, { lookup: platform.lookup, policy })
}

/** Worked out of the configuration once for each that comes into force. */
function derived<T>(config: () => EdgeConfig, make: (config: EdgeConfig) => T): () => T {
  let seen = config()
  let made = make(seen)
  return () => {
    const current = config()
    if (current !== seen) {
      made = make(current)
      seen = current
    }
    return made
  }
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+$/

/** Refuses what `openParts` would refuse of the configuration. */
export async function checkParts({ config }: Pick<EdgePartsHost, 'config'>): Promise<void> {
  await Promise.resolve(checkConfig(config.current))
}

function checkConfig({ bind_addr: address, dev_allow_loopback_http: isLoose }: EdgeConfig): void {
  if (!isLoose || LOOPBACK.test(address)) return
  throw new CairnError('RejectPolicy', `edge.dev_allow_loopback_http is for tests; it is refused at ${address}.`)
}

/** What the edge says happened, as hints. */
export interface EdgeEvents {
  'edge.fill': { readonly route: string; readonly status: number; readonly bytes: number }
  'edge.pack.mounted': { readonly pack: string; readonly address: Address }
}
