/**
 * Providers by HTTP: Delegated Routing v1 endpoints and other cairn indexes, one leg for each. That protocol only reads;
 * this node announces what it holds to cairn indexes through their own `/announce`.
 */
import { Cancel, canceled, type Runtime, throwIfCanceled } from '@cairn/kernel'
import { joinUrl, type Transport } from '@cairn/transport'
import { type Address, problemError } from '@cairn/wire'
import { type DelegatedPeer, delegatedPath, NDJSON, readDelegated } from './delegated-routing.ts'
import type { DialPolicy } from './dial-policy.ts'
import { type AnnounceTarget, IndexOutbox, textUpTo } from './index-outbox.ts'
import type { FindOptions, Provider, ProviderRouting, RoutingLeg, RoutingPeer } from './provider-routing.ts'
import type { SignedProviderRecord } from './record.ts'
import type { RecordGate } from './record-gate.ts'

export interface HttpRoutingOptions {
  /** Endpoints are configured, so this may be the plain transport; one with an egress policy where they are not. */
  readonly transport: Transport
  /** Base URLs, taken in rotation. Asked for every lookup, so that a reload takes hold at once. */
  readonly endpoints: () => readonly URL[]
  /** Indexes to which this node announces what it holds. */
  readonly announceTo?: readonly AnnounceTarget[]
  readonly gate: RecordGate
  readonly reach: () => DialPolicy
}

/** Of an answer that says no, so much is read to learn why. */
const REFUSAL_CHARACTERS_MAX = 16 * 1024

export class HttpRouting implements ProviderRouting {
  readonly name = 'http'
  /** True with an index in `announceTo`: endpoints are only asked. */
  readonly announces: boolean
  readonly #runtime: Runtime
  readonly #options: HttpRoutingOptions
  readonly #outboxes: readonly IndexOutbox[]
  /** Which endpoint the next lookup begins with. */
  #turn = 0

  constructor(runtime: Runtime, options: HttpRoutingOptions) {
    const { announceTo = [], transport } = options
    this.#runtime = runtime
    this.#options = options
    this.announces = announceTo.length > 0
    this.#outboxes = announceTo.map((target) => new IndexOutbox(runtime, transport, target))
  }

  /** In rotation: each lookup begins one endpoint further on, so that every endpoint is asked, however many there are. */
  legs(_cid: Address, count: number): readonly RoutingLeg[] {
    const endpoints = this.#options.endpoints()
    const first = endpoints.length === 0 ? 0 : this.#turn % endpoints.length
    this.#turn = first + 1
    return [...endpoints.slice(first), ...endpoints.slice(0, first)].slice(0, Math.max(0, count)).map((endpoint) => ({
      target: `http:${endpoint.href}`,
      knowledge: `http:${endpoint.href}`,
      find: async (cid, options) => await this.#find(endpoint, cid, options),
    }))
  }

  /** Announces every record to every index, or throws: then all are announced again, to the indexes that have them too. */
  async provide(records: readonly SignedProviderRecord[], { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const tells = this.#outboxes.flatMap((outbox) =>
      records.map(async (record) => await outbox.announce(record, signal)),
    )
    const failed = (await Promise.allSettled(tells)).find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async unprovide(): Promise<void> {}

  peers(): readonly RoutingPeer[] {
    return this.#options.endpoints().map(({ href }) => ({ id: href, addresses: [href], connected: true }))
  }

  /** The transport is the caller's to close. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#outboxes.map(async (outbox) => await outbox.close()))
  }

  async #find(endpoint: URL, cid: Address, { deadline, signal, onProvider }: FindOptions): Promise<void> {
    using cancel = new Cancel({ signals: [signal], deadline, operation: `the answer of ${endpoint.host}` })
    throwIfCanceled(cancel.signal)
    const { body, status, headers } = await this.#options.transport.request({
      method: 'GET',
      url: joinUrl(endpoint, delegatedPath(cid)),
      headers: {
        accept: `${NDJSON}, application/json;q=0.8`,
        'request-timeout': deadline.toHeader(),
        // An index that asks us too would wait for us, and we for it.
        'max-forwards': '0',
      },
      deadline,
      signal: cancel.signal,
    })
    try {
      if (status === 404) return
      if (status !== 200) {
        const refusal = { status, contentType: headers['content-type'], retryAfter: headers['retry-after'] }
        throw problemError({ ...refusal, text: await textUpTo(body, REFUSAL_CHARACTERS_MAX) }, endpoint.host)
      }
      for await (const peer of readDelegated(body, headers['content-type'])) {
        throwIfCanceled(cancel.signal)
        const provider = this.#providerOf(peer, cid)
        if (provider !== undefined) onProvider(provider)
      }
    } catch (error) {
      throw cancel.signal.aborted ? canceled(cancel.signal) : error
    } finally {
      body.cancel()
    }
  }

  /** A signed word counts or does not; without one, the endpoint's word is passed on as what it is. */
  #providerOf({ id, http, record }: DelegatedPeer, cid: Address): Provider | undefined {
    const { gate, reach } = this.#options
    if (record !== undefined) return gate.admit(record, { cid, publisher: id })
    const allowed = http.filter((url) => reach().allowsUrl(url, id))
    return { id, http: allowed, seenAtMs: this.#runtime.clock.wall() }
  }
}
