/** Objects from whoever the index says has them: each chunk is proved before anybody sees it. */
import { Caller, type IndexClient, NO_SCOPES, type StorageClient, storageClient } from '@cairn/clients'
import {
  BREAKER_DEFAULT,
  Breakers,
  type Bus,
  CairnError,
  Deadline,
  isKind,
  type Runtime,
  toCairnError,
} from '@cairn/kernel'
import { GuardedTransport, type Lookup, UrlPolicy } from '@cairn/platform'
import type { Transport } from '@cairn/transport'
import { type Address, addressOf, chunkAddress, type Manifest, verifyChunk } from '@cairn/wire'
import { BodyWriter } from '../cas/body-writer.ts'
import type { Cas } from '../cas/cas.ts'
import { makeEntry } from '../cas/entry.ts'
import type { EdgeConfig } from '../config.ts'
import { noSuchObject } from '../errors.ts'
import type { Fill, FillWork } from '../fill/fill.ts'
import type { EdgeEvents } from '../parts.ts'

const PROVIDERS_MAX = 5
/** Breakers kept; more hosts than this share them. */
const SLOTS_MAX = 256
/** The index is asked to leave a provider out; whoever waits for bytes does not wait for that. */
const REPORT_MS = 500
const SINGLE_CHUNK_BYTES_MAX = 1024 * 1024

export function objectKey(id: Address): string {
  return `o ${id}`
}

export interface ProviderOptions {
  readonly runtime: Runtime
  readonly config: () => EdgeConfig
  readonly index: IndexClient
  readonly cas: Cas
  readonly events: Bus<EdgeEvents>
  readonly isAmnesiac: boolean
  /** Reaches a provider, and nobody else. */
  readonly reach: (base: URL) => Transport
}

export class ProviderFills {
  readonly #options: ProviderOptions
  /** For their janitor. */
  readonly breakers: Breakers
  /** Hosts by the number their breaker has: a number may be shown, a host not. */
  readonly #slots = new Map<string, number>()

  constructor(options: ProviderOptions) {
    this.#options = options
    this.breakers = new Breakers(options.runtime, BREAKER_DEFAULT, { queue: 'provider-outcomes' })
  }

  close(): void {
    this.breakers.close()
  }

  work(id: Address): FillWork {
    return async (fill, signal) => await this.#fill(fill, id, signal)
  }

  async #fill(fill: Fill, id: Address, signal: AbortSignal): Promise<void> {
    const { runtime, index, config } = this.#options
    const deadline = Deadline.after(runtime.clock, config().fill_body_timeout)
    const context = { deadline, signal }
    const { providers } = await index.providers(id, { limit: PROVIDERS_MAX }, context)
    const holders = providers.flatMap(({ id: provider, http: [text = ''] }): Holder[] => {
      const base = URL.parse(text)
      return base === null ? [] : [{ provider, client: this.#client(base) }]
    })
    let last: CairnError | undefined
    for (const [at, { provider, client }] of holders.entries()) {
      let manifest: Manifest | undefined
      try {
        runtime.metrics.count('edge_live_fill_attempts_total', { route: 'b3' })
        manifest = await client.manifest(id, { ...context, deadline: deadline.child(config().fill_timeout) })
      } catch (error) {
        last = toCairnError(error)
        if (signal.aborted) throw last
        await this.#report(id, provider, last, context)
        continue
      }
      await this.#take(fill, id, manifest, holders.slice(at), context)
      runtime.metrics.count('edge_live_fill_success_total', { route: 'b3' })
      return
    }
    throw last === undefined || isKind(last, 'NotFound') ? noSuchObject(id) : last
  }

  /** Tells the index who gave other bytes, or none, so that nobody is sent there for a while. */
  async #report(
    id: Address,
    provider: string,
    error: CairnError,
    { deadline, signal }: { readonly deadline: Deadline; readonly signal: AbortSignal },
  ): Promise<void> {
    const reason = reasonAgainst(error)
    if (reason === undefined) return
    const { runtime, index } = this.#options
    runtime.log.warn({ object: id, provider, reason, error }, 'provider failed')
    try {
      await index.report(id, provider, reason, { deadline: deadline.child(REPORT_MS), signal })
    } catch (cause) {
      runtime.log.warn({ provider, error: cause }, 'index not told of a provider that failed')
    }
  }

  #client(base: URL): StorageClient {
    const { runtime, reach } = this.#options
    const transport = reach(base)
    const slot = this.#slots.get(base.host) ?? this.#slots.size % SLOTS_MAX
    this.#slots.set(base.host, slot)
    const target = `provider-${slot}`
    return storageClient(new Caller({ runtime, transport, base, target, breakers: this.breakers, grant: NO_SCOPES }))
  }

  async #take(
    fill: Fill,
    id: Address,
    manifest: Manifest | undefined,
    holders: readonly Holder[],
    context: { readonly deadline: Deadline; readonly signal: AbortSignal },
  ): Promise<void> {
    const { cas, runtime, config, events, isAmnesiac } = this.#options
    const { max_fill_bytes: bytesMax } = config()
    const chunks = chunksFrom(id, manifest, holders, {
      ...context,
      within: (work) => work(context.deadline.child(config().fill_timeout)),
      onFailure: async (provider, error) => await this.#report(id, provider, error, context),
    })
    // An object of one chunk says how long it is by being there.
    const begun = manifest === undefined ? await chunks.next() : undefined
    const first: Uint8Array | undefined = begun?.done === false ? begun.value : undefined
    const length = manifest?.size ?? first?.length
    const writer = new BodyWriter(cas, runtime.metrics, { bytesMax, lengthExpected: length, amnesia: isAmnesiac })
    const now = runtime.clock.wall()
    const head = { status: 200, headers: {}, requestedAt: now, receivedAt: now }
    const growth = { head, selecting: [], body: writer.growing, length }
    fill.state.set({ tag: 'growing', growth })
    try {
      if (first !== undefined) await writer.push(first)
      for await (const chunk of chunks) {
        runtime.metrics.count('edge_bytes_in_total', { route: 'b3' }, chunk.length)
        await writer.push(chunk)
      }
    } catch (error) {
      await writer.fail(error)
      throw error
    }
    fill.isWhole = true
    const body = await writer.finish()
    if (body === undefined) {
      fill.whenLeft(() => writer.handOver())
      fill.state.set({ tag: 'unkept', growth })
      return
    }
    if (body.address !== id) {
      writer.handOver()
      throw new CairnError('Integrity', `The bytes that came are not those of ${id}.`)
    }
    const entry = makeEntry({ key: objectKey(id), selecting: [], body, ...head })
    cas.put(entry)
    writer.handOver()
    fill.state.set({ tag: 'stored', entry, how: 'filled' })
    events.publish({ topic: 'edge.fill', body: { route: 'b3', status: 200, bytes: body.size } })
  }
}

/** Somebody who says they hold the object. */
interface Holder {
  readonly provider: string
  readonly client: StorageClient
}

/** What is to be said against a provider; nothing where it may be our fault, or that of its load. */
function reasonAgainst(error: CairnError): 'corrupt' | 'dead' | undefined {
  if (['Integrity', 'Malformed', 'TooLarge'].includes(error.kind) || error.code === 'bad_answer') return 'corrupt'
  return error.kind === 'NotFound' || error.kind === 'Timeout' ? 'dead' : undefined
}

interface Chunking {
  readonly signal: AbortSignal
  readonly within: <T>(work: (deadline: Deadline) => Promise<T>) => Promise<T>
  readonly onFailure: (provider: string, error: CairnError) => Promise<void>
}

/** Every chunk in order, each proved; a provider that fails one is passed over for the next. */
async function* chunksFrom(
  id: Address,
  manifest: Manifest | undefined,
  holders: readonly Holder[],
  { signal, within, onFailure }: Chunking,
): AsyncGenerator<Uint8Array> {
  const count = manifest?.chunkCount ?? 1
  let turn = 0
  for (let at = 0; at < count; ) {
    const holder = holders[turn]
    if (holder === undefined) throw new CairnError('Integrity', 'No provider has all of this.', { code: 'upstream' })
    const { client, provider } = holder
    let bytes: Uint8Array
    try {
      bytes = await within(async (deadline) => {
        if (manifest === undefined) return await client.get(id, SINGLE_CHUNK_BYTES_MAX, { deadline, signal })
        return await client.chunk(chunkAddress(manifest, at), { deadline, signal })
      })
      if (manifest !== undefined) verifyChunk(manifest, at, bytes)
      else if (addressOf(bytes) !== id) throw new CairnError('Integrity', `The bytes that came are not those of ${id}.`)
    } catch (error) {
      if (signal.aborted) throw error
      await onFailure(provider, toCairnError(error))
      turn += 1
      if (holders[turn] === undefined) throw error
      continue
    }
    yield bytes
    at += 1
  }
}

/** Providers are strangers: HTTPS and public addresses only, each reachable for as long as it is asked. */
export class ProviderReach {
  readonly #runtime: Runtime
  readonly #lookup: Lookup
  readonly #allowLoopback: boolean
  #hosts: readonly string[] = []
  #policy: UrlPolicy
  readonly #transport: GuardedTransport

  constructor(runtime: Runtime, lookup: Lookup, allowLoopback: boolean) {
    this.#runtime = runtime
    this.#lookup = lookup
    this.#allowLoopback = allowLoopback
    this.#policy = new UrlPolicy({ allow: [] })
    this.#transport = new GuardedTransport(this.#runtime, { lookup: this.#lookup, policy: () => this.#policy })
  }

  readonly reach = (base: URL): Transport => {
    const host = base.port === '' ? `${base.hostname}:${base.protocol === 'http:' ? 80 : 443}` : base.host
    if (!this.#hosts.includes(host)) {
      this.#hosts = [...this.#hosts.slice(-HOSTS_MAX), host]
      this.#policy = new UrlPolicy({ allow: this.#hosts, devAllowLoopbackHttp: this.#allowLoopback })
    }
    return this.#transport
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }
}

const HOSTS_MAX = 256
