/**
 * Objects on several targets: puts and deletes that count only once enough of them know.
 *
 *     put ─▶ the first targets of the placement, in distinct failure domains ─▶ all durable ─▶ told
 *              └─ one fails: the next in the order takes its place           └─ too few: 503, or degraded if allowed
 *     hold   ─▶ as many copies as there should be ─▶ all durable ─▶ told
 *     delete ─▶ no copy is held, and fewer targets are away than a hold is on ─▶ one that has it agrees
 *              ─▶ every target that is up remembers it ─▶ told
 */
import { CairnError, Deadline, GenerationCache, toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { referenced } from '@cairn/store'
import type { Address } from '@cairn/wire'
import { copiesAway, underReplicated } from '../errors.ts'
import type { OwnCopies } from '../targets/own-copies.ts'
import type { Deletion, KnownCopy, ObjectTarget, TargetCall, TargetIdentity, WriteOutcome } from '../targets/target.ts'
import {
  createVersions,
  newestOf,
  nextVersion,
  observe,
  observeGiven,
  ownersOf,
  type VersionClock,
} from '../targets/version-core.ts'
import { chooseCopies, placementOrder } from './placement-core.ts'

/** How often a write is begun again with a higher version. Each time it has heard of the highest there is. */
const ATTEMPTS_MAX = 5
/** Placements of objects that are remembered: a few hundred bytes each. */
const RECENT_MAX = 4_096

export interface ReplicasOptions {
  readonly targets: readonly ObjectTarget[]
  readonly own: OwnCopies
  /** Copies each object should have. */
  readonly copies: number
  readonly allowsDegraded: () => boolean
  readonly timeoutMs: number
  /** Where versions begin: as high as anything this node may have issued. */
  readonly version: number
  /** Away for so long that it comes back empty, if it does. */
  readonly isExpired: (target: ObjectTarget) => boolean
  /** The statement that peers obey a delete on; `undefined` where there are none. */
  readonly signDelete: ((id: Address, version: number) => Uint8Array) | undefined
  /** An object has fewer copies than it should. */
  readonly onDegraded: (id: Address) => void
}

export interface Written {
  readonly stored: WriteOutcome
  readonly made: number
  readonly wanted: number
  /** Those of the copies made that are so by the word of a peer; repair reads of them later. */
  readonly told: number
}

type PutAttempt =
  | { readonly tag: 'newer'; readonly version: number }
  | {
      readonly tag: 'made'
      readonly stored: readonly WriteOutcome[]
      readonly told: number
      readonly failures: readonly CairnError[]
    }

export interface TargetAnswer {
  readonly target: ObjectTarget
  readonly known: KnownCopy
}

export class Replicas {
  readonly targets: readonly ObjectTarget[]
  /** There is one target: the store of a drive, which has no other to agree with. */
  readonly isAlone: boolean
  readonly own: OwnCopies
  readonly copies: number
  readonly timeoutMs: number
  readonly #platform: Platform
  readonly #options: ReplicasOptions
  readonly #versions: VersionClock
  /** It takes a hash for each target, and repair asks for all objects again and again. */
  readonly #recent = new GenerationCache<Order>(RECENT_MAX)

  constructor(platform: Platform, options: ReplicasOptions) {
    this.#platform = platform
    this.#options = options
    this.targets = options.targets
    this.own = options.own
    this.isAlone = options.targets.length === 1
    this.copies = this.isAlone ? 1 : options.copies
    this.timeoutMs = options.timeoutMs
    this.#versions = createVersions(options.version, platform.clock.now())
  }

  /** Every target, the one a copy should be on first at the head. */
  order(id: Address): ObjectTarget[] {
    return this.#ordered(id).map(({ target }) => target)
  }

  /** The targets that should have a copy, as far as they can be used now. */
  placed(id: Address, mayUse: (target: ObjectTarget) => boolean): ObjectTarget[] {
    return chooseCopies(this.#ordered(id), this.copies, ({ target }) => mayUse(target)).map(({ target }) => target)
  }

  call(signal?: AbortSignal): TargetCall {
    return { deadline: Deadline.after(this.#platform.clock, this.timeoutMs), signal }
  }

  /** Follows a version that another node tells; false if it cannot be one. */
  observe(version: number): boolean {
    return observe(this.#versions, version, this.#platform.clock.now())
  }

  /** `Malformed` if another node gives a version that cannot be one. */
  mustBePlausible(version: number): void {
    if (!observeGiven(this.#versions, version, this.#platform.clock.now()))
      throw new CairnError('Malformed', `The version ${version} is too far ahead of all others.`)
  }

  /** Told to peers, so that what one node does is not older than what another did before it. */
  get highestVersion(): number {
    return this.#versions.highest
  }

  nextVersion(): number {
    return nextVersion(this.#versions)
  }

  /** Writes copies until there are enough. `under_replicated` if there cannot be, and that is not allowed. */
  async write(id: Address, put: (target: ObjectTarget, version: number) => Promise<WriteOutcome>): Promise<Written> {
    const corrected = new Set<ObjectTarget>()
    let floor = 0
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const outcome = await this.#attempt(id, nextVersion(this.#versions, floor), put, corrected)
      if (outcome.tag === 'made') return this.#written(id, outcome)
      floor = Math.max(floor, outcome.version)
    }
    throw underReplicated(0, this.copies)
  }

  /** Deletes the object everywhere; false if there is none. `referenced` while somebody holds it. */
  async remove(id: Address): Promise<boolean> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const asked = await this.ask(id)
      const newest = newestOf(asked.map(({ known }) => known))
      const floor = newest.tag === 'absent' ? 0 : newest.version
      // One that is away may be held: who deletes asks at least one of the copies that every hold is on. Where there is
      // one copy, this is it.
      if (newest.tag !== 'object' || this.copies > 1) this.mustReachEnough(asked)
      if (newest.tag !== 'object') return false
      const owners = ownersOf(asked.map(({ known }) => known))
      if (owners.length > 0) throw referenced(id, owners)
      if (await this.#writeTombstones(id, asked, nextVersion(this.#versions, floor))) return true
    }
    throw underReplicated(0, this.copies)
  }

  /** What every target that answers knows of the object. */
  async ask(id: Address): Promise<TargetAnswer[]> {
    const readable = this.order(id).filter((target) => target.health().tag !== 'down')
    const answers = await Promise.allSettled(
      readable.map(async (target) => ({ target, known: (await target.known([id], this.call()))[0] ?? ABSENT })),
    )
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }

  /** Throws unless these are as many copies as the object should have, and asks for more. */
  mustBeSpread(id: Address, copies: readonly ObjectTarget[]): void {
    const made = new Set(copies.map(({ identity }) => identity.domain)).size
    if (made >= this.copies) return
    this.#options.onDegraded(id)
    this.#mustBeEnough(made)
  }

  /** Another copy that is away when the object is released would still be held, and bring the hold back with it. */
  mustReachAll(asked: readonly TargetAnswer[]): void {
    if (this.copies === 1) return
    const reached = new Set(asked.map(({ target }) => target))
    const away = this.targets.filter((target) => !reached.has(target) && !this.#options.isExpired(target))
    if (away.length > 0) throw copiesAway(away.length)
  }

  /** With as many targets away as an object has copies, all of its copies may be there: then nobody can say it is gone. */
  mustReachEnough(asked: readonly TargetAnswer[]): void {
    const sure = asked.filter(({ known }) => known.tag !== 'absent' || known.isPartial !== true)
    const reached = new Set(sure.map(({ target }) => target.identity.domain))
    const away = new Set(this.targets.map(({ identity }) => identity.domain)).difference(reached)
    if (away.size >= this.copies) throw copiesAway(away.size)
  }

  /** `corrected` are the peers that have said once that they know a newer version; one that says so again is not believed. */
  async #attempt(
    id: Address,
    version: number,
    put: (target: ObjectTarget, version: number) => Promise<WriteOutcome>,
    corrected: Set<ObjectTarget>,
  ) {
    const order = this.#ordered(id)
    this.#mustBeEnough(chooseCopies(order, this.copies, ({ target }) => target.health().tag === 'up').length)
    const tried = new Set<ObjectTarget>()
    const domains = new Set<string>()
    const stored: WriteOutcome[] = []
    const kept = new Set<ObjectTarget>()
    const failures: CairnError[] = []
    const mayUse = ({ target, domain }: PlacementCandidate): boolean =>
      !tried.has(target) && !domains.has(domain) && target.health().tag === 'up'
    for (;;) {
      const next = chooseCopies(order, this.copies - stored.length, mayUse)
      if (next.length === 0) break
      for (const { target } of next) tried.add(target)
      const outcomes = await Promise.allSettled(next.map(async ({ target }) => await put(target, version)))
      const newer = this.#sort(next, outcomes, { stored, kept, failures, domains, corrected })
      if (newer !== undefined) return { tag: 'newer', version: newer } satisfies PutAttempt
    }
    const told = [...kept].filter(({ identity }) => identity.kind === 'peer').length
    return { tag: 'made', stored, told, failures } satisfies PutAttempt
  }

  /** Refuses before anything is written what cannot have enough copies: copies nobody was told of are in nobody's interest. */
  #mustBeEnough(up: number): void {
    if (up < this.copies && !this.#options.allowsDegraded()) throw underReplicated(up, this.copies)
  }

  /** Takes in what became of some puts; a version that was newer is returned, what is the caller's own fault thrown. */
  #sort(
    targets: readonly PlacementCandidate[],
    outcomes: readonly PromiseSettledResult<WriteOutcome>[],
    into: {
      readonly stored: WriteOutcome[]
      readonly kept: Set<ObjectTarget>
      readonly failures: CairnError[]
      readonly domains: Set<string>
      readonly corrected: Set<ObjectTarget>
    },
  ): number | undefined {
    let newer: number | undefined
    for (const [at, outcome] of outcomes.entries()) {
      const placed = targets[at]
      if (placed === undefined) continue
      if (outcome.status === 'fulfilled') {
        into.stored.push(outcome.value)
        into.kept.add(placed.target)
        into.domains.add(placed.domain)
        continue
      }
      const error = toCairnError(outcome.reason)
      const { target } = placed
      const isNewer = error.code === 'newer_version' && !into.corrected.has(target) && this.observe(Number(error.cause))
      if (isNewer) newer = Math.max(newer ?? 0, Number(error.cause))
      // What a peer says of the request is no reason to refuse it: this node has looked at it.
      else if (target.identity.kind === 'drive' && isCallersFault(error)) throw error
      else into.failures.push(error)
      if (isNewer && target.identity.kind === 'peer') into.corrected.add(target)
      this.#platform.log.warn({ target: placed.id.slice(0, 8), error }, 'a copy was not made')
    }
    return newer
  }

  #written(id: Address, { stored, told, failures }: PutAttempt & { tag: 'made' }): Written {
    const made = stored.length
    const wanted = this.copies
    if (made < wanted) {
      const [first] = failures
      if (made === 0) throw first ?? underReplicated(0, wanted)
      this.#options.onDegraded(id)
      if (!this.#options.allowsDegraded()) throw underReplicated(made, wanted)
    }
    return { stored: stored.every((each) => each === 'new') ? 'new' : 'present', made, wanted, told }
  }

  /** Whether the delete went through; if not, it has to be tried with a higher version. */
  async #writeTombstones(id: Address, asked: readonly TargetAnswer[], version: number): Promise<boolean> {
    const up = asked.filter(({ target }) => target.health().tag === 'up')
    // Holds and deletes of an object meet at the same holder, so that one of them comes first for all.
    const lead = up.find(({ known }) => known.tag === 'object')?.target
    if (lead === undefined) throw underReplicated(0, this.copies)
    const { enough } = this
    // Looked at before anything is written: a delete that only few know of might beat a put that came after it.
    if (up.length < enough) throw underReplicated(up.length, enough)
    const record = this.signDelete(id, version)
    if (!(await this.#removeAt(lead, id, { version, record, isAgreed: false }))) return false
    const others = up.map(({ target }) => target).filter((target) => target !== lead)
    const outcomes = await Promise.allSettled(
      others.map(async (target) => await this.#removeAt(target, id, { version, record, isAgreed: true })),
    )
    const knows = new Set([lead, ...others.filter((_, at) => outcomes[at]?.status === 'fulfilled')])
    if (outcomes.some((outcome) => outcome.status === 'fulfilled' && !outcome.value)) return false
    const needed = this.placed(id, (target) => target.health().tag !== 'down')
    if (knows.size < enough || !needed.every((target) => knows.has(target))) throw underReplicated(knows.size, enough)
    return true
  }

  /** The statement that peers obey this delete on: the caller has it in a journal of this node, or has decided it. */
  signDelete(id: Address, version: number): Uint8Array | undefined {
    return version === 0 ? undefined : this.#options.signDelete?.(id, version)
  }

  /** Targets that know of a delete before it is acknowledged. */
  get enough(): number {
    return Math.min(this.copies, this.targets.length)
  }

  async #removeAt(target: ObjectTarget, id: Address, deletion: Deletion): Promise<boolean> {
    try {
      await target.remove(id, deletion, this.call())
      return true
    } catch (error) {
      const { code, cause } = toCairnError(error)
      // It has not heard yet who this node is.
      if (code === 'unsigned_delete') throw underReplicated(0, this.copies)
      if (code !== 'newer_version') throw error
      // What cannot be a version is no newer one.
      if (!this.observe(Number(cause))) throw error
      return false
    }
  }

  #ordered(id: Address): readonly PlacementCandidate[] {
    const placed = this.targets.map((target) => ({ ...target.identity, target }))
    // What a drive is called, and where it is, is known once it was seen.
    const by = placed.map((each) => `${each.id} ${each.domain} ${each.weight}`).join()
    const recent = this.#recent.get(id)
    if (recent?.by === by) return recent.order
    const order = placementOrder(id, placed)
    this.#recent.add(id, { by, order })
    return order
  }
}

interface Order {
  /** Everything about the targets that may change. */
  readonly by: string
  readonly order: readonly PlacementCandidate[]
}

type PlacementCandidate = TargetIdentity & { readonly target: ObjectTarget }

const ABSENT: KnownCopy = { tag: 'absent' }

/** What no other target would take either. */
function isCallersFault({ kind, code }: CairnError): boolean {
  if (kind === 'Malformed' || kind === 'TooLarge') return true
  return kind === 'Conflict' && code !== 'missing_chunks'
}
