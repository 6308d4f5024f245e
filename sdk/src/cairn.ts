/** A client of a node: the one class users of this package hold. */
import { followEvents, indexClient, type ProviderSet, type ProvidersOptions, type Resolution } from '@cairn/clients'
import { CairnError, KERNEL_METRICS, MemoryLog, MemoryMetrics, type Runtime, systemRuntime } from '@cairn/kernel'
import { objectIn, parseAddress, type TreeEntry } from '@cairn/wire'
import { Connection } from './connection.ts'
import { type DiffOptions, diffTrees, type TreeChange } from './diff.ts'
import { type GetOptions, get } from './get.ts'
import { badAnswer, type Fetch } from './http.ts'
import {
  type AbortOptions,
  type DurabilityReport,
  durability,
  type GiveUpOptions,
  type GiveUpReport,
  giveUpSegment,
  type ListOptions,
  list,
  type ObjectPage,
  remove,
  repair,
  type ScrubReport,
  scrub,
  scrubReport,
} from './maintenance.ts'
import { type Belief, provenName } from './proof.ts'
import { type PutOptions, type PutResult, put } from './put.ts'
import { Registry } from './registry.ts'
import { SERVICES, type ServiceName, Services } from './services.ts'
import type { Source } from './source.ts'
import {
  type DirectoryReader,
  type DirectoryWriter,
  type GetTreeOptions,
  getTree,
  putTree,
  readTree,
  type TreeOptions,
  type TreeProgress,
  type TreeResult,
} from './tree.ts'

// What a name means and who holds an address, as the index says it.

export interface ResolveOptions extends AbortOptions, Belief {
  /** Past what the index keeps. */
  readonly fresh?: boolean
}

const NAME_PREFIX = 'name:'

/**
 * What `name:…` or `b3:…` means; `NotFound` if nobody knows. With a trust file or a pin the proof of a name is verified
 * here, and an answer without one, or with another meaning, is an `Integrity` error.
 */
async function resolve(services: Services, key: string, options: ResolveOptions = {}): Promise<Resolution> {
  const { fresh = false, signal, ...belief } = options
  const { pin, trust } = belief
  const ask = { fresh, ...(pin === undefined ? {} : { from: pin.size }) }
  const found = await indexClient(services.caller('index')).resolve(key, ask, services.call(signal))
  if (found === undefined) throw new CairnError('NotFound', `${key} was not found.`)
  // An address proves itself, by the bytes that are there.
  const isProved = key.startsWith(NAME_PREFIX) && (pin ?? trust) !== undefined
  if (isProved) await requireProof(services, found, belief)
  return found
}

async function requireProof(services: Services, { key, manifest, proof }: Resolution, belief: Belief): Promise<void> {
  if (proof === undefined)
    throw new CairnError('Integrity', `The index proves nothing about ${key}.`, { code: 'no_proof' })
  const name = key.slice(NAME_PREFIX.length)
  const { finding } = await provenName(proof, name, belief, services.runtime.clock.wall())
  if (finding.item?.manifest !== manifest)
    throw new CairnError('Integrity', `The index says that ${key} means ${manifest}; its proof says otherwise.`)
}

/** Who holds the address, best first; nobody where none is known. */
async function providers(
  services: Services,
  address: string,
  { signal, ...options }: AbortOptions & ProvidersOptions = {},
): Promise<ProviderSet> {
  return await indexClient(services.caller('index')).providers(parseAddress(address), options, services.call(signal))
}

// What happens in a service, as it happens.

export interface ServiceEvent {
  /** To be given as `since`, to go on after this event. */
  readonly id: string
  /** `storage.ingest`, `registry.updated`, …; `gap` says that some are lost, and that the facts have to be asked for. */
  readonly topic: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface EventsOptions extends AbortOptions {
  /** Whose events (default storage). */
  readonly service?: ServiceName
  /** The id of the last event that was heard, to hear what came after it. */
  readonly since?: string | undefined
  /** Hears when the service listens: what happens from then on is told. */
  readonly onOpen?: () => void
}

/** Events over as many connections as it takes, until the signal. They are hints, and no event is told twice. */
async function* events(services: Services, options: EventsOptions = {}): AsyncGenerator<ServiceEvent> {
  const { service = 'storage', since, onOpen = ignore, signal } = options
  const heard = followEvents(services.caller(service), services.following(signal), onOpen, since)
  for await (const { id, event, data } of heard) {
    const body = objectIn(data)
    if (body === undefined) throw badAnswer('has an event without a JSON object')
    yield { id, topic: event, body }
  }
}

function ignore(): void {}

type ServiceUrls = Readonly<Partial<Record<`${ServiceName}Url`, string | URL>>>

/** Where services are, such as `storageUrl: 'http://127.0.0.1:7071'`; those that are asked for nothing may be left out. */
export interface CairnOptions extends ServiceUrls {
  readonly storageUrl: string | URL
  /** A capability token, or a bundle of them; reads need none unless the node says so. */
  readonly token?: string | undefined
  /** How long a small question may take (default 30 s); transfers have budgets of their own. */
  readonly timeoutMs?: number | undefined
  /** What sends requests, where the global one does not fit. */
  readonly fetch?: Fetch
  /** Time and chance, where they are not the machine's: in tests. */
  readonly runtime?: Runtime
}

const TIMEOUT_MS = 30_000

export class Cairn {
  /** Names, their history, and proofs of them. */
  readonly registry: Registry
  readonly #storage: Connection
  readonly #services: Services

  constructor(options: CairnOptions) {
    const { storageUrl, token, timeoutMs = TIMEOUT_MS } = options
    const common = {
      runtime: options.runtime ?? systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS)),
      token,
      timeoutMs,
      fetch: options.fetch ?? (async (url, init) => await globalThis.fetch(url, init)),
    }
    this.#storage = new Connection({ ...common, base: directoryOf(storageUrl, 'storageUrl') })
    this.#services = new Services({ ...common, urls: urlsOf(options) })
    this.registry = new Registry(this.#services)
  }

  /** Stores bytes; resolves once they are durable. Repeated after a failure, it sends only what is missing. */
  async put(source: Source, options?: PutOptions): Promise<PutResult> {
    return await put(this.#storage, source, options)
  }

  /** The bytes at an address, each proved before it is handed out; errors before a byte that is not the object's. */
  get(address: string, options?: GetOptions): ReadableStream<Uint8Array> {
    return get(this.#storage, address, options)
  }

  async putTree(directory: DirectoryReader, options?: TreeOptions): Promise<TreeResult> {
    return await putTree(this.#storage, directory, options)
  }

  async getTree(address: string, writer: DirectoryWriter, options?: GetTreeOptions): Promise<TreeProgress> {
    return await getTree(this.#storage, address, writer, options)
  }

  async readTree(address: string, options?: AbortOptions): Promise<readonly TreeEntry[]> {
    return await readTree(this.#storage, address, options)
  }

  /** What differs between two directories or files; either may be absent. Fetches only what is not the same on both sides. */
  async diff(
    before: string | undefined,
    after: string | undefined,
    options?: DiffOptions,
  ): Promise<readonly TreeChange[]> {
    const addressIn = (text: string | undefined) => (text === undefined ? undefined : parseAddress(text))
    const read = async (address: string) => await readTree(this.#storage, address, options)
    return await diffTrees(read, addressIn(before), addressIn(after), options)
  }

  /** What `name:…` or `b3:…` means; with a trust file or a pin, proved. */
  async resolve(key: string, options?: ResolveOptions): Promise<Resolution> {
    return await resolve(this.#services, key, options)
  }

  /** Who holds the address, best first. */
  async providers(address: string, options?: AbortOptions & ProvidersOptions): Promise<ProviderSet> {
    return await providers(this.#services, address, options)
  }

  /** What happens in a service, from now on or after the event `since`, until the signal. */
  events(options?: EventsOptions): AsyncGenerator<ServiceEvent> {
    return events(this.#services, options)
  }

  async list(options?: ListOptions): Promise<ObjectPage> {
    return await list(this.#storage, options)
  }

  async remove(address: string, options?: AbortOptions): Promise<void> {
    await remove(this.#storage, address, options)
  }

  /** How safe everything is: copies, targets, repairs. */
  async durability(options?: AbortOptions): Promise<DurabilityReport> {
    return await durability(this.#storage, options)
  }

  async repair(address?: string, options?: AbortOptions): Promise<void> {
    await repair(this.#storage, address, options)
  }

  async scrub(options?: AbortOptions): Promise<ScrubReport> {
    return await scrub(this.#storage, options)
  }

  async giveUpSegment(options: GiveUpOptions): Promise<GiveUpReport> {
    return await giveUpSegment(this.#storage, options)
  }

  async scrubReport(options?: AbortOptions): Promise<ScrubReport> {
    return await scrubReport(this.#storage, options)
  }
}

function urlsOf(options: ServiceUrls): Partial<Record<ServiceName, URL>> {
  const urls: Partial<Record<ServiceName, URL>> = {}
  for (const service of SERVICES) {
    const url = options[`${service}Url`]
    if (url !== undefined) urls[service] = directoryOf(url, `${service}Url`)
  }
  return urls
}

/** Routes lie below the URL, also where it has a path of its own. */
function directoryOf(url: string | URL, option: string): URL {
  if (!URL.canParse(url)) {
    const detail = `${option} must be a URL such as http://127.0.0.1:7071, and is ${String(url)}.`
    throw new CairnError('Malformed', detail, { code: 'bad_option' })
  }
  const base = new URL(url)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return base
}
