/** What the routes and tasks of the service share, and how it is opened. */
import type { RegistryClient, StorageClient } from '@cairn/clients'
import { type BreakerPolicy, Breakers, Bus, openQueue, type Queue, type Runtime } from '@cairn/kernel'
import {
  GuardedTransport,
  type Platform,
  type ServiceHost,
  type Transport,
  UrlPolicy,
  type WorkQueue,
} from '@cairn/platform'
import { LocalRecords, type ProviderRouting, Reach, RecordGate, RecordSigner, RecordStore } from '@cairn/routing'
import { Admission } from './admission.ts'
import type { IndexConfig } from './config.ts'
import { Book } from './domain/book.ts'
import { Cache } from './domain/cache.ts'
import { Catalogue } from './domain/catalogue.ts'
import { type Cached, questionKey } from './domain/finding.ts'
import { holdingsOf } from './domain/holdings.ts'
import { Idempotency } from './domain/idempotency.ts'
import { Latencies } from './domain/latencies.ts'
import type { FollowedNames } from './domain/name-source.ts'
import { Resolver } from './domain/resolver.ts'
import { Suppressions } from './domain/suppressions.ts'
import { slotOf } from './domain/target-slot.ts'
import { Audit, type IndexEvents } from './events.ts'
import { Intake } from './intake.ts'
import { openNames, openRoutings } from './neighbours.ts'
import { Announcer } from './tasks/announcer.ts'
import type { ReindexRequest } from './tasks/reindex-line.ts'
import { INDEX_TOPOLOGY } from './topology.ts'

/** What a node gives beside what every service needs. */
export interface IndexSurroundings {
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
  readonly book: Book
  readonly cache: Cache<Cached>
  readonly breakers: Breakers
  readonly intake: Intake
  readonly admission: Admission
  readonly suppressions: Suppressions
  readonly latencies: Latencies
  readonly idempotency: Idempotency
  /** Checks records of others. */
  readonly gate: RecordGate
  /** Records that others announced here. */
  readonly records: RecordStore
  readonly announcer: Announcer
  readonly reindex: Queue<ReindexRequest>
  readonly catalogue: Catalogue
  /** Searches and graph walks. */
  readonly facets: WorkQueue
  readonly egress: Transport
  readonly audit: Audit
  readonly events: Bus<IndexEvents>
  readonly amnesia: boolean
  /** The id under which this node signs. */
  readonly publisher: string
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

type FacetJob = WorkQueue extends Queue<infer Item> ? Item : never

export type PartsHost = Pick<ServiceHost<IndexConfig>, 'platform' | 'directory' | 'config'> & IndexSurroundings

/** Refuses what `openParts` would refuse of the configuration, without opening the book. */
export async function checkParts(host: Pick<PartsHost, 'platform' | 'directory' | 'config'>): Promise<void> {
  await openNames(host)
}

/** Opens the book and the ways to ask others; no task runs yet. */
export async function openParts(host: PartsHost): Promise<IndexParts> {
  const { platform, directory, storage, amnesia = false } = host
  const config = (): IndexConfig => host.config.current
  const { dht, region } = config()
  const book = await Book.open(platform.disk, directory)
  const idempotency = await Idempotency.open(platform.disk, directory, platform.clock)
  const reach = new Reach({ allowLoopback: dht.allow_loopback })
  const { crypto, clock, metrics } = platform
  const gate = new RecordGate({ crypto, clock, metrics, reach: () => reach })
  const records = new RecordStore(platform)
  const own = (): readonly string[] => urlsOf(config(), host.selfUrls)
  const reachable = (): readonly string[] => own().filter((url) => reach.allowsHost(new URL(url).hostname))
  // A record with an address that others refuse is refused whole; one only for this machine is better than none.
  const urls = (): readonly string[] => (reachable().length > 0 ? reachable() : own())
  const signer = new RecordSigner({ crypto, clock, seed: host.identitySeed, urls, region })
  const local = new LocalRecords({ has: holdingsOf(platform, storage), signer, store: records })
  const names = host.names ?? (await openNames(host))
  const routings = host.routings ?? openRoutings(host, { reach, gate, local })
  const cache = new Cache<Cached>(platform, () => ({ entries: config().cache.entries, isPinned: book.isPinned }))
  const breakers = new Breakers(platform, breakerPolicy(config()), { labelOf: slotOf, queue: 'routing-outcomes' })
  const resolver = new Resolver(platform, { config, names, book, local, routings, breakers, cache })
  const intake = new Intake(platform, config, resolver)
  const reindex: Queue<ReindexRequest> = openQueue(platform, INDEX_TOPOLOGY, 'reindex')
  const facets: WorkQueue = openQueue(platform, INDEX_TOPOLOGY, 'facets', (job: FacetJob) => job.cancel())
  const events = new Bus<IndexEvents>(platform, INDEX_TOPOLOGY)
  const egress = host.egress ?? guarded(platform, dht.allow_loopback)
  return {
    runtime: platform,
    config,
    names,
    routings,
    book,
    cache,
    breakers,
    intake,
    admission: new Admission(platform, config),
    suppressions: new Suppressions(clock),
    latencies: new Latencies(),
    idempotency,
    gate,
    records,
    announcer: new Announcer(platform, {
      config,
      storage,
      local,
      routings: routings.filter(({ tells }) => tells),
      isReachable: () => reachable().length > 0,
      onHeld: (cid) => cache.forget(questionKey({ tag: 'providers', cid })),
    }),
    reindex,
    catalogue: new Catalogue(names, book),
    facets,
    egress,
    audit: new Audit(platform, events),
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
