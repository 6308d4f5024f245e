/** What the routes and tasks of the service share, and how it is opened. */
import type { RegistryClient, StorageClient } from '@cairn/clients'
import type { ServiceHost } from '@cairn/http'
import {
  BREAKER_DEFAULT,
  Breakers,
  Bus,
  type Deadline,
  type Job,
  openQueue,
  type Queue,
  type Runtime,
  serveJobs,
  submit,
  type TaskBody,
} from '@cairn/kernel'
import type { Mailbox } from '@cairn/mailbox'
import { GuardedTransport, makeDirectories, type Platform } from '@cairn/platform'
import type { Transport } from '@cairn/transport'
import { toBase64url } from '@cairn/wire'
import { InteropAudit, type InteropEvents } from './audit.ts'
import type { InteropConfig } from './config.ts'
import type { AuditChain } from './domain/audit-chain.ts'
import { InteropLedger } from './domain/ledger.ts'
import { Pressure } from './domain/pressure.ts'
import { eventCapabilityIssuer, Receiver } from './domain/receiver.ts'
import { VerificationGate, WebhookRate } from './domain/verification-gate.ts'
import { journalLost } from './errors.ts'
import { Forwarder, forwardPolicy } from './forward/forwarder.ts'
import { openProviders } from './providers/open-providers.ts'
import type { WebhookProvider } from './providers/provider.ts'
import {
  type ProviderSecrets,
  readProviderSecrets,
  readSecretAt,
  type Secret,
  type SecretSources,
  secretSources,
} from './providers/secret.ts'
import { openReconciler } from './reconcile/reconciler.ts'
import type { SpaceMember } from './replay/spaces-core.ts'
import { auditChainId, compareAnchor, SeenCheckpoint } from './tasks/audit-anchor.ts'
import { INTEROP_TOPOLOGY } from './topology.ts'

// The `work` queue: verified webhooks in their reserved lane, puts in the other, one pool of workers for both.

type InteropWorkItem = () => Promise<unknown>

/** What bounds a piece of work. */
interface InteropWorkBounds {
  readonly deadline: Deadline
  readonly signal: AbortSignal
}

class InteropWorkPool {
  readonly #queue: Queue<Job<InteropWorkItem, unknown>>

  constructor(runtime: Runtime) {
    this.#queue = openQueue(runtime, INTEROP_TOPOLOGY, 'work', (job: Job<InteropWorkItem, unknown>) => job.cancel())
  }

  /** A webhook that is genuine: it uses what is reserved. `Busy` at once if even that is full. */
  async webhook<T>(item: () => Promise<T>, { deadline, signal }: InteropWorkBounds): Promise<T> {
    return (await submit(this.#queue, item, { deadline, signal, lane: 'urgent' })) as T
  }

  async put<T>(item: () => Promise<T>, { deadline, signal }: InteropWorkBounds): Promise<T> {
    return (await submit(this.#queue, item, { deadline, signal, lane: 'normal' })) as T
  }

  readonly worker: TaskBody = async (context) => {
    await serveJobs(this.#queue, context, async (item) => await item())
  }

  /** How full it is, 0 to 1. */
  get ratio(): number {
    return this.#queue.depth / this.#queue.capacity
  }

  close(): void {
    this.#queue.close()
  }

  abort(): number {
    return this.#queue.abort()
  }
}

/** What a node gives beside what every service needs; the last two are for tests alone. */
export interface InteropDependencies {
  /** Where bodies and objects go. Without it nothing can be accepted. */
  readonly storage?: StorageClient | undefined
  /** Where proposals are opened and the audit is anchored. */
  readonly registry?: RegistryClient | undefined
  /** Which audit chain is ours is told from it; without it the registry's anchors are not compared. */
  readonly identitySeed?: Uint8Array | undefined
  /** Nothing is written to a disk. */
  readonly amnesia?: boolean | undefined
  /** Carries forwards and questions to providers instead of a guarded transport. */
  readonly outside?: Transport | undefined
  readonly segmentBytes?: number | undefined
}

export interface InteropParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => InteropConfig
  readonly providers: ReadonlyMap<string, WebhookProvider>
  readonly secrets: SecretSources
  readonly storage: StorageClient | undefined
  readonly registry: RegistryClient | undefined
  readonly ledger: InteropLedger
  readonly mailbox: Mailbox
  readonly chain: AuditChain
  /** What our chain is called in the registry's log. */
  readonly chainId: string | undefined
  /** What the registry had signed when it took our newest anchor. */
  readonly seen: SeenCheckpoint
  readonly receiver: Receiver
  readonly gate: VerificationGate
  readonly rate: WebhookRate
  readonly pressure: Pressure
  readonly work: InteropWorkPool
  readonly audit: InteropAudit
  readonly forwards: Forwarder | undefined
  readonly reconciler: TaskBody | undefined
  readonly events: Bus<InteropEvents>
  /** Runs after every task has ended. */
  readonly close: () => Promise<void>
}

export type InteropPartsHost = Pick<ServiceHost<InteropConfig>, 'platform' | 'directory' | 'config'> &
  InteropDependencies

/** Reads secrets, opens the journal under the service's directory and everything around it; no task runs yet. */
export async function openParts(host: InteropPartsHost): Promise<InteropParts> {
  const { platform, directory, config } = host
  const { providers: declared, mailbox, replay, drive_timeout: ioTimeoutMs } = config.current
  const read = await readProviderSecrets(platform, declared)
  const bridges = { providers: openProviders(declared, read, platform.crypto), secrets: secretSources(read) }
  await makeDirectories(platform.disk, directory)
  const ledger = await InteropLedger.open(platform, {
    directory,
    ioTimeoutMs,
    visibilityMs: mailbox.visibility,
    maxDeliveries: mailbox.max_deliveries,
    maxMessages: mailbox.max_messages,
    maxKeys: replay.max_keys,
    segmentBytes: host.segmentBytes,
  })
  try {
    await ledger.join(spaceMembers(platform, read, host.identitySeed))
    const parts = joinParts(host, ledger, bridges, await openOutside(host))
    // Before anything is taken: what the journal forgot would be taken for new.
    await compareAnchor(platform, parts, NEVER)
    return parts
  } catch (error) {
    await ledger.close()
    throw error
  }
}

/** Secrets are compared by a keyed hash: what the journal says of them is of no use without the node's identity. */
function spaceMembers(
  { crypto }: Platform,
  secrets: ProviderSecrets,
  identitySeed: Uint8Array = new Uint8Array(32),
): readonly SpaceMember[] {
  const key = crypto.hmacSha256(identitySeed, new TextEncoder().encode('cairn replay spaces'))
  const fingerprint = ({ text }: Secret): string => {
    return toBase64url(crypto.hmacSha256(key, new TextEncoder().encode(text)).subarray(0, FINGERPRINT_BYTES))
  }
  return [...secrets].map(([provider, all]) => ({ provider, secrets: all.map(fingerprint) }))
}

const FINGERPRINT_BYTES = 16

/** Refuses what `openParts` would refuse of the configuration: the same secrets are read and the same keys made. */
export async function checkParts({ platform, directory, config }: InteropPartsHost): Promise<void> {
  const { providers } = config.current
  openProviders(providers, await readProviderSecrets(platform, providers), platform.crypto)
  const { close } = await openOutside({ platform, directory, config })
  await close()
}

const NEVER = new AbortController().signal

/** Refuses what would be written while something of the journal is missing. */
export function requireWhole({ ledger }: InteropParts): void {
  const lost = ledger.lost.value
  if (lost !== undefined) throw journalLost(lost.detail)
}

interface Outside {
  readonly forwards: Forwarder | undefined
  readonly reconciler: TaskBody | undefined
  readonly close: () => Promise<void>
}

async function openOutside(host: InteropPartsHost): Promise<Outside> {
  const { platform, config, outside: transport = platform.transport } = host
  const reconciler = await openReconciler({ ...platform, transport }, config.current.providers.github)
  return { ...(await openForwards(host)), reconciler }
}

/** What goes out to hosts that rules name; nothing where none does. */
async function openForwards({ platform, config, outside }: InteropPartsHost): Promise<Omit<Outside, 'reconciler'>> {
  const { rules, forward } = config.current
  if (!rules.some(({ effect }) => effect.tag === 'forward')) return { forwards: undefined, close: async () => {} }
  const policy = forwardPolicy(rules, forward)
  const secrets = await Promise.all(forward.secrets.map(async (each) => await readSecretAt(platform, each)))
  const guarded = outside === undefined ? guardedTransport(platform, policy) : undefined
  const breakers = new Breakers(platform, BREAKER_DEFAULT, { queue: 'forward-outcomes' })
  const transport = outside ?? guarded
  if (transport === undefined) throw new TypeError('There is no way out.')
  const { crypto } = platform
  const forwards = new Forwarder({
    runtime: platform,
    crypto,
    transport,
    policy,
    breakers,
    secrets,
    format: forward.format,
  })
  return {
    forwards,
    close: async () => {
      breakers.close()
      await guarded?.close()
    },
  }
}

function guardedTransport(platform: Platform, policy: ReturnType<typeof forwardPolicy>): GuardedTransport {
  return new GuardedTransport(platform, { lookup: platform.lookup, policy: () => policy })
}

function joinParts(
  { platform, config, directory, storage, registry, identitySeed }: InteropPartsHost,
  ledger: InteropLedger,
  bridges: Pick<InteropParts, 'providers' | 'secrets'>,
  outside: Outside,
): InteropParts {
  const events = new Bus<InteropEvents>(platform, INTEROP_TOPOLOGY)
  const audit = new InteropAudit(platform, events)
  const work = new InteropWorkPool(platform)
  const pressure = new Pressure(platform, () => {
    const { error_rate: errorRate, upstream_p95: upstreamP95Ms } = config.current.brownout
    return { errorRate, upstreamP95Ms }
  })
  const rules = () => config.current.rules
  const capabilities = eventCapabilityIssuer(platform)
  return {
    runtime: platform,
    config: () => config.current,
    ...bridges,
    storage,
    registry,
    ledger,
    mailbox: ledger.mailbox,
    chain: ledger.chain,
    seen: new SeenCheckpoint(platform, directory),
    chainId: identitySeed === undefined ? undefined : auditChainId(identitySeed),
    receiver: new Receiver(platform, { ledger, storage, capabilities, pressure, audit, events, rules }),
    gate: new VerificationGate(() => {
      const { concurrent_per_address: perAddress, concurrent: seats, max_bytes: bytes } = config.current.verification
      return { perAddress, slots: seats, bytes }
    }),
    rate: new WebhookRate(platform, () => config.current.ingress),
    pressure,
    work,
    audit,
    forwards: outside.forwards,
    reconciler: outside.reconciler,
    events,
    close: async () => {
      // Queues that were never opened to requests are closed here; closing twice is closing once.
      work.abort()
      audit.abort()
      events.close()
      await outside.close()
      await ledger.close()
    },
  }
}
