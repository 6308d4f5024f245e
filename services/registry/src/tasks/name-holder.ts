/**
 * Holds what names mean, in storage: nobody deletes it while a name, or a proposal that can still be committed, means it.
 *
 *     propose ─▶ held in the name's name ─▶ the proposal is answered
 *     commit  ─▶ what it meant before, and no other meaning of the name has too, is released
 *     expiry, removal ─▶ the same
 *     start   ─▶ everything that should be held is held again, and what changed since `holds.json` was written is released
 *
 * Never true here: a release of what a proposal is being opened for; a hold and a release of one name at once.
 */
import type { CallContext, StorageClient } from '@cairn/clients'
import {
  CairnError,
  Cancel,
  Deadline,
  isKind,
  Semaphore,
  sleep,
  type TaskBody,
  throwIfCanceled,
  toCairnError,
  type Watching,
} from '@cairn/kernel'
import { type Item, isLive, parseArtifact } from '@cairn/names'
import { type Platform, readSmallJson, replaceSmallJson } from '@cairn/platform'
import { abortable } from '@cairn/transport'
import { type Address, parseAddress, parseJson, spellCount } from '@cairn/wire'
import { z } from 'zod'
import type { Archive } from '../domain/archive.ts'
import type { Published } from '../domain/published.ts'
import type { LedgerReads } from '../parts.ts'

/** A tree of any size, at the pace of its drive. */
const CALL_MS = 600_000
/** What was missing or could not be held is looked at again so often; a proposal may have expired meanwhile. */
const ROUND_MS = 30_000
/** Names looked at before others get their turn. */
const SLICE = 2000
/** Names of one proposal that are held at once. */
const TOGETHER = 8
const NAMED_MAX = 3
/** Of the time of a request, what it waits for holds; the rest is for the log. */
const WAIT_SHARE = 0.7
/** Who was told to come again is expected for so long. */
const LINGER_MS = 120_000
/** Between two notes of what is released. */
const SAVE_MS = 10_000

/** What open proposals hold that were not committed; past it one that expires while nothing runs stays held. */
const PROPOSED_MAX = 4000

const fileSchema = z.strictObject({
  released_up_to: z.int().min(0),
  proposed: z.array(z.tuple([z.string(), z.templateLiteral(['b3:', z.string()])])),
})

/** What of a meaning is there: `missing` objects of it are not. */
interface HeldMeaning {
  missing: number
}

export interface NameHolderParts {
  readonly storage: StorageClient
  readonly ledger: Pick<LedgerReads, 'proposals' | 'changes'>
  readonly archive: Archive
  readonly published: Watching<Published>
  readonly directory: string
}

export class NameHolder {
  readonly #platform: Platform
  readonly #parts: NameHolderParts
  /** What each name means, as of `#seen`. */
  readonly #meanings = new Map<string, Address>()
  /** What this life has held, or has to release, by name. */
  readonly #held = new Map<string, Map<Address, HeldMeaning>>()
  /** Proposals that are being opened: they count as open from before their holds on. */
  readonly #coming = new Map<string, Address[]>()
  /** Holds that requests wait for, or have stopped waiting for. */
  readonly #holding = new Map<string, Promise<void>>()
  /** Proposals that were told to come again: what they would mean is not released at once. */
  #lingering: { readonly id: string; readonly manifest: Address; readonly until: number }[] = []
  readonly #stopping = new AbortController()
  readonly #turns = new Map<string, Semaphore>()
  /** Names to hold, or to release something of. */
  readonly #due = new Set<string>()
  /** Proposals whose time was over when they were last looked at. */
  #expired: ReadonlySet<string> = new Set()
  #seen = 0
  #releasedUpTo = 0
  #proposed: readonly (readonly [name: string, meaning: Address])[] = []
  #saved = ''
  #savedAt = Number.NEGATIVE_INFINITY

  constructor(platform: Platform, parts: NameHolderParts) {
    this.#platform = platform
    this.#parts = parts
  }

  /**
   * Holds what a proposal would make names mean. It counts until this is disposed, and then as long as the proposal is open.
   * A directory that takes longer than the request may is held all the same: asked again soon, there is less to do.
   */
  async expect(items: readonly Item[], context: CallContext): Promise<Disposable> {
    const meant = items.flatMap((item) => (item.kind === 'name' && isLive(item) ? [item] : []))
    for (const { id, manifest } of meant) this.#coming.set(id, [...(this.#coming.get(id) ?? []), manifest])
    const expected: Disposable = {
      [Symbol.dispose]: () => {
        for (const { id, manifest } of meant) this.#came(id, manifest)
      },
    }
    const deadline = context.deadline.child(WAIT_SHARE * context.deadline.remaining())
    using cancel = new Cancel({ signals: [context.signal], deadline, operation: 'the hold of what is proposed' })
    try {
      for (let at = 0; at < meant.length; at += TOGETHER) {
        const some = meant.slice(at, at + TOGETHER)
        const holds = some.map(async ({ id, manifest }) => await this.#join(id, manifest))
        await abortable(cancel.signal, Promise.all(holds))
      }
    } catch (error) {
      const until = this.#platform.clock.now() + LINGER_MS
      if (isKind(error, 'Timeout')) for (const { id, manifest } of meant) this.#lingering.push({ id, manifest, until })
      expected[Symbol.dispose]()
      throw isKind(error, 'Timeout') && deadline.expired ? stillHolding(meant.map(({ id }) => id)) : error
    }
    return expected
  }

  /** All who ask for the same wait for one hold, which ends with the service or with its own time. */
  async #join(name: string, meaning: Address): Promise<void> {
    const key = `${name} ${meaning}`
    const known = this.#holding.get(key)
    if (known !== undefined) return await known
    const context = { deadline: Deadline.after(this.#platform.clock, CALL_MS), signal: this.#stopping.signal }
    const holding = this.#hold(name, meaning, context)
      .then(() => {})
      .finally(() => {
        this.#holding.delete(key)
      })
    // Its caller may have left.
    holding.catch(() => {})
    this.#holding.set(key, holding)
    await holding
  }

  /** Which names mean something that is not all there; nothing if all of it is. */
  get problem(): string | undefined {
    const names: string[] = []
    for (const [name, meanings] of this.#held) {
      const meaning = this.#meanings.get(name)
      if (meaning !== undefined && (meanings.get(meaning)?.missing ?? 0) > 0) names.push(name)
    }
    if (names.length === 0) return undefined
    const others = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
    const which = `${names.slice(0, NAMED_MAX).join(', ')}${others}`
    return `The content of ${spellCount(names.length, 'name')} is not all here: ${which}. Put it again from where it is kept.`
  }

  /** Ends what requests no longer wait for. */
  async close(): Promise<void> {
    this.#stopping.abort(new CairnError('Canceled', 'The registry stops.'))
    await Promise.allSettled(this.#holding.values())
  }

  readonly run: TaskBody = async ({ draining }) => {
    const { published } = this.#parts
    await this.#begin(draining)
    for (;;) {
      const { version } = published
      await this.#follow()
      await this.#settle(draining)
      await this.#rest(version, draining)
    }
  }

  /** All names there are, and what those mean no more that changed since this was last done. */
  async #begin(draining: AbortSignal): Promise<void> {
    const { disk, clock } = this.#platform
    const read = await readSmallJson(disk, this.#path, fileSchema)
    const { head, state } = this.#parts.published.value
    // Without the file nothing was held in the name of a name yet.
    this.#releasedUpTo = read.tag === 'read' ? Math.min(read.value.released_up_to, head.version) : head.version
    this.#seen = this.#releasedUpTo
    for (const [name, meaning] of read.tag === 'read' ? read.value.proposed : [])
      this.#note(name, parseAddress(meaning))
    for (const name of this.#held.keys()) this.#due.add(name)
    let looked = 0
    for (const item of state.each()) {
      if (item.kind === 'name') this.#mean(item.id, item.manifest)
      looked += 1
      if (looked % SLICE === 0) await sleep(clock, 0, { signal: draining })
    }
  }

  /** Takes in what was committed since: what it replaced is to be released. */
  async #follow(): Promise<void> {
    const { published, ledger } = this.#parts
    const { head } = published.value
    for (; this.#seen < head.version; this.#seen += 1) {
      for (const item of await this.#itemsOf(this.#seen + 1)) {
        if (item.kind !== 'name') continue
        const [before] = ledger.changes(`name ${item.id}`, this.#seen + 1, 1)
        const old = before === undefined ? undefined : await this.#meaningAt(item.id, before)
        if (old !== undefined) this.#note(item.id, old)
        const [newest] = ledger.changes(`name ${item.id}`, head.version + 1, 1)
        if (newest === this.#seen + 1) this.#mean(item.id, isLive(item) ? item.manifest : undefined)
      }
    }
  }

  #mean(name: string, meaning: Address | undefined): void {
    if (meaning === undefined) this.#meanings.delete(name)
    else this.#meanings.set(name, meaning)
    this.#due.add(name)
  }

  /** One that retention has removed was followed long before. */
  async #itemsOf(version: number): Promise<readonly Item[]> {
    try {
      const { bytes } = await this.#parts.archive.artifact(version)
      return parseArtifact(parseJson(bytes)).payload.items
    } catch (error) {
      this.#platform.log.warn({ version, error: toCairnError(error).message }, 'a version was not read for its holds')
      return []
    }
  }

  async #meaningAt(name: string, version: number): Promise<Address | undefined> {
    const item = (await this.#itemsOf(version)).find(({ kind, id }) => kind === 'name' && id === name)
    return item?.kind === 'name' && isLive(item) ? item.manifest : undefined
  }

  /** Holds what should be held and releases what should not, of the names that are due. */
  async #settle(draining: AbortSignal): Promise<void> {
    const { clock } = this.#platform
    this.#lookAtProposals()
    const now = clock.now()
    for (const { id, until } of this.#lingering) if (until <= now) this.#due.add(id)
    this.#lingering = this.#lingering.filter(({ until }) => until > now)
    const due = [...this.#due]
    for (const name of due) {
      throwIfCanceled(draining)
      const context: CallContext = { deadline: Deadline.after(clock, CALL_MS), signal: draining }
      this.#due.delete(name)
      let isWhole = true
      for (const meaning of this.#wantedOf(name)) isWhole = (await this.#tryHold(name, meaning, context)) && isWhole
      if (!(await this.#releaseOld(name, context)) || !isWhole) this.#due.add(name)
    }
    await this.#save()
  }

  /** Those that were opened in an earlier life are held again; those whose time is over hold nothing any more. */
  #lookAtProposals(): void {
    const now = this.#platform.clock.wall()
    const expired = new Set<string>()
    const open: (readonly [string, Address])[] = []
    for (const { proposal, payload } of this.#parts.ledger.proposals()) {
      const isOver = proposal.expires_at <= now
      if (isOver) expired.add(proposal.proposal_id)
      for (const item of payload.items) {
        if (item.kind !== 'name' || !isLive(item)) continue
        if (open.length < PROPOSED_MAX) open.push([item.id, item.manifest])
        const isHeld = this.#held.get(item.id)?.has(item.manifest) === true
        if (isOver ? this.#expired.has(proposal.proposal_id) : isHeld) continue
        this.#note(item.id, item.manifest)
        this.#due.add(item.id)
      }
    }
    this.#expired = expired
    this.#proposed = open
  }

  /** Up to where nothing is left to release. A start before it looks at that again, which costs no write. */
  async #save(): Promise<void> {
    const now = this.#platform.clock.now()
    if (this.#due.size === 0) this.#releasedUpTo = this.#seen
    const content = { released_up_to: this.#releasedUpTo, proposed: this.#proposed }
    const text = JSON.stringify(content)
    if (text === this.#saved || now < this.#savedAt + SAVE_MS) return
    await replaceSmallJson(this.#platform.disk, this.#path, content)
    this.#saved = text
    this.#savedAt = now
  }

  /** What is held whole stays so; anything else is tried anew. */
  async #tryHold(name: string, meaning: Address, context: CallContext): Promise<boolean> {
    try {
      return (await this.#hold(name, meaning, context)) === 0
    } catch (error) {
      this.#platform.log.warn({ name, error: toCairnError(error).message }, 'a name is not held yet; it is tried again')
      return false
    }
  }

  /** Returns how much of it is missing. */
  async #hold(name: string, meaning: Address, context: CallContext): Promise<number> {
    const { signal } = context
    using _turn = await this.#turnOf(name).acquire(signal === undefined ? {} : { signal })
    // Looked at with the turn: a release that was under way is over.
    if (this.#held.get(name)?.get(meaning)?.missing === 0) return 0
    const missing = await this.#missingOf(name, meaning, context)
    this.#note(name, meaning).missing = missing
    return missing
  }

  /** What is not there is no reason against a proposal: the signers say what a name means, and it may come later. */
  async #missingOf(name: string, meaning: Address, context: CallContext): Promise<number> {
    try {
      return (await this.#parts.storage.holdTree(ownerOf(name), meaning, context)).missing
    } catch (error) {
      if (isKind(error, 'NotFound')) return 1
      throw error
    }
  }

  /** Whether all that the name means no more is released. */
  async #releaseOld(name: string, context: CallContext): Promise<boolean> {
    const { signal } = context
    using _turn = await this.#turnOf(name).acquire(signal === undefined ? {} : { signal })
    const held = this.#held.get(name)
    const wanted = this.#wantedOf(name)
    for (const meaning of held?.keys() ?? []) {
      if (wanted.has(meaning)) continue
      try {
        await this.#parts.storage.releaseTree(ownerOf(name), meaning, [...wanted], context)
      } catch (error) {
        this.#platform.log.warn(
          { name, error: toCairnError(error).message },
          'a name was not released; it is tried again',
        )
        return false
      }
      held?.delete(meaning)
    }
    if (held?.size === 0) this.#held.delete(name)
    return true
  }

  #wantedOf(name: string): Set<Address> {
    const meaning = this.#meanings.get(name)
    const wanted = new Set([...(meaning === undefined ? [] : [meaning]), ...(this.#coming.get(name) ?? [])])
    for (const { id, manifest } of this.#lingering) if (id === name) wanted.add(manifest)
    const now = this.#platform.clock.wall()
    for (const { proposal, payload } of this.#parts.ledger.proposals()) {
      if (proposal.expires_at <= now) continue
      for (const item of payload.items) {
        if (item.kind === 'name' && item.id === name && isLive(item)) wanted.add(item.manifest)
      }
    }
    return wanted
  }

  #note(name: string, meaning: Address): HeldMeaning {
    const meanings = this.#held.get(name) ?? new Map<Address, HeldMeaning>()
    this.#held.set(name, meanings)
    const held = meanings.get(meaning) ?? { missing: 1 }
    meanings.set(meaning, held)
    return held
  }

  #came(name: string, meaning: Address): void {
    const coming = [...(this.#coming.get(name) ?? [])]
    coming.splice(coming.indexOf(meaning), 1)
    if (coming.length === 0) this.#coming.delete(name)
    else this.#coming.set(name, coming)
    this.#due.add(name)
  }

  #turnOf(name: string): Semaphore {
    const turn = this.#turns.get(name) ?? new Semaphore(1)
    this.#turns.set(name, turn)
    return turn
  }

  /** Until something is committed, or for a while. */
  async #rest(version: number, draining: AbortSignal): Promise<void> {
    const deadline = Deadline.after(this.#platform.clock, ROUND_MS)
    using cancel = new Cancel({ signals: [draining], deadline, operation: 'the wait for a commit' })
    try {
      await this.#parts.published.changed(version, { signal: cancel.signal })
    } catch (error) {
      if (!isKind(error, 'Timeout')) throw error
    }
  }

  get #path(): string {
    return `${this.#parts.directory}/holds.json`
  }
}

function stillHolding(names: readonly string[]): CairnError {
  const detail = `What is proposed for ${names.slice(0, NAMED_MAX).join(', ')} is large and still being held in storage; propose it again in a moment.`
  return new CairnError('StorageBusy', detail, { retryAfterMs: 2000 })
}

function ownerOf(name: string): string {
  return `name:${name}`
}
