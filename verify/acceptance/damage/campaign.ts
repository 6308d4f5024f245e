/**
 * Rounds of damage to everything but the records, against a ledger of what was acknowledged.
 *
 *     churn (puts, deletes) ─▶ damage 1–3 files ─▶ reads, sweep, compaction ─▶ stop or kill ─▶ start ─▶ everything asked for
 *                                 │ half of the rounds while it runs and serves
 *                                 └ the others while it does not run, before the start
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Random } from '@cairn/kernel'
import { type Ended, type Place, RunningNode, StartFailed } from '../node.ts'
import { damage, FAULTS } from './faults.ts'
import { type FileClass, targetsOf } from './files.ts'
import { Ledger } from './ledger.ts'

/** Small segments and a short lease: the compactor and the sweeper run in every round. */
const CONFIG = `[storage]
segment_bytes = "2MiB"
reserve_bytes = "1MiB"
upload_lease = "200ms"
cache_bytes = 0
[storage.durability]
sweep_interval = "300ms"
`
const CHURN = 12
const FILES_MAX = 3
const DRAWS_MAX = 30
/** Of the rounds, those that may also damage what nothing else knows. */
const NEEDED_SHARE = 0.15
const SIZES = [1, 300, 1024, 1025, 8000, 40_000, 65_536, 65_537, 140_000]
/** Two rounds of sweeper and compactor, while reads go on. */
const MAINTENANCE_MS = 700
/** A note that is gone or cannot be read is as one that was never made; of an index something must be said. */
const INDEX_FILE = /^(?:storage|edge)\/.*(?:\.idx$|(?:^|\/)(?:index|entries)\/|snapshot)/
/** Of the damage, the part that is done to the index of storage. */
const INDEX_SHARE = 0.6
/** An older copy of a file is from some round before this one. */
const COPY_MAX = 8 << 20

export interface CampaignReport {
  rounds: number
  damaged: number
  lost: number
  wrongAnswers: number
  resurrected: number
  deathsBySignal: number
  refusals: number
  notSaid: number
  readonly failures: string[]
}

interface Wound {
  readonly path: string
  readonly class: FileClass
  readonly what: string
  readonly before: Buffer
  /** As the damage left it. */
  readonly after: Buffer | undefined
}

export class Campaign implements AsyncDisposable {
  readonly report: CampaignReport = {
    rounds: 0,
    damaged: 0,
    lost: 0,
    wrongAnswers: 0,
    resurrected: 0,
    deathsBySignal: 0,
    refusals: 0,
    notSaid: 0,
    failures: [],
  }
  readonly #node: RunningNode
  readonly #random: Random
  readonly #ledger = new Ledger()
  readonly #older = new Map<string, Buffer>()
  readonly #say: (line: string) => void
  #seeds = 0
  #round = 0
  /** What the start that refused had said, if the latest one did. */
  #saidInRefusal = ''

  private constructor(node: RunningNode, random: Random, say: (line: string) => void) {
    this.#node = node
    this.#random = random
    this.#say = say
  }

  static async open(place: Place, random: Random, objects: number, say: (line: string) => void): Promise<Campaign> {
    const campaign = new Campaign(await RunningNode.start(place, { config: CONFIG }), random, say)
    while (campaign.#ledger.size < objects) await campaign.#put()
    return campaign
  }

  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound)
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[this.#below(items.length)]
  }

  async #put(): Promise<void> {
    this.#seeds += 1
    await this.#ledger.put(this.#node, (this.#pick(SIZES) ?? 0) + this.#below(50), `damage ${this.#seeds}`)
  }

  /** Puts and deletes as many as are put, so that segments fill and die. */
  async #churn(): Promise<void> {
    for (let at = 0; at < CHURN && !this.#node.hasEnded; at += 1) {
      await this.#put()
      const address = this.#pick(this.#ledger.addresses())
      if (address !== undefined) await this.#ledger.delete(this.#node, address)
    }
  }

  async round(): Promise<void> {
    this.#round += 1
    this.report.rounds = this.#round
    await this.#churn()
    this.#remember()
    const isLive = this.#random.next() < 0.5
    const isClean = this.#random.next() < 0.5
    const wounds = isLive ? await this.#hurtRunning() : await this.#hurtStopped(isClean)
    if (isLive) {
      await this.#end(isClean)
    }
    const where = wounds.map(({ path, what }) => `${path} ${what}`).join(', ')
    this.#say(
      `round ${this.#round}, ${isLive ? 'running' : 'stopped'}, then ${isClean ? 'SIGTERM' : 'SIGKILL'}: ${where}`,
    )
    const standing = wounds.filter(({ path, after }) => isStanding(join(this.#node.data, path), after))
    await this.#startAgain(wounds)
    await this.#checkAll('after the start')
    await this.#maintain()
    await this.#checkAll('after sweep and compaction')
    await this.#mustBeSaid(standing)
  }

  /** Copies of what may be put back as an older one in a later round. */
  #remember(): void {
    for (const { path } of targetsOf(this.#node.data)) {
      if (this.#older.has(path) && this.#random.next() < 0.7) continue
      const bytes = readWhole(join(this.#node.data, path))
      if (bytes !== undefined && bytes.length <= COPY_MAX) this.#older.set(path, bytes)
    }
  }

  #hurt(): readonly Wound[] {
    const isNeededDue = this.#random.next() < NEEDED_SHARE
    const targets = targetsOf(this.#node.data).filter((file) => isNeededDue || file.class === 'copy')
    const wounds: Wound[] = []
    const due = 1 + this.#below(FILES_MAX)
    // Not every file can be damaged in every way: it is drawn again.
    for (let draws = 0; draws < DRAWS_MAX && wounds.length < due; draws += 1) {
      const indexed = targets.filter(({ path }) => path.startsWith('storage/') && INDEX_FILE.test(path))
      const isIndexDue = indexed.length > 0 && this.#random.next() < INDEX_SHARE
      const target = this.#pick(isIndexDue ? indexed : targets)
      const fault = this.#pick(FAULTS)
      if (target === undefined || fault === undefined) continue
      const file = join(this.#node.data, target.path)
      const before = readWhole(file)
      if (before === undefined || wounds.some(({ path }) => path === target.path)) continue
      const what = damage(file, fault, this.#random, this.#older.get(target.path))
      const after = readWhole(file)
      // What was zeroed may have been zero.
      if (what !== undefined && after?.equals(before) !== true) wounds.push({ ...target, what, before, after })
    }
    this.report.damaged += wounds.length
    return wounds
  }

  async #hurtStopped(isClean: boolean): Promise<readonly Wound[]> {
    await this.#end(isClean)
    return this.#hurt()
  }

  async #hurtRunning(): Promise<readonly Wound[]> {
    const state = { isOver: false }
    const reading = this.#read(state)
    const wounds = this.#hurt()
    await this.#churn()
    await this.#maintain()
    state.isOver = true
    await reading
    if (!this.#node.hasEnded) await this.#checkAll('while it runs')
    return wounds
  }

  /** Reads at random while files are damaged under the node. */
  async #read(state: { readonly isOver: boolean }): Promise<void> {
    while (!state.isOver && !this.#node.hasEnded) {
      const address = this.#pick(this.#ledger.addresses())
      const what = address === undefined ? undefined : await this.#ledger.look(this.#node, address)
      if (what !== undefined) this.#wrong(address ?? '', what, 'while it was damaged')
    }
  }

  async #maintain(): Promise<void> {
    if (this.#node.hasEnded) return
    await this.#node.request('storage', '/admin/scrub', { method: 'POST', admin: true }).catch(() => undefined)
    await wait(MAINTENANCE_MS)
  }

  async #end(isClean: boolean): Promise<void> {
    const hadEnded = this.#node.hasEnded
    const ended = await (isClean ? this.#node.stop() : this.#node.kill())
    if (hadEnded) this.#died(ended)
  }

  #died(ended: Ended): void {
    if (ended.signal === null) this.#fail(`the process ended with ${String(ended.code)} while it served`)
    else {
      this.report.deathsBySignal += 1
      this.#fail(`the process died of ${ended.signal}`)
    }
  }

  /** Starts it; one that refuses for something that nothing else knows gets that back, and must start then. */
  async #startAgain(wounds: readonly Wound[]): Promise<void> {
    const refusal = await this.#tryStart()
    this.#saidInRefusal = refusal?.output ?? ''
    if (refusal === undefined) return
    let back = wounds
    if (refusal.ended.signal !== null) {
      this.report.deathsBySignal += 1
      this.#fail(`the start died of ${refusal.ended.signal}`)
    } else {
      const said = refusal.output.slice(-3000)
      const named = wounds.filter((wound) => wound.class === 'needed' && isNamed(said, wound.path))
      if (named.length > 0) {
        this.report.refusals += 1
        // The copies stay damaged: of them it has to tell when it starts.
        back = wounds.filter((wound) => wound.class === 'needed')
      } else this.#fail(`the start was refused (${String(refusal.ended.code)}): ${said.slice(-600)}`)
    }
    for (const { path, before } of back) put(join(this.#node.data, path), before)
    if ((await this.#tryStart()) !== undefined) await this.#startFromRecords()
  }

  /** The last resort, so that the campaign can go on: everything that can be made anew is. */
  async #startFromRecords(): Promise<void> {
    if (!this.#node.hasEnded) await this.#node.stop()
    for (const { path } of targetsOf(this.#node.data).filter((file) => file.class === 'copy'))
      rmSync(join(this.#node.data, path))
    const refusal = await this.#tryStart()
    if (refusal !== undefined) throw refusal
  }

  async #tryStart(): Promise<StartFailed | undefined> {
    try {
      await this.#node.relaunch()
      await this.#node.ready()
      return undefined
    } catch (error) {
      if (error instanceof StartFailed) return error
      throw error
    }
  }

  async #checkAll(when: string): Promise<void> {
    const breaches = await this.#ledger.check(this.#node)
    for (const { address, what } of breaches) this.#wrong(address, what, when)
    if (this.#node.hasEnded) {
      this.#died(await this.#node.exited)
      await this.#startFromRecords()
    }
    if (breaches.length > 0) await this.#findLost()
  }

  /** Which of them are gone for good: everything that can be made anew is, and they are asked for again. */
  async #findLost(): Promise<void> {
    await this.#startFromRecords()
    for (const { address, what } of await this.#ledger.check(this.#node)) {
      if (!what.includes('deleted')) this.report.lost += 1
      this.#fail(`${address} is lost: ${what}`)
      this.#ledger.forget(address)
    }
  }

  #wrong(address: string, what: string, when: string): void {
    if (what.includes('deleted')) this.report.resurrected += 1
    else this.report.wrongAnswers += 1
    this.#fail(`${address} ${when}: ${what}`)
  }

  /** An index file that was damaged when the node started is told of: in the log, or in a metric. */
  async #mustBeSaid(standing: readonly Wound[]): Promise<void> {
    // What is gone is only counted, and a start that refused took its counters with it.
    const untold = this.#saidInRefusal === '' ? /older/ : /older|^deleted$/
    const due = standing.filter(({ path, what }) => INDEX_FILE.test(path) && !untold.test(what))
    if (due.length === 0) return
    // A service beside the one that refused may have told of it, and made it anew.
    if (/"level":"(?:warn|error)"[^\n]*\bindex\b/.test(this.#saidInRefusal)) return
    const said = this.#node.outputSinceStart()
    if (/"level"":"(?:warn|error)"|\b(?:warn|error) /.test(said)) return
    const metrics = (await this.#node.request('storage', '/metrics')).body.toString()
    if (/^\w*(?:damag|rebuil|unsound|discard|corrupt)\w*(?:\{[^}]*\})? [1-9]/m.test(metrics)) return
    const counts = (how: string): boolean =>
      new RegExp(`^index_segments_total\\{[^}]*"${how}".* [1-9]`, 'm').test(metrics)
    // Of one that is gone there is no more to say than that its segment was read instead.
    if (counts('scan_damaged') || (counts('scan_missing') && due.every(({ what }) => what === 'deleted'))) return
    this.report.notSaid += 1
    this.#fail(`nothing was said of ${due.map(({ path, what }) => `${path} (${what})`).join(', ')}`)
  }

  #fail(what: string): void {
    this.report.failures.push(`round ${this.#round}: ${what}`)
    this.#say(`  ✖ ${what}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node[Symbol.asyncDispose]()
  }
}

/** Without `format` it is the directory that is refused. */
function isNamed(said: string, path: string): boolean {
  return said.includes(basename(path)) || (path === 'format' && said.includes('data directory'))
}

/**
 * Still as the damage left it, and not made anew by the node meanwhile; a running node goes on with what it is about. One
 * that is gone counts while there is a segment beside it to be read.
 */
function isStanding(file: string, after: Buffer | undefined): boolean {
  const now = readWhole(file)
  if (now !== undefined || after !== undefined) return now !== undefined && after?.equals(now) === true
  return !file.endsWith('.idx') || existsSync(file.replace(/idx$/, 'seg'))
}

function readWhole(file: string): Buffer | undefined {
  return existsSync(file) ? readFileSync(file) : undefined
}

function put(file: string, bytes: Buffer): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, bytes, { mode: 0o600 })
}
