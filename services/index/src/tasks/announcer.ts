/**
 * Tells the network what this node holds and what others announced to it.
 *
 *     storage ── what it takes in, at once ─────▶ schedule ── one after the other, evenly ──▶ every routing
 *     storage ── every address, page by page ───▶    │
 *     POST /announce ── proved records ─────────▶    └ again 12 hours later, as long as somebody holds it
 *
 * Storage's events are only hints: the listing is what counts, so nothing is missed for good.
 */
import type { StorageClient } from '@cairn/clients'
import {
  Cancel,
  Deadline,
  type Runtime,
  Scope,
  Semaphore,
  sleep,
  type TaskBody,
  throwIfCanceled,
  toCairnError,
  Watch,
} from '@cairn/kernel'
import { type LocalRecords, type ProviderRouting, RepublishSchedule, type SignedProviderRecord } from '@cairn/routing'
import { type Address, parseAddress } from '@cairn/wire'
import type { IndexConfig } from '../config.ts'

export interface AnnouncerParts {
  readonly config: () => IndexConfig
  readonly storage: Pick<StorageClient, 'list' | 'events'> | undefined
  /** What this node can say about an object, signed. */
  readonly local: LocalRecords
  /** Those that tell somebody; without any there is nothing to do. */
  readonly routings: readonly ProviderRouting[]
  /** Whether others could fetch from this node at all. */
  readonly isReachable: () => boolean
  /** This node holds something else than before: what is kept about it is not so any more. */
  readonly onHeld: (cid: Address) => void
}

/** One page of the listing; storage that takes longer is asked again next round. */
const PAGE_MS = 10_000
/** A stream of events lives so long at most. */
const EVENTS_MS = 24 * 60 * 60 * 1000
/** Before storage is asked again for its events. */
const PAUSE_MS = 1_000
/** Objects under way at once: one that takes long does not hold up the others. */
const TOLD_AT_ONCE = 16

export class Announcer {
  readonly #runtime: Runtime
  readonly #parts: AnnouncerParts
  readonly #schedule: RepublishSchedule
  /** What storage held when it was last listed, and took in since. */
  #held = new Set<Address>()
  /** Grows when there is a reason to look before the next round. */
  readonly #asked = new Watch(0)

  constructor(runtime: Runtime, parts: AnnouncerParts) {
    this.#runtime = runtime
    this.#parts = parts
    this.#schedule = new RepublishSchedule(runtime.clock)
  }

  /** Objects that are told again and again. */
  get size(): number {
    return this.#schedule.size
  }

  /** Somebody else announced that they hold it. */
  add(cid: Address): void {
    if (this.#parts.routings.length > 0) this.#schedule.add(cid)
  }

  /** Looks at storage soon. */
  look(): void {
    this.#asked.set(this.#asked.value + 1)
  }

  readonly run: TaskBody = async ({ draining }) => {
    await using scope = new Scope(this.#runtime, 'announcer', { signals: [draining] })
    const { storage } = this.#parts
    if (storage !== undefined) scope.spawn('hears', async (signal) => await this.#hear(storage, signal))
    scope.spawn('looks', async (signal) => await this.#lookAgain(signal))
    scope.spawn('tells', async (signal) => await this.#tellAll(signal))
    await scope.join()
  }

  async #hear(storage: Pick<StorageClient, 'events'>, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#runtime
    for (;;) {
      try {
        const deadline = Deadline.after(clock, EVENTS_MS)
        // What came between the last look and the first event is found by another look.
        for await (const { event, data } of storage.events({ deadline, signal }, () => this.look())) {
          if (event === 'gap') this.look()
          else if (event === 'storage.ingest') this.#ingested(addressIn(data))
        }
      } catch (error) {
        throwIfCanceled(signal)
        log.debug({ error: toCairnError(error).message }, 'the events of storage ended')
      }
      await sleep(clock, PAUSE_MS, { signal })
    }
  }

  #ingested(cid: Address): void {
    this.#parts.onHeld(cid)
    if (!this.#announces()) return
    this.#held.add(cid)
    this.#schedule.add(cid)
  }

  #announces(): boolean {
    const { config, routings, isReachable } = this.#parts
    return config().announce.own && routings.length > 0 && isReachable()
  }

  async #lookAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      const seen = this.#asked.version
      try {
        await this.#reconcile(signal)
      } catch (error) {
        throwIfCanceled(signal)
        this.#runtime.log.warn({ error: toCairnError(error).message }, 'what storage holds could not be listed')
      }
      const deadline = Deadline.after(this.#runtime.clock, this.#parts.config().announce.reconcile_interval)
      using round = new Cancel({ signals: [signal], deadline })
      await this.#asked.changed(seen, { signal: round.signal }).catch(() => throwIfCanceled(signal))
    }
  }

  /** Compares what storage holds with what is announced. */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { storage } = this.#parts
    if (storage === undefined || !this.#announces()) return
    const held = new Set<Address>()
    let cursor: Address | undefined
    do {
      const page = await storage.list(cursor, { deadline: Deadline.after(this.#runtime.clock, PAGE_MS), signal })
      for (const cid of page.addresses) {
        held.add(cid)
        if (!this.#held.has(cid)) this.#schedule.add(cid)
      }
      cursor = page.cursor
    } while (cursor !== undefined)
    const gone = [...this.#held].filter((cid) => !held.has(cid))
    this.#held = held
    for (const cid of gone) await this.#retract(cid, signal)
  }

  /** It is no longer here; others who announced it to us may still have it. */
  async #retract(cid: Address, signal: AbortSignal): Promise<void> {
    if ((await this.#parts.local.about(cid, signal)).length > 0) return
    this.#schedule.remove(cid)
    for (const routing of this.#parts.routings) await routing.unprovide(cid)
  }

  async #tellAll(signal: AbortSignal): Promise<void> {
    const places = new Semaphore(TOLD_AT_ONCE)
    await using scope = new Scope(this.#runtime, 'tells', { signals: [signal] })
    for (;;) {
      const place = await places.acquire({ signal })
      const cid = await this.#schedule.next({ signal })
      scope.spawn('tell', async () => {
        using _place = place
        this.#schedule.done(cid, await this.#tell(cid, signal))
      })
    }
  }

  async #tell(cid: Address, signal: AbortSignal): Promise<'told' | 'failed'> {
    try {
      const records = await this.#parts.local.about(cid, signal)
      if (records.length === 0) await this.#retract(cid, signal)
      else await this.#provide(records, signal)
      return 'told'
    } catch (error) {
      throwIfCanceled(signal)
      this.#runtime.log.debug({ error: toCairnError(error).message }, 'an object was not announced')
      return 'failed'
    }
  }

  /** Every routing is told, whatever becomes of the others. */
  async #provide(records: readonly SignedProviderRecord[], signal: AbortSignal): Promise<void> {
    const told = this.#parts.routings.map(async (routing) => await routing.provide(records, { signal }))
    const failed = (await Promise.allSettled(told)).find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
}

/** The address of an event's body. */
function addressIn(data: string): Address {
  const { address } = JSON.parse(data) as { readonly address?: unknown }
  return parseAddress(String(address))
}
