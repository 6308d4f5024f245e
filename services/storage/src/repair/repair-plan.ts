/**
 * Compares what is here with where it should be.
 *
 *     own inventory, page by page ─▶ what does every target know of these? ─▶ repair-core ─▶ `repair`: urgent, or in turn
 */
import { toCairnError } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { type Address, digestOf, toHex } from '@cairn/wire'
import type { StripeCode } from '../erasure/stripe-core.ts'
import type { StripePlanner } from '../erasure/stripe-repair.ts'
import type { KnownCopy, ObjectTarget, SettledDeletes } from '../targets/target.ts'
import { Challenges } from './challenges.ts'
import { ObjectRepairs, type ObjectRepairsOptions } from './object-repairs.ts'
import { dropOf, isShare, judge, type RepairStep, type TargetFacts } from './repair-core.ts'
import type { RepairQueue } from './repair-queue.ts'

const PAGE = 256
const CHALLENGES_AT_ONCE = 8
const ABSENT: KnownCopy = { tag: 'absent' }
/** Deletes that everybody knows of; past it they are remembered longer than they need to be. */
const SETTLED_MAX = 100_000
/** Copies that somebody else does not hold yet; past it they wait for a later round. */
const UNHELD_MAX = 100_000

/** What a round over everything found. */
export interface RoundReport {
  /** Unix milliseconds at its end. */
  readonly at: number
  readonly objects: number
  /** With as many copies as they should have. */
  readonly full: number
  /** With fewer, and more than one. */
  readonly under: number
  /** With one copy left, or as few shards as it takes to read them. */
  readonly single: number
  /** With fewer shards than that. */
  readonly lost: number
  readonly tombstones: number
  /** The fewest copies of any object that were read and hashed; null without objects. */
  readonly proved: number | null
  /** Targets that did not answer in it. */
  readonly away: readonly string[]
  /** Copies to make, deletes to tell and copies to let go of that it had room to ask for. */
  readonly planned: number
}

interface RepairTally {
  objects: number
  full: number
  under: number
  single: number
  lost: number
  tombstones: number
  proved: number | null
  readonly away: Set<string>
  planned: number
}

/** What a round has come across so far. */
interface RoundFindings {
  readonly settled: Set<string>
  readonly unheld: Map<string, number>
}

type RepairTarget = TargetFacts & { readonly target: ObjectTarget }

export interface RepairPlanOptions extends ObjectRepairsOptions {
  readonly node: string
  readonly repairs: RepairQueue
  readonly deletes: SettledDeletes
  /** Away for so long that it comes back empty, if it does. */
  readonly isExpired: (target: ObjectTarget) => boolean
  /** Where objects are erasure-coded. */
  readonly stripes: Stripes | undefined
}

/** Shards are looked after by themselves: a record with a share on a target is no copy. */
export interface Stripes {
  readonly code: StripeCode
  readonly planner: StripePlanner
}

export class RepairPlan {
  readonly #platform: Platform
  readonly #options: RepairPlanOptions
  readonly #repairs: ObjectRepairs
  readonly #challenges: Challenges
  /** Copies that lacked a hold in the last round, and since when. */
  #unheld = new Map<string, number>()
  #last: RoundReport | undefined

  constructor(platform: Platform, options: RepairPlanOptions) {
    this.#platform = platform
    this.#options = options
    this.#repairs = new ObjectRepairs(platform, options)
    const { replicas } = options
    this.#challenges = new Challenges(platform, { own: replicas.own, call: () => replicas.call() })
  }

  /** The last whole round. */
  get last(): RoundReport | undefined {
    return this.#last
  }

  /** Goes over everything this node holds; says how many repairs there was room for. */
  async round(signal: AbortSignal): Promise<number> {
    const { own } = this.#options.replicas
    this.#challenges.beginRound()
    const tally = newTally()
    const settled = new Set<string>()
    const unheld = new Map<string, number>()
    let after: Address | undefined
    for (;;) {
      const rows = await own.page(after, PAGE)
      await this.#judgeAll(
        rows.map(({ id }) => id),
        tally,
        { settled, unheld },
      )
      after = rows.at(-1)?.id
      if (signal.aborted) return tally.planned
      if (after === undefined) break
    }
    this.#options.deletes.replace(settled)
    this.#unheld = unheld
    this.#last = { at: this.#platform.clock.wall(), ...tally, away: [...tally.away] }
    return tally.planned
  }

  /** Looks at one object only. */
  async object(id: Address): Promise<number> {
    const tally = newTally()
    await this.#judgeAll([id], tally, { settled: new Set(), unheld: new Map() }, true)
    return tally.planned
  }

  async #judgeAll(ids: readonly Address[], tally: RepairTally, seen: RoundFindings, isAsked = false): Promise<void> {
    if (ids.length === 0) return
    const { replicas, node, isExpired } = this.#options
    const known = await this.#checkAll(ids, await this.#askAll(ids, tally))
    for (const [at, id] of ids.entries()) {
      const order = replicas.order(id).map((target): RepairTarget => {
        const { node: its, domain } = target.identity
        return {
          target,
          node: its,
          domain,
          isWritable: target.health().tag === 'up',
          isExpired: isExpired(target),
          known: known.get(target)?.[at],
        }
      })
      const verdict = judge(order, { node, copies: replicas.copies, isAsked })
      if (isShare(verdict.newest)) {
        for (const step of verdict.steps) if (step.tag === 'hold' && this.#send(id, step, seen)) tally.planned += 1
        await this.#planStripes(id, order, verdict, tally)
        continue
      }
      count(tally, verdict, replicas.copies)
      if (verdict.newest.tag !== 'absent') replicas.observe(verdict.newest.version)
      if (verdict.isSettled && seen.settled.size < SETTLED_MAX) seen.settled.add(toHex(digestOf(id)))
      for (const step of verdict.steps) if (this.#send(id, step, seen)) tally.planned += 1
    }
  }

  /** What they know, once copies at peers were looked at. */
  async #checkAll(
    ids: readonly Address[],
    known: ReadonlyMap<ObjectTarget, readonly KnownCopy[]>,
  ): Promise<Map<ObjectTarget, readonly KnownCopy[]>> {
    const checked = new Map<ObjectTarget, readonly KnownCopy[]>()
    for (const [target, rows] of known) {
      const answers: KnownCopy[] = []
      for (let from = 0; from < ids.length; from += CHALLENGES_AT_ONCE) {
        const some = ids.slice(from, from + CHALLENGES_AT_ONCE)
        answers.push(
          ...(await Promise.all(
            some.map(async (id, at) => await this.#challenges.checked(target, id, rows[from + at] ?? ABSENT)),
          )),
        )
      }
      // One that was caught meanwhile counts for nothing.
      if (target.health().tag !== 'down') checked.set(target, answers)
    }
    return checked
  }

  async #planStripes(
    id: Address,
    order: readonly RepairTarget[],
    { newest, proved, isHeldAlike }: ReturnType<typeof judge>,
    tally: RepairTally,
  ): Promise<void> {
    const { replicas, stripes } = this.#options
    if (newest.tag !== 'object') return
    replicas.observe(newest.version)
    tally.objects += 1
    if (stripes === undefined) return
    const { left, planned } = await stripes.planner.plan(id, newest.version)
    tally.planned += planned
    // Whole copies of an earlier put are no longer needed once every shard was read where it lies.
    const isSafe = isHeldAlike && left === 'whole' && proved === stripes.code.k + stripes.code.m
    const copies = isSafe ? order.filter(({ known }) => known?.tag === 'object' && !isShare(known)) : []
    for (const step of copies.flatMap(dropOf)) if (this.#offer(id, step)) tally.planned += 1
    tally[STATE_OF[left]] += 1
    // As many copies as losses it would take, and one: a share on each of nine drives is as good as four copies.
    const spare = Math.max(0, proved - stripes.code.k + 1)
    tally.proved = Math.min(tally.proved ?? spare, spare)
  }

  async #askAll(ids: readonly Address[], tally: RepairTally): Promise<Map<ObjectTarget, readonly KnownCopy[]>> {
    const { replicas } = this.#options
    const answers = new Map<ObjectTarget, readonly KnownCopy[]>()
    await Promise.all(
      replicas.targets.map(async (target) => {
        try {
          if (target.health().tag !== 'down') answers.set(target, await target.known(ids, replicas.call()))
        } catch (error) {
          this.#platform.log.debug({ error: toCairnError(error) }, 'a target did not say what it holds')
        }
        if (!answers.has(target)) tally.away.add(target.identity.id)
      }),
    )
    return answers
  }

  #send(id: Address, step: RepairStep<RepairTarget>, { unheld }: RoundFindings): boolean {
    return (step.tag !== 'hold' || this.#hasLasted(id, step.at.target, unheld)) && this.#offer(id, step)
  }

  /**
   * Who releases an object does so at one copy after the other: a difference that is no older than that takes is not one
   * to mend, or the hold would come back.
   */
  #hasLasted(id: Address, { identity }: ObjectTarget, unheld: Map<string, number>): boolean {
    const now = this.#platform.clock.now()
    const copy = `${id} at ${identity.id}`
    const since = this.#unheld.get(copy) ?? now
    if (unheld.size < UNHELD_MAX) unheld.set(copy, since)
    return now - since > this.#options.replicas.timeoutMs
  }

  #offer(id: Address, step: RepairStep<RepairTarget>): boolean {
    const { repairs } = this.#options
    const isUrgent = step.tag === 'delete' || step.tag === 'hold' || (step.tag === 'copy' && step.isUrgent)
    return repairs.send(this.#repairs.of(id, step), isUrgent ? 'urgent' : 'normal')
  }
}

const STATE_OF = { whole: 'full', parity: 'under', urgent: 'single', lost: 'lost' } as const

function newTally(): RepairTally {
  return { objects: 0, full: 0, under: 0, single: 0, lost: 0, tombstones: 0, proved: null, away: new Set(), planned: 0 }
}

function count(tally: RepairTally, { newest, copies, proved }: ReturnType<typeof judge>, wanted: number): void {
  if (newest.tag === 'tombstone') tally.tombstones += 1
  if (newest.tag !== 'object') return
  tally.objects += 1
  tally.proved = Math.min(tally.proved ?? proved, proved)
  if (copies >= wanted) tally.full += 1
  else if (copies > 1) tally.under += 1
  else tally.single += 1
}
