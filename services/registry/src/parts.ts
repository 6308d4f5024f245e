/** What the routes and tasks of the service share, and how it is opened. */
import type { StorageClient } from '@cairn/clients'
import {
  type Broadcast,
  Bus,
  openBroadcast,
  openQueue,
  type Queue,
  type Runtime,
  Watch,
  type Watching,
} from '@cairn/kernel'
import type { Signer } from '@cairn/names'
import { MemoryDisk, type Platform, readSmallFile, type ServiceHost, Upkeep } from '@cairn/platform'
import { Audit, type RegistryEvents } from './audit.ts'
import type { RegistryConfig } from './config.ts'
import { Archive } from './domain/archive.ts'
import { type Reach, unarmed } from './domain/crash-points.ts'
import { type Custody, custodyOf, isRestored, markRestored } from './domain/custody.ts'
import type { ReadRoots } from './domain/genesis.ts'
import { headCacheOf, readHeadCache, writeHeadCache } from './domain/head-cache.ts'
import type { Ledger, OpenProposal } from './domain/ledger.ts'
import { type CheckpointSigner, type LogSeeds, openLogSeeds } from './domain/log-keys.ts'
import { type StartedLog, startLog } from './domain/log-start.ts'
import type { Published } from './domain/published.ts'
import { type LogOptions, type OpenedLog, RegistryLog } from './domain/registry-log.ts'
import type { VersionFacts } from './domain/versions.ts'
import { Intake } from './intake.ts'
import type { Anchor } from './tasks/checkpointor.ts'
import { type Committed, Committer, EXPIRED_KEPT_MS } from './tasks/committer.ts'
import { DeepVerifier } from './tasks/deep-verifier.ts'
import { Pruner } from './tasks/pruner.ts'
import { Publisher } from './tasks/publisher.ts'
import { REGISTRY_TOPOLOGY } from './topology.ts'

/** What a node gives beside what every service needs; the last two are for tests alone. */
export interface RegistrySurroundings {
  /** Where payloads go that do not fit into a log entry. */
  readonly storage?: StorageClient | undefined
  /** Reads the file of the trust roots from the machine itself; the service's own disk does unless given. */
  readonly readRoots?: ReadRoots | undefined
  readonly reach?: Reach | undefined
  readonly segmentBytes?: number | undefined
}

/** What is committed and what could be, to look at. */
export interface LedgerReads {
  open(id: string): OpenProposal | undefined
  openCount(): number
  formerSigners(): readonly Signer[]
  proposals(): Iterable<OpenProposal>
  committed(id: string): VersionFacts | undefined
  facts(version: number): VersionFacts
  changedBy(key: string, version: number): number | undefined
  changes(key: string, before: number, limit: number): number[]
  versionsBelow(logIndex: number): number
  signerSetVersions(): readonly number[]
}

export interface RegistryParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => RegistryConfig
  readonly crypto: Platform['crypto']
  readonly signer: Pick<CheckpointSigner, 'identity' | 'logKey' | 'cosignerKey' | 'keys'>
  readonly published: Watching<Published>
  readonly ledger: LedgerReads
  readonly log: RegistryLog
  readonly archive: Archive
  readonly intake: Intake
  readonly audit: Audit
  readonly storage: StorageClient | undefined
  /** Whether this registry may sign, and how one from a backup comes to. */
  readonly custody: Custody
  readonly committer: Committer
  readonly publisher: Publisher
  readonly pruner: Pruner
  readonly verifier: DeepVerifier
  /** Anchors on their way to the pruner. */
  readonly retention: Queue<Anchor>
  /** Writes down how far the log has come. */
  readonly saveHead: () => Promise<void>
  readonly reach: Reach
  readonly events: Bus<RegistryEvents>
  /** Where the key of a signer lies that this start made, one of one; in amnesia nobody can get at it. */
  readonly ownSignerFile: string | undefined
  readonly isForgetful: boolean
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

export type PartsHost = Pick<ServiceHost<RegistryConfig>, 'platform' | 'directory' | 'config' | 'upkeep'> &
  RegistrySurroundings

/** Opens the log under the service's directory, begins or completes it, and everything around it; no task runs yet. */
export async function openParts(host: PartsHost): Promise<RegistryParts> {
  const { platform, directory, segmentBytes, reach = unarmed } = host
  const { drive_timeout: ioTimeoutMs } = host.config.current
  const notBeforeMs = platform.clock.wall() - EXPIRED_KEPT_MS
  const cached = await readHeadCache(platform.disk, directory)
  if (cached.tag === 'damaged') platform.log.warn({}, 'the file HEAD is damaged; HEAD is taken from the log')
  const cache = cached.tag === 'read' ? cached.value : undefined
  const watermark = cache?.watermark
  const options = { directory, ioTimeoutMs, segmentBytes, watermark, notBeforeMs, reach }
  const found = await RegistryLog.open(platform, options)
  const held = await openCustody(host, found)
  const opened = held.isRestored ? await reopenSigned(found, platform, options) : found
  try {
    const readRoots = host.readRoots ?? (async (path) => await readSmallFile(platform.disk, path))
    const started = await startLog(platform, opened, {
      directory,
      config: host.config.current,
      cache,
      readRoots,
      ...held,
    })
    if (started.how !== 'begun') {
      const kind = started.how === 'completed' ? 'crash' : 'startup'
      platform.metrics.count('registry_recoveries_total', { kind })
    }
    const custody = custodyOf(platform, directory, { log: opened.log, ...started, ...held })
    return joinParts(host, opened, { ...started, custody }, reach)
  } catch (error) {
    await opened.log.close()
    throw error
  }
}

/** The seeds, and whether they may be used: a log that has begun and has lost them came from a backup. */
async function openCustody(
  { platform, directory, config }: PartsHost,
  { log, ledger }: OpenedLog,
): Promise<{ readonly seeds: LogSeeds | undefined; readonly isRestored: boolean }> {
  try {
    const isBegun = ledger !== undefined
    const seeds = await openLogSeeds(platform, directory, {
      isBegun,
      isQuantum: config.current.pq.mode === 'hybrid',
    })
    if (seeds === undefined) await markRestored(platform.disk, directory)
    return { seeds, isRestored: isBegun && (await isRestored(platform.disk, directory)) }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** What lies behind the last checkpoint was never shown to anybody, and may have become something else since. */
async function reopenSigned(found: OpenedLog, platform: Platform, options: LogOptions): Promise<OpenedLog> {
  if (found.checkpoint?.size === found.log.size) return found
  await found.log.close()
  return await RegistryLog.open(platform, { ...options, isSignedOnly: true })
}

function joinParts(
  host: PartsHost,
  opened: OpenedLog,
  started: StartedLog & { readonly custody: Custody },
  reach: Reach,
): RegistryParts {
  const { platform, directory, config, storage } = host
  const { log, writer, trimmer } = opened
  const { ledger, signer, custody } = started
  const published = new Watch(started.published)
  const intake = new Intake(platform)
  const retention: Queue<Anchor> = openQueue(platform, REGISTRY_TOPOLOGY, 'retention_cmd')
  const events = new Bus<RegistryEvents>(platform, REGISTRY_TOPOLOGY)
  const audit = new Audit(platform, events)
  const committed: Broadcast<Committed> = openBroadcast(platform, REGISTRY_TOPOLOGY, 'committed')
  const archive = new Archive(log, ledger.versions)
  const publisher = new Publisher(platform, { committed, published, events })
  const reads = readsOf(ledger)
  const saveHead = async (): Promise<void> => await writeHead(platform, directory, log, published.value)
  const verified = { log, archive, ledger: reads, published, signer, crypto: platform.crypto }
  return {
    runtime: platform,
    config: () => config.current,
    crypto: platform.crypto,
    signer,
    published,
    ledger: reads,
    log,
    archive,
    intake,
    audit,
    storage,
    custody,
    committer: new Committer(platform, { intake, log, writer, ledger, signer, published, committed, audit, reach }),
    publisher,
    pruner: new Pruner(platform, {
      retention,
      config: () => config.current,
      directory,
      ledger,
      log,
      archive,
      trimmer,
      intake,
      upkeep: host.upkeep ?? new Upkeep(),
      reach,
    }),
    verifier: new DeepVerifier(platform, verified, {
      directory,
      committed: committed.subscribe(undefined, 'deep-verifier'),
      damagedAfter: opened.damagedAfter,
    }),
    retention,
    saveHead,
    reach,
    events,
    ownSignerFile: started.ownSignerFile,
    isForgetful: platform.disk instanceof MemoryDisk,
    close: async () => {
      // Queues that were never opened to requests are closed here; closing twice is closing once.
      intake.abort()
      retention.abort()
      committed.close()
      publisher.close()
      events.close()
      // One that only reads has nothing to write down, and its drive may be a copy of another's.
      if (custody.problem === undefined)
        await saveHead().catch((error: unknown) => platform.log.warn({ error }, 'the file HEAD was not written'))
      await log.close()
    },
  }
}

function readsOf(ledger: Ledger): LedgerReads {
  return {
    open: (id) => ledger.open(id),
    openCount: () => ledger.openCount,
    formerSigners: () => ledger.formerSigners,
    proposals: () => ledger.proposals(),
    committed: (id) => ledger.committed(id),
    facts: (version) => ledger.versions.facts(version),
    changedBy: (key, version) => ledger.changedBy(key, version),
    changes: (key, before, limit) => ledger.changes(key, before, limit),
    versionsBelow: (logIndex) => ledger.versionsBelow(logIndex),
    signerSetVersions: () => ledger.signerSetVersions(),
  }
}

async function writeHead(platform: Platform, directory: string, log: RegistryLog, published: Published): Promise<void> {
  const { watermark } = log
  if (watermark === undefined) return
  const { size, head } = published
  const { version, hash } = head
  const cache = headCacheOf(size, await log.rootAt(size), { version, hash }, watermark)
  await writeHeadCache(platform.disk, directory, cache)
}
