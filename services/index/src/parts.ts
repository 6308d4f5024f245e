/** What the routes and tasks of the service share, and how it is opened. */
import type { RegistryClient, StorageClient } from '@cairn/clients'
import type { RequestContext, ServiceHost, WorkQueue } from '@cairn/http'
import { type BreakerPolicy, Breakers, Bus, openQueue, type Queue, type Runtime } from '@cairn/kernel'
import { GuardedTransport, type Platform, UrlPolicy } from '@cairn/platform'
import {
  DialPolicy,
  LocalRecords,
  ProviderRecordStore,
  type ProviderRouting,
  RecordGate,
  RecordSigner,
} from '@cairn/routing'
import type { Transport } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import type { IndexConfig } from './config.ts'
import { Cache } from './domain/cache.ts'
import { Idempotency } from './domain/idempotency.ts'
import { LocalOverrides } from './domain/local-overrides.ts'
import { type CachedResult, questionKey } from './domain/lookup.ts'
import { type FollowedNames, NameCatalogue } from './domain/name-source.ts'
import { Latencies, Suppressions } from './domain/rank.ts'
import { Resolver } from './domain/resolver.ts'
import { LookupAdmission, LookupIntake } from './intake.ts'
import { slotOf } from './metrics.ts'
import { Announcer } from './tasks/announcer.ts'
import type { ReindexRequest } from './tasks/prefetcher.ts'
import { INDEX_TOPOLOGY } from './topology.ts'
import { holdingsOf, openNames, openRoutings } from './upstreams.ts'

// What the index says happened, and the trail of every change somebody made.

interface IndexEvents {
  'index.resolve.observed': {
    readonly key_hint: string
    readonly source: string
    readonly latency_ms: number
    readonly corr_id: string
  }
  'index.pin.changed': { readonly cid: Address; readonly action: 'pin' | 'unpin'; readonly corr_id: string }
  'index.admin.accepted': {
    readonly task_id: string
    readonly kind: 'reindex'
    readonly keys: number
    readonly corr_id: string
  }
  'audit.event': {
    readonly action: AuditedAction
    /** What it was done to. */
    readonly subject: string
    readonly decision: 'accepted' | 'unchanged'
    /** The capability that allowed it. */
    readonly token_id: string
    readonly corr_id: string
  }
}

type AuditedAction = 'pin' | 'unpin' | 'put_name' | 'remove_name' | 'reindex' | 'announce' | 'report'

/** One event for each change, changed or not: who, what, by which capability. */
class IndexAudit {
  readonly #runtime: Runtime
  readonly #events: Bus<IndexEvents>

  constructor(runtime: Runtime, events: Bus<IndexEvents>) {
    this.#runtime = runtime
    this.#events = events
  }

  note(
    { token, corrId }: RequestContext<unknown, unknown, unknown>,
    action: AuditedAction,
    subject: string,
    isChanged: boolean,
  ): void {
    const decision = isChanged ? 'accepted' : 'unchanged'
    const body = { action, subject, decision, token_id: token?.tid ?? '', corr_id: corrId } as const
    this.#runtime.log.info(body, 'audit')
    this.#events.publish({ topic: 'audit.event', body })
  }
}

/** What a node gives beside what every service needs. */
export interface IndexDependencies {
  /** The node's 32-byte identity: it signs provider records, and is the key in the DHT. */
  readonly identitySeed: Uint8Array
  /** The storage of this node: what it holds is answered for and announced. */
  readonly storage?: StorageClient | undefined
  /** Where names come from; without one there are only local names. */
  readonly registry?: RegistryClient | undefined
  /** Where others fetch from this node. */
  readonly selfUrls?: (() => readonly string[]) | undefined
  /** Files the configuration names, in amnesia too; those of the drive otherwise. */
  readonly readRoots?: ((path: string) => Promise<Uint8Array | undefined>) | undefined
  /** Nothing outlives the process, and what was looked up is forgotten now and then. */
  readonly amnesia?: boolean | undefined
  /** In place of those the configuration asks for; for tests. */
  readonly names?: FollowedNames | undefined
  readonly routings?: readonly ProviderRouting[] | undefined
  /** Requests to hosts that strangers named; the guarded one of the machine otherwise. */
  readonly egress?: Transport | undefined
}

export interface IndexParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => IndexConfig
  readonly names: FollowedNames | undefined
  readonly routings: readonly ProviderRouting[]
  readonly overrides: LocalOverrides
  readonly cache: Cache<CachedResult>
  readonly breakers: Breakers
  readonly intake: LookupIntake
  readonly admission: LookupAdmission
  readonly suppressions: Suppressions
  readonly latencies: Latencies
  readonly idempotency: Idempotency
  /** Checks records of others. */
  readonly gate: RecordGate
  /** Records that others announced here. */
  readonly records: ProviderRecordStore
  readonly announcer: Announcer
  readonly reindex: Queue<ReindexRequest>
  readonly catalogue: NameCatalogue
  /** Searches and graph walks. */
  readonly facets: WorkQueue
  readonly egress: Transport
  readonly audit: IndexAudit
  readonly events: Bus<IndexEvents>
  readonly amnesia: boolean
  /** The id under which this node signs. */
  readonly publisher: string
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

type FacetJob = WorkQueue extends Queue<infer Item> ? Item : never

export type IndexPartsHost = Pick<ServiceHost<IndexConfig>, 'platform' | 'directory' | 'config'> & IndexDependencies

/** Refuses what `openParts` would refuse of the configuration, without opening the overrides. */
export async function checkParts(host: Pick<IndexPartsHost, 'platform' | 'directory' | 'config'>): Promise<void> {
  await openNames(host)
}

/** Opens the overrides and the ways to ask others; no task runs yet. */
export async function openParts(host: IndexPartsHost): Promise<IndexParts> {
  const { platform, directory, storage, amnesia = false } = host
  const config = (): IndexConfig => host.config.current
  const { dht, region } = config()
  const overrides = await LocalOverrides.open(platform.disk, directory)
  const idempotency = await Idempotency.open(platform.disk, directory, platform.clock)
  const reach = new DialPolicy({ allowLoopback: dht.allow_loopback })
  const { crypto, clock, metrics } = platform
  const gate = new RecordGate({ crypto, clock, metrics, reach: () => reach })
  const records = new ProviderRecordStore(platform)
  const own = (): readonly string[] => urlsOf(config(), host.selfUrls)
  const reachable = (): readonly string[] => own().filter((url) => reach.allowsHost(new URL(url).hostname))
  // A record with an address that others refuse is refused whole; one only for this machine is better than none.
  const urls = (): readonly string[] => (reachable().length > 0 ? reachable() : own())
  const signer = new RecordSigner({ crypto, clock, seed: host.identitySeed, urls, region })
  const local = new LocalRecords({ has: holdingsOf(platform, storage), signer, store: records })
  const names = host.names ?? (await openNames(host))
  const routings = host.routings ?? openRoutings(host, { reach, gate, local })
  const { isPinned } = overrides
  const cache = new Cache<CachedResult>(platform, () => ({ entries: config().cache.entries, isPinned }))
  const breakers = new Breakers(platform, breakerPolicy(config()), { labelOf: slotOf, queue: 'routing-outcomes' })
  const resolver = new Resolver(platform, { config, names, overrides, local, routings, breakers, cache })
  const intake = new LookupIntake(platform, config, resolver)
  const reindex: Queue<ReindexRequest> = openQueue(platform, INDEX_TOPOLOGY, 'reindex')
  const facets: WorkQueue = openQueue(platform, INDEX_TOPOLOGY, 'facets', (job: FacetJob) => job.cancel())
  const events = new Bus<IndexEvents>(platform, INDEX_TOPOLOGY)
  const egress = host.egress ?? guarded(platform, dht.allow_loopback)
  return {
    runtime: platform,
    config,
    names,
    routings,
    overrides,
    cache,
    breakers,
    intake,
    admission: new LookupAdmission(platform, config),
    suppressions: new Suppressions(clock),
    latencies: new Latencies(),
    idempotency,
    gate,
    records,
    announcer: new Announcer(platform, {
      config,
      storage,
      local,
      routings: routings.filter(({ announces: tells }) => tells),
      isReachable: () => reachable().length > 0,
      onHeld: (cid) => cache.forget(questionKey({ tag: 'providers', cid })),
    }),
    reindex,
    catalogue: new NameCatalogue(names, overrides),
    facets,
    egress,
    audit: new IndexAudit(platform, events),
    events,
    amnesia,
    publisher: signer.publisher,
    close: async () => {
      // Queues that were never opened to requests are closed here; closing twice is closing once.
      intake.queue.abort()
      reindex.abort()
      facets.abort()
      cache.close()
      breakers.close()
      events.close()
      for (const routing of routings) await routing[Symbol.asyncDispose]()
      await names?.close()
      await egress.close()
    },
  }
}

/** What is configured, or where the node listens. */
function urlsOf({ announce }: IndexConfig, selfUrls: (() => readonly string[]) | undefined): readonly string[] {
  return announce.http.length > 0 ? announce.http : (selfUrls?.() ?? [])
}

/** Judge nothing on fewer calls than this: one lookup asks a target once. */
const BREAKER_SAMPLE = 5

function breakerPolicy({ breaker }: IndexConfig): BreakerPolicy {
  return {
    windowMs: breaker.error_window,
    threshold: breaker.trip_threshold,
    sample: BREAKER_SAMPLE,
    cooldownMs: breaker.cooldown,
    probes: breaker.half_open_probes,
  }
}

function guarded(platform: Platform, allowLoopback: boolean): Transport {
  const policy = new UrlPolicy({ allow: 'any', devAllowLoopbackHttp: allowLoopback })
  return new GuardedTransport(platform, { lookup: platform.lookup, policy: () => policy })
}
