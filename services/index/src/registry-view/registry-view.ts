/**
 * Names as the registry's log proves them.
 *
 *     stream ──┐ (wake-ups, nothing else)
 *     timer ───┴─▶ look at the log: LogTail ─▶ standing {checkpoint, head, state} ─▶ pin.json, view
 *                                                   │
 *     resolve(name) ─────────────────────▶ what it means there ─▶ a proof file of it, checked, or why not
 *
 * Whatever the registry says that it cannot prove is counted, told in the status, and changes nothing.
 */
import type { CallContext, RegistryClient } from '@cairn/clients'
import {
  CairnError,
  Cancel,
  Deadline,
  RETRY,
  Scope,
  sleep,
  type TaskBody,
  toCairnError,
  Watch,
  type Watching,
} from '@cairn/kernel'
import { type Pin, parseName, type TrustFile } from '@cairn/names'
import type { Platform } from '@cairn/platform'
import { type Address, spellSeconds } from '@cairn/wire'
import type { FollowedNames, NameAnswer } from '../domain/name-source.ts'
import { findRefusal, LogTail, type ProvenLog, refuseView, type ViewRefusalReason } from './log-tail.ts'
import { type CheckedNameProof, NameProofs } from './name-proofs.ts'
import { SavedView } from './saved-view.ts'

/** How the view stands to the registry. */
export type RegistryViewStatus =
  | { readonly tag: 'starting'; readonly detail: string }
  | { readonly tag: 'following' }
  /** What was proved before still is; how old it is, an answer says. */
  | { readonly tag: 'unreachable'; readonly detail: string }
  /** The registry said something that it could not prove. */
  | { readonly tag: 'refused'; readonly reason: ViewRefusalReason; readonly detail: string }

export interface RegistryViewOptions {
  readonly platform: Platform
  /** Where what was proved is kept. */
  readonly directory: string
  readonly client: RegistryClient
  /** Whom to believe; undefined for the node's own registry, which is believed the first time it is met. */
  readonly trust: TrustFile | undefined
  /** A checkpoint older than this is one held back on its way, or of a log that stands still. */
  readonly maxCheckpointAgeMs: number
  /** Answers nothing from an older one. */
  readonly refusesStale: boolean
  /** Keeps what the client needs kept; ends with the signal. */
  readonly janitor?: (signal: AbortSignal) => Promise<void>
  /** Lets go of the client. */
  readonly close?: () => void
}

/** Between two looks when no event comes: streams are only wake-ups, and may be lost. */
const LOOK_EVERY_MS = 5_000
/** One request to the registry. */
const CALL_MS = 10_000
/** One life of the stream. */
const STREAM_MS = 24 * 60 * 60 * 1000
/** After this many entries the place of the replay is written down; a crash loses no more than that work. */
const SAVE_EVERY_ENTRIES = 4096
/** A log that grows while a proof is fetched is asked again. */
const PROOF_TRIES = 3

/** Everything there is once it is known whom to believe. */
interface OpenedView {
  readonly tail: LogTail
  readonly proofs: NameProofs
  savedSize: number
}

interface AnnouncedVersion {
  readonly version: number
  readonly hash: string
}

export class RegistryView implements FollowedNames {
  readonly #options: RegistryViewOptions
  readonly #saved: SavedView
  readonly #status = new Watch<RegistryViewStatus>({ tag: 'starting', detail: 'The registry was not asked yet.' })
  /** Level-triggered: something may be new. */
  readonly #wake = new Watch(0)
  /** What the stream told last, until a look has been held against it. */
  #heard: AnnouncedVersion | undefined
  readonly #standing = new Watch<ProvenLog | undefined>(undefined)
  readonly #changes = new Watch(0)
  #opened: OpenedView | undefined
  /** When the registry last showed the checkpoint that stands. */
  #confirmedAtMs = 0
  /** The latest time the log has signed, by its own clock and by ours. */
  #signed: { readonly atMs: number; readonly byMs: number } | undefined

  constructor(options: RegistryViewOptions) {
    this.#options = options
    this.#saved = new SavedView(options.platform, options.directory)
  }

  get changes(): Watching<number> {
    return this.#changes
  }

  get status(): Watching<RegistryViewStatus> {
    return this.#status
  }

  *meanings(): Generator<readonly [string, Address]> {
    for (const item of this.#standing.value?.state?.items() ?? [])
      if (item.kind === 'name') yield [item.id, item.manifest]
  }

  /** For `/readyz`: how far the view is, and what is wrong with the registry if something is. */
  readyFields(): Readonly<Record<string, unknown>> {
    const status = this.#status.value
    const standing = this.#standing.value
    const at = standing === undefined ? {} : { version: standing.head.version, entries: standing.pin.size }
    switch (status.tag) {
      case 'following': {
        const ageMs = this.#staleMs()
        if (ageMs === undefined) return { status: status.tag, ...at }
        const detail = `The newest checkpoint the registry shows is ${spellSeconds(ageMs)} old: it stands still, or is held back on its way.`
        return { status: 'stale', detail, checkpoint_age_s: Math.floor(ageMs / 1000), ...at }
      }
      case 'starting':
      case 'unreachable':
        return { status: status.tag, detail: status.detail, ...at }
      case 'refused':
        return { status: status.tag, reason: status.reason, detail: status.detail, ...at }
    }
  }

  /** The task: follows the registry until the service drains. */
  readonly run: TaskBody = async ({ draining }) => {
    await using scope = new Scope(this.#options.platform, 'registry-follower', { signals: [draining] })
    scope.spawn('listen', async (signal) => {
      await this.#listen(signal)
    })
    scope.spawn('look', async (signal) => {
      await this.#follow(signal)
    })
    scope.spawn('breaker', async (signal) => {
      await this.#options.janitor?.(signal)
    })
    await scope.join()
  }

  async close(): Promise<void> {
    this.#options.close?.()
    await this.#savePlace()
  }

  async resolve(name: string, deadline: Deadline, signal?: AbortSignal, from?: number): Promise<NameAnswer> {
    const opened = this.#opened
    const standing = this.#standing.value
    if (opened === undefined || standing === undefined) return { tag: 'unready', detail: this.#whyNot() }
    const staleMs = this.#staleMs()
    if (staleMs !== undefined && this.#options.refusesStale)
      return { tag: 'unready', detail: `The newest checkpoint of the registry is ${spellSeconds(staleMs)} old.` }
    if (!isName(name)) return { tag: 'absent' }
    if (standing.state !== undefined && standing.state.get('name', name) === undefined) return { tag: 'absent' }
    const kept = opened.proofs.kept(name)
    if (kept?.size === standing.pin.size && from === undefined) return this.#answer(kept, this.#confirmedAtMs)
    // A tree that the log does not have yet cannot be continued; that is for the asker to find out.
    const seen = from !== undefined && from >= 1 && from <= standing.pin.size ? from : undefined
    try {
      const proven = await this.#prove(opened, name, { deadline, signal }, seen)
      return this.#answer(proven, proven.provedAtMs)
    } catch (error) {
      if (signal?.aborted === true) throw error
      return this.#withoutRegistry(name, error)
    }
  }

  /** Asks for a proof and holds it against what stands. */
  async #prove({ proofs }: OpenedView, name: string, context: CallContext, from?: number): Promise<CheckedNameProof> {
    for (let tries = 1; ; tries += 1) {
      const before = this.#proved()
      const { proof, size } = await proofs.fetch(name, from ?? before.pin.size, context)
      // It shows that the log continues what the asker has seen, not what we have: so we look at that much ourselves.
      if (from !== undefined && size > before.pin.size) await this.#reach(size, context)
      const standing = from === undefined ? before : this.#proved()
      if (from !== undefined && size < standing.pin.size && tries < PROOF_TRIES) continue
      const proven = proofs.check(name, proof, standing)
      if (from === undefined) proofs.keep(name, proven)
      return proven
    }
  }

  /** The registry gave nothing that holds: what was proved before may still be said, as long as it is what stands. */
  #withoutRegistry(name: string, error: unknown): NameAnswer {
    const refused = findRefusal(error)
    if (refused !== undefined) this.#refuse(refused.reason, refused.detail)
    const kept = this.#opened?.proofs.kept(name)
    const meant = this.#standing.value?.state?.get('name', name)
    const isStill = meant?.kind === 'name' && kept?.item?.manifest === meant.manifest
    if (kept !== undefined && isStill) return this.#answer(kept, kept.provedAtMs)
    const detail = `The registry gives no proof of ${name} now: ${toCairnError(error).message}`
    return { tag: 'unready', detail }
  }

  #answer({ item, version, proof }: CheckedNameProof, confirmedAtMs: number): NameAnswer {
    if (item === null) return { tag: 'absent' }
    const confirmedMs = Math.max(0, this.#options.platform.clock.now() - confirmedAtMs)
    const freshnessMs = Math.max(confirmedMs, this.#staleMs() ?? 0)
    return { tag: 'found', address: item.manifest, version, proof, freshnessMs }
  }

  /** How old the newest checkpoint is, if that is older than it may be. */
  #staleMs(): number | undefined {
    if (this.#signed === undefined) return undefined
    const ageMs = this.#options.platform.clock.wall() - this.#signed.byMs
    return ageMs > this.#options.maxCheckpointAgeMs ? ageMs : undefined
  }

  #proved(): ProvenLog {
    const standing = this.#standing.value
    if (standing === undefined) throw new CairnError('Internal', 'Nothing of the registry is proved yet.')
    return standing
  }

  #whyNot(): string {
    const status = this.#status.value
    return status.tag === 'following' ? 'The registry is being read.' : status.detail
  }

  /** Looks until the log is proved up to `size`, or the deadline. */
  async #reach(size: number, { deadline, signal }: CallContext): Promise<void> {
    this.#wakeUp()
    using cancel = new Cancel({ signals: [signal], deadline, operation: 'the log of the registry' })
    await this.#standing.until((standing) => (standing?.pin.size ?? 0) >= size, { signal: cancel.signal })
  }

  /** Every event is a reason to look; what it says is held against what the look proves. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { platform, client } = this.#options
    for (let failures = 0; ; ) {
      try {
        const deadline = Deadline.after(platform.clock, STREAM_MS)
        const after = this.#standing.value?.head.version ?? 0
        for await (const event of client.stream(after, { deadline, signal })) {
          failures = 0
          this.#heard = event.tag === 'update' ? event.facts : event.head
          this.#wakeUp()
        }
      } catch (error) {
        if (signal.aborted) throw error
        failures += 1
        await sleep(platform.clock, RETRY.rpc.backoff(failures, platform.random), { signal })
        this.#wakeUp()
      }
    }
  }

  #wakeUp(): void {
    this.#wake.set(this.#wake.value + 1)
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { platform } = this.#options
    for (let failures = 0; ; ) {
      const seen = this.#wake.version
      const isWell = await this.#lookOnce(signal)
      failures = isWell ? 0 : failures + 1
      const waitMs = isWell ? LOOK_EVERY_MS : RETRY.rpc.backoff(failures, platform.random)
      await this.#wakeWithin(waitMs, seen, signal)
    }
  }

  async #wakeWithin(ms: number, seen: number, signal: AbortSignal): Promise<void> {
    using cancel = new Cancel({ signals: [signal], deadline: Deadline.after(this.#options.platform.clock, ms) })
    try {
      await this.#wake.changed(seen, { signal: cancel.signal })
    } catch (error) {
      if (signal.aborted) throw error
    }
  }

  /** One look; false if the registry could not be asked or was refused. */
  async #lookOnce(signal: AbortSignal): Promise<boolean> {
    const { metrics } = this.#options.platform
    const heard = this.#heard
    this.#heard = undefined
    try {
      const opened = this.#opened ?? (await this.#open(signal))
      this.#opened = opened
      const before = this.#standing.value?.pin.size
      const standing = await opened.tail.look(() => this.#call(signal))
      this.#adopt(standing)
      metrics.count('index_registry_checks_total', { outcome: before === standing.pin.size ? 'unchanged' : 'advanced' })
      this.#status.set({ tag: 'following' })
      if (before !== standing.pin.size) await this.#save(opened, standing.pin)
      if (heard !== undefined) holdEvent(heard, standing)
      return true
    } catch (error) {
      if (signal.aborted) throw error
      this.#failed(error)
      return false
    }
  }

  #failed(error: unknown): void {
    const { metrics, log } = this.#options.platform
    const refused = findRefusal(error)
    metrics.count('index_registry_checks_total', { outcome: refused === undefined ? 'unreachable' : 'refused' })
    if (refused !== undefined) {
      this.#refuse(refused.reason, refused.detail)
      return
    }
    const { message: detail } = toCairnError(error)
    if (this.#status.value.tag !== 'unreachable') log.warn({ error: detail }, 'the registry cannot be asked')
    const tag = this.#standing.value === undefined ? 'starting' : 'unreachable'
    this.#status.set({ tag, detail: `The registry cannot be asked: ${detail}` })
  }

  #refuse(reason: ViewRefusalReason, detail: string): void {
    const { metrics, log } = this.#options.platform
    metrics.count('index_registry_refused_total', { reason })
    const before = this.#status.value
    const isKnown = before.tag === 'refused' && before.detail === detail
    if (!isKnown)
      log.error({ reason, detail }, 'the registry told something that it cannot prove; nothing of it was taken over')
    this.#status.set({ tag: 'refused', reason, detail })
  }

  #adopt(standing: ProvenLog): void {
    const { clock, metrics } = this.#options.platform
    this.#confirmedAtMs = clock.now()
    const { signedAtMs } = standing
    // The log's clock may be ahead: what it signed is never younger than the first look that saw it.
    if (signedAtMs !== undefined && signedAtMs > (this.#signed?.atMs ?? 0))
      this.#signed = { atMs: signedAtMs, byMs: Math.min(signedAtMs, clock.wall()) }
    if (this.#standing.value?.pin.size === standing.pin.size) return
    this.#standing.set(standing)
    if (this.#changes.value !== standing.head.version) this.#changes.set(standing.head.version)
    metrics.set('index_registry_version', standing.head.version)
    metrics.set('index_registry_entries', standing.pin.size)
  }

  /** Learns whom to believe, from the pin, the trust file or, once, the node's own registry; and where it was. */
  async #open(signal: AbortSignal): Promise<OpenedView> {
    const { platform, client } = this.#options
    const { clock, crypto: verifier } = platform
    const pin = await this.#saved.readPin()
    const given = this.#options.trust
    if (pin !== undefined && given !== undefined && pin.trust.genesis !== given.genesis) {
      const detail = `The trust file names ${given.origin}, but ${this.#saved.pinPath} remembers ${pin.trust.origin}. To follow the other log, remove that file.`
      throw refuseView('other_origin', detail)
    }
    const trust = given ?? pin?.trust ?? (await client.trust(this.#call(signal)))
    const from = pin && (await this.#saved.readPlace(pin))
    const tail = new LogTail({ client, trust, verifier, clock, pin, from })
    const proofs = new NameProofs({ client, trust, verifier, clock })
    return { tail, proofs, savedSize: from?.frontier.size ?? 0 }
  }

  async #save(opened: OpenedView, pin: Pin): Promise<void> {
    await this.#unlessDrive(async () => await this.#saved.writePin(pin))
    if (opened.tail.size - opened.savedSize >= SAVE_EVERY_ENTRIES) await this.#savePlace()
  }

  async #savePlace(): Promise<void> {
    const opened = this.#opened
    if (opened === undefined || opened.tail.size === opened.savedSize) return
    const place = opened.tail.place()
    // Judged further than anything that was adopted: not yet to be gone on from.
    if (place === undefined || place.frontier.size !== this.#standing.value?.pin.size) return
    opened.savedSize = place.frontier.size
    await this.#unlessDrive(async () => await this.#saved.writePlace(place))
  }

  /** What stands was proved; the drive decides only how much has to be proved again after a restart. */
  async #unlessDrive(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#options.platform.log.warn({ error: toCairnError(error).message }, 'the view of the registry was not saved')
    }
  }

  #call(signal: AbortSignal): CallContext {
    return { deadline: Deadline.after(this.#options.platform.clock, CALL_MS), signal }
  }
}

/** The registry would only refuse to speak of anything else. */
function isName(name: string): boolean {
  try {
    return parseName(name) === name
  } catch {
    return false
  }
}

/** An event is sent after its checkpoint is published: whatever it says, the log must say too. */
function holdEvent({ version, hash }: AnnouncedVersion, { head }: ProvenLog): void {
  const isProved = version < head.version || (version === head.version && hash === head.hash)
  if (isProved) return
  const detail = `The stream tells of version ${version}, ${hash}; the log proves no more than version ${head.version}, ${head.hash}.`
  throw refuseView('forged_event', detail)
}
