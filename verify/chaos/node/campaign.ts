/**
 * kill -9 of a whole node, again and again on one data directory.
 *
 *     begin ─▶ ready ─▶ check: held to the ledger ─▶ load ── SIGKILL at a drawn moment ──┐
 *       ▲                                                                                │
 *       └────────────── what was acknowledged, and what was under way ◀──────────────────┘
 *
 * A service brings a `Subject`: what to ask its node, and how to hold it to the answers. Everything else is here.
 */
import { type Random, SystemClock } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { Home } from '../../../node/test/running-node.ts'
import { ConnectionLost } from './http-client.ts'
import { NodeLife } from './node-life.ts'
import { UnderWay } from './under-way.ts'

export interface Subject {
  /** Settings of the node, as environment variables. */
  readonly environment: Readonly<Record<string, string>>
  /** Asks for changes, each noted in a ledger; ends when the node is gone and throws `ConnectionLost`, or anything if an answer is wrong. */
  load(life: NodeLife, underWay: UnderWay, random: Random): Promise<void>
  /** Throws unless the node has all that was promised, and nothing that was not asked for. */
  check(life: NodeLife): Promise<void>
  /** Watches for the work that nobody asks for over HTTP, which a kill should fall into as well. */
  watchMaintenance(life: NodeLife): MaintenanceWatch
  /** Done to the data of a dead node once in a while: what it may lose without losing anything. */
  damage(data: string): Promise<void>
}

export interface MaintenanceWatch extends Disposable {
  /** Called whenever such work begins. */
  onBegin: () => void
  /** Asked after the node is gone: which of it was under way, and how often it had come to its end. */
  ended(): Promise<{ readonly underWay: readonly string[]; readonly finished: number }>
}

export interface KillReport {
  readonly kills: number
  /** For each kind of work: how many kills fell into it. */
  readonly fellInto: ReadonlyMap<string, number>
  readonly maintenanceFinished: number
  /** The same for people. */
  readonly text: string
}

/** When a life ends: some time after it was checked, or a moment after maintenance began, if it does in time. */
type KillMoment = { readonly tag: 'after'; readonly ms: number } | { readonly tag: 'maintenance'; readonly ms: number }

const LIFE_MS_MIN = 100
const LIFE_MS_MAX = 1_200
const MAINTENANCE_MS_MAX = 60
const MAINTENANCE_TIMEOUT_MS = 5_000
/** One in so many deaths also takes what may be lost. */
const DAMAGE_EVERY = 10

export async function runNodeKills(subject: Subject, kills: number, seed: number): Promise<KillReport> {
  const random = new SeededRandom(seed)
  const fellInto = new Map<string, number>()
  let maintenanceFinished = 0
  await using home = await Home.make()
  for (let kill = 1; kill <= kills; kill += 1) {
    try {
      const death = await liveAndDie(home, subject, random)
      maintenanceFinished += death.finished
      for (const kind of death.underWay) fellInto.set(kind, (fellInto.get(kind) ?? 0) + 1)
      if (kill % DAMAGE_EVERY === 0) await subject.damage(`${home.path}/.cairn`)
    } catch (cause) {
      throw new Error(`Seed ${seed}, kill ${kill}: ${String(cause)}`, { cause })
    }
  }
  // The last death is checked too, and so is an end in order after so many that were not.
  for (let start = 1; start <= 2; start += 1) {
    const life = await NodeLife.begin(home, subject.environment)
    await subject.check(life)
    await life.stop()
  }
  const phases = [...fellInto].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => `${kind} ${count}`)
  const text = `${kills} kills; fell into ${phases.join('; ')}. Maintenance finished ${maintenanceFinished} times`
  return { kills, fellInto, maintenanceFinished: maintenanceFinished, text }
}

type Death = Awaited<ReturnType<MaintenanceWatch['ended']>>

/** One life; returns what it was doing when it ended. */
async function liveAndDie(home: Home, subject: Subject, random: SeededRandom): Promise<Death> {
  const life = await NodeLife.begin(home, subject.environment)
  await subject.check(life)
  using maintenance = subject.watchMaintenance(life)
  const moment = drawMoment(random)
  const underWay = new UnderWay()
  const load = untilKilled(life, subject.load(life, underWay, new SeededRandom(Math.floor(random.next() * 2 ** 32))))
  await momentComes(moment, maintenance, load)
  const hit = underWay.now()
  await life.kill()
  await load
  const { underWay: work, finished } = await maintenance.ended()
  return { underWay: [...(hit.length === 0 ? ['nothing'] : hit), ...work], finished }
}

function drawMoment(random: Random): KillMoment {
  if (random.next() < 0.5) return { tag: 'maintenance', ms: random.next() * MAINTENANCE_MS_MAX }
  return { tag: 'after', ms: LIFE_MS_MIN + random.next() * (LIFE_MS_MAX - LIFE_MS_MIN) }
}

/** Resolves at the moment, or as soon as the load finds a fault. */
async function momentComes(moment: KillMoment, maintenance: MaintenanceWatch, load: Promise<void>): Promise<void> {
  const clock = new SystemClock()
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const end = (ms: number) => clock.timer(ms, () => resolve(undefined))
  const timers = [end(moment.tag === 'after' ? moment.ms : MAINTENANCE_TIMEOUT_MS)]
  if (moment.tag === 'maintenance') maintenance.onBegin = () => void timers.push(end(moment.ms))
  load.catch(reject)
  try {
    await promise
  } finally {
    for (const timer of timers) timer.cancel()
  }
}

/** A connection that is lost while the node should be there is a fault. */
async function untilKilled(life: NodeLife, load: Promise<void>): Promise<void> {
  try {
    await load
  } catch (error) {
    if (!(error instanceof ConnectionLost) || life.isAlive) throw error
  }
}
