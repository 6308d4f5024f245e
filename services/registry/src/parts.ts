/** What the routes and tasks of the service share, and how it is opened. */
import type { StorageClient } from '@cairn/clients'
import type { ServiceHost } from '@cairn/http'
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
import { MaintenanceLock, MemoryDisk, type Platform, readSmallFile } from '@cairn/platform'
import { RegistryAudit, type RegistryEvents } from './audit.ts'
import type { RegistryConfig } from './config.ts'
import { Archive } from './domain/archive.ts'
import { type CrashPointHook, unarmed } from './domain/crash-points.ts'
import { Custody, findMissed, isRestored, keptKeys, markRestored, originIn } from './domain/custody.ts'
import { checkRoots, type ReadRoots } from './domain/genesis.ts'
import type { Ledger, PendingProposal, VersionSummary } from './domain/ledger.ts'
import { type CheckpointSigner, type LogSeeds, logKeysOf, openLogSeeds } from './domain/log-keys.ts'
import { type StartedLog, startLog } from './domain/log-start.ts'
import { headCacheOf, type Published, readHeadCache, writeHeadCache } from './domain/published.ts'
import { type LogOptions, type OpenedLog, RegistryLog } from './domain/registry-log.ts'
import { SignedRecords } from './domain/signed-record.ts'
import { damagedLog } from './errors.ts'
import { CommandIntake } from './intake.ts'
import type { Anchor } from './tasks/checkpointor.ts'
import { type Committed, Committer, EXPIRED_KEPT_MS } from './tasks/committer.ts'
import { DeepVerifier } from './tasks/deep-verifier.ts'
import { NameHolder } from './tasks/name-holder.ts'
import { Pruner } from './tasks/pruner.ts'
import { Publisher } from './tasks/publisher.ts'
import { SignedKeeper } from './tasks/signed-keeper.ts'
import { REGISTRY_TOPOLOGY } from './topology.ts'

/** What a node gives beside what every service needs; the last two are for tests alone. */
export interface RegistryDependencies {
  /** Where payloads go that do not fit into a log entry. */
  readonly storage?: StorageClient | undefined
  /** Reads the file of the trust roots from the machine itself; the service's own disk does unless given. */
  readonly readRoots?: ReadRoots | undefined
  readonly reach?: CrashPointHook | undefined
  readonly segmentBytes?: number | undefined
}

/** What is committed and what could be, to look at. */
export interface LedgerReads {
  open(id: string): PendingProposal | undefined
  openCount(): number
  formerSigners(): readonly Signer[]
  proposals(): Iterable<PendingProposal>
  committed(id: string): VersionSummary | undefined
  facts(version: number): VersionSummary
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
  readonly intake: CommandIntake
  readonly audit: RegistryAudit
  readonly storage: StorageClient | undefined
  /** Absent where there is no storage. */
  readonly nameHolder: NameHolder | undefined
  /** Whether this registry may sign, and how one from a backup comes to. */
  readonly custody: Custody
  readonly committer: Committer
  readonly publisher: Publisher
  readonly pruner: Pruner
  /** What was signed, kept outside of the data directory. */
  readonly records: SignedRecords
  readonly keeper: SignedKeeper
  readonly verifier: DeepVerifier
  /** Anchors on their way to the pruner. */
  readonly retention: Queue<Anchor>
  /** Writes down how far the log has come. */
  readonly saveHead: () => Promise<void>
  readonly reach: CrashPointHook
  readonly events: Bus<RegistryEvents>
  /** Where the key of a signer lies that this start made, one of one; in amnesia nobody can get at it. */
  readonly ownSignerFile: string | undefined
  readonly isForgetful: boolean
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

export type RegistryPartsHost = Pick<
  ServiceHost<RegistryConfig>,
  'platform' | 'directory' | 'config' | 'maintenanceLock'
> &
  RegistryDependencies

/** Refuses what `openParts` would refuse of the configuration, without opening the log. */
export async function checkParts({ platform, directory, config, readRoots }: RegistryPartsHost): Promise<void> {
  const isBegun = (await readHeadCache(platform.disk, directory)).tag !== 'absent'
  await checkRoots(config.current, readRoots ?? (async (path) => await readSmallFile(platform.disk, path)), isBegun)
}

/** Opens the log under the service's directory, begins or completes it, and everything around it; no task runs yet. */
export async function openParts(host: RegistryPartsHost): Promise<RegistryParts> {
  const { platform, directory, segmentBytes, reach = unarmed } = host
  const { drive_timeout: ioTimeoutMs } = host.config.current
  const notBeforeMs = platform.clock.wall() - EXPIRED_KEPT_MS
  const cached = await readHeadCache(platform.disk, directory)
  if (cached.tag === 'damaged') platform.log.warn({}, 'the file HEAD is damaged; HEAD is taken from the log')
  const cache = cached.tag === 'read' ? cached.value : undefined
  const watermark = cache?.watermark
  const options = { directory, ioTimeoutMs, segmentBytes, watermark, notBeforeMs, reach }
  const found = await RegistryLog.open(platform, options)
  const records = new SignedRecords(platform, directory)
  const held = await openCustody(host, found, records)
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
    const published = new Watch(started.published)
    const own = (): Uint8Array => published.value.note
    const custody = new Custody(platform, directory, { log: opened.log, signer: started.signer, records, ...held, own })
    return joinParts(host, opened, { ...started, published, custody, records }, reach)
  } catch (error) {
    await opened.log.close()
    throw error
  }
}

interface OpenedCustody {
  readonly seeds: LogSeeds | undefined
  /** It may not sign. */
  readonly isRestored: boolean
  /** A checkpoint that it has signed and has forgotten. */
  readonly missed: Awaited<ReturnType<typeof findMissed>>
}

/** The seeds, and whether they may be used: not by a log that came from a backup or that has forgotten what it signed. */
async function openCustody(
  { platform, directory, config }: RegistryPartsHost,
  { log, ledger, checkpoint }: OpenedLog,
  records: SignedRecords,
): Promise<OpenedCustody> {
  try {
    const isBegun = ledger !== undefined
    const kept = await keptKeys(platform.disk, directory)
    // Written when a log had begun: one that is empty now has lost all of it.
    if (!isBegun && kept !== undefined)
      throw damagedLog(0, 'there is none, and trust.json says that the log had begun.')
    const seeds = await openLogSeeds(platform, directory, {
      isBegun,
      isQuantum: config.current.pq.mode === 'hybrid',
      hadQuantum: kept?.quantumKey !== undefined,
    })
    if (seeds === undefined) await markRestored(platform.disk, directory)
    if (checkpoint === undefined)
      return { seeds, isRestored: isBegun && (await isRestored(platform.disk, directory)), missed: undefined }
    const origin = originIn(checkpoint.note)
    const logKeys = seeds === undefined ? kept : logKeysOf(platform, origin, seeds)
    const keys = logKeys && { origin, logKey: logKeys.logKey }
    const missed = keys && (await findMissed(platform, directory, { log, keys, records }))
    return { seeds, isRestored: missed !== undefined || (await isRestored(platform.disk, directory)), missed }
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
  host: RegistryPartsHost,
  opened: OpenedLog,
  started: Omit<StartedLog, 'published'> &
    Pick<RegistryParts, 'custody' | 'records'> & { readonly published: Watch<Published> },
  reach: CrashPointHook,
): RegistryParts {
  const { platform, directory, config, storage } = host
  const { log, writer, trimmer } = opened
  const { ledger, signer, custody, records, published } = started
  const { origin } = signer.identity
  const keeper = new SignedKeeper(platform, { origin, published, records, custody })
  const intake = new CommandIntake(platform)
  const retention: Queue<Anchor> = openQueue(platform, REGISTRY_TOPOLOGY, 'retention_cmd')
  const events = new Bus<RegistryEvents>(platform, REGISTRY_TOPOLOGY)
  const audit = new RegistryAudit(platform, events)
  const committed: Broadcast<Committed> = openBroadcast(platform, REGISTRY_TOPOLOGY, 'committed')
  const archive = new Archive(log, ledger.versions)
  const queues = { intake, committed }
  const pruning = { log, archive, ledger, trimmer, directory, config: () => config.current }
  const publisher = new Publisher(platform, { committed, published, events })
  const reads = readsOf(ledger)
  const nameHolder = storage && new NameHolder(platform, { storage, ledger: reads, archive, published, directory })
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
    nameHolder,
    custody,
    committer: new Committer(platform, { ...queues, log, writer, ledger, signer, published, audit, custody, reach }),
    publisher,
    records,
    keeper,
    pruner: new Pruner(platform, {
      ...pruning,
      retention,
      intake,
      maintenanceLock: host.maintenanceLock ?? new MaintenanceLock(),
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
      await nameHolder?.close()
      for (const queue of [intake, retention]) queue.abort()
      for (const each of [committed, publisher, events]) each.close()
      await writeDown(platform, { custody, keeper, saveHead })
      await log.close()
    },
  }
}

/** How far the log has come, for the next start. One that only reads has nothing to say: its drive may be another's copy. */
async function writeDown(
  { log }: Platform,
  { custody, keeper, saveHead }: Pick<RegistryParts, 'custody' | 'keeper' | 'saveHead'>,
): Promise<void> {
  if (custody.problem !== undefined) return
  await keeper.keep().catch((error: unknown) => log.warn({ error }, 'what was signed was not kept outside'))
  await saveHead().catch((error: unknown) => log.warn({ error }, 'the file HEAD was not written'))
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
