/**
 * One webhook that comes more than once, a drive that may refuse, power that may go, and consumers that may be slow.
 *
 *     sender ─▶ worker: which standing? ─▶ body ─▶ one record {key, message, audit line} ─▶ told
 *                                                        │ durable
 *     power cut: keys and mailbox are what the records say    consumer: take ─▶ attempt ─▶ lease ─▶ effect ─▶ ack
 *
 * The records are the judge: what counts is what lies on the drive.
 */
import type { MailboxChange } from '../../../packages/mailbox/src/change.ts'
import * as mailboxCore from '../../../packages/mailbox/src/mailbox-core.ts'
import { type Model, type Steps, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { InteropCores, MailboxCores } from './cores.ts'

type Cores = Partial<InteropCores> & Partial<MailboxCores>

interface Scene {
  readonly senders: number
  readonly consumers: number
  readonly failures: number
  readonly cuts: number
  readonly expiries: number
}

/** What lies on the drive: one record each, whole or not at all. */
type Fact =
  | { readonly tag: 'accepted'; readonly key: string; readonly change: MailboxChange; readonly line: string }
  | { readonly tag: 'mailbox'; readonly change: MailboxChange }

const KEY = 'the webhook'
const UNTIL = 10 * 3_600_000
const MAX_DELIVERIES = 3
const KEYS_MAX = 8

function createHistory(scene: Scene) {
  return {
    ids: 0,
    failuresLeft: scene.failures,
    cutsLeft: scene.cuts,
    expiriesLeft: scene.expiries,
    now: 0,
    /** Every message whose effect somebody applied. */
    effects: [] as string[],
    told: 0,
    acked: [] as string[],
    /** Who has an acknowledgement under way. */
    holders: [] as string[],
    /** Somebody is the first, and has not ended. */
    isUnderWay: false,
    isStolen: false,
  }
}

class Reception {
  readonly drive: Fact[] = []
  readonly scene: Scene
  readonly history: ReturnType<typeof createHistory>
  life = 1
  keys: InstanceType<InteropCores['keys']['ReplayKeys']>
  mailbox: mailboxCore.MailboxCore
  readonly #keyCore: InteropCores['keys']
  readonly #core: typeof mailboxCore

  constructor(cores: Cores, scene: Scene) {
    this.scene = scene
    this.history = createHistory(scene)
    this.#keyCore = cores.keys ?? productionKeys()
    this.#core = cores.mailbox ?? mailboxCore
    this.keys = new this.#keyCore.ReplayKeys(KEYS_MAX)
    this.mailbox = this.#core.createMailbox(MAX_DELIVERIES)
    this.#core.open(this.mailbox)
  }

  get accepted(): string[] {
    return this.drive.flatMap((fact) => (fact.tag === 'accepted' ? [fact.line] : []))
  }

  isDone(): boolean {
    return this.history.told === this.scene.senders && this.mailbox.byId.size === this.mailbox.dead
  }

  *sender(): Task {
    for (;;) {
      yield step('asks how it stands')
      const begun = this.life
      const standing = this.keys.stand(KEY, 0)
      if (standing === 'known') break
      if (standing !== 'first') {
        // What the receiver does: it waits for the end of the first, then asks again.
        yield wait('waits for the first', () => this.life !== begun || !this.history.isUnderWay, begun)
        continue
      }
      this.history.isUnderWay = true
      yield step('stores the body', begun)
      if (this.life !== begun) continue
      this.history.ids += 1
      const id = `m${this.history.ids}`
      const change: MailboxChange = { tag: 'message', message: { id, topic: 't', key: undefined, body: '', sentAt: 0 } }
      const end = yield* this.#write({ tag: 'accepted', key: KEY, change, line: id }, begun)
      if (end === 'gone') continue
      this.keys.over(KEY)
      this.history.isUnderWay = false
      if (end === 'durable') break
    }
    this.history.told += 1
  }

  *consumer(who: string): Task {
    for (;;) {
      const ready = (): boolean => (this.mailbox.topics.get('t')?.ready.length ?? 0) > 0
      const how = yield select('waits for a message', { ready, 'no more will come': () => this.isDone() })
      if (how !== 'ready') return
      const entry = this.#core.take(this.mailbox, 't')
      if (entry !== undefined) yield* this.#serve(who, entry, this.life)
    }
  }

  *time(): Task {
    for (;;) {
      const { history } = this
      const how = yield select('lets a lease end', {
        ends: () => history.expiriesLeft > 0 && this.mailbox.leases.size > 0,
        // Whoever never acknowledges lets its lease end in any case.
        stuck: () => this.mailbox.leases.size > 0 && history.holders.length === 0 && history.expiriesLeft === 0,
        done: () => this.isDone(),
      })
      if (how === 'done') return
      if (how === 'ends') history.expiriesLeft -= 1
      history.now += 1
      this.#core.expire(this.mailbox, history.now)
    }
  }

  *power(): Task {
    while (this.history.cutsLeft > 0) {
      const how = yield select('goes', { cut: () => true, stays: () => true })
      this.history.cutsLeft -= 1
      if (how === 'stays') continue
      this.life += 1
      this.keys = new this.#keyCore.ReplayKeys(KEYS_MAX)
      this.mailbox = this.#core.createMailbox(MAX_DELIVERIES)
      this.history.isUnderWay = false
      this.history.holders = []
      this.drive.forEach((fact, at) => this.#fold(fact, at + 1))
      this.#core.open(this.mailbox)
    }
  }

  *#serve(who: string, entry: mailboxCore.MailboxEntry, begun: number): Task {
    const core = this.#core
    const { id } = entry.message
    const attempt = entry.attempts + 1
    const delivered = yield* this.#write({ tag: 'mailbox', change: { tag: 'delivery', id, attempt } }, [who, id])
    if (delivered === 'gone') return
    if (delivered === 'refused') {
      core.release(this.mailbox, entry)
      return
    }
    const receipt = { id, attempt, nonce: `${who}${attempt}` }
    core.lease(this.mailbox, entry, { attempt, nonce: receipt.nonce, until: this.history.now + 1 })
    yield step('applies the effect', [who, receipt, begun])
    this.history.effects.push(id)
    yield step('acknowledges', [who, receipt, begun])
    const held = this.life === begun ? core.held(this.mailbox, 't', receipt, this.history.now) : undefined
    if (held === undefined) return
    const given = core.change(held)
    this.history.isStolen ||= given?.nonce !== receipt.nonce
    this.history.holders.push(who)
    const ended = yield* this.#write({ tag: 'mailbox', change: { tag: 'ack', id } }, [who, receipt])
    this.history.holders = this.history.holders.filter((each) => each !== who)
    if (ended === 'durable') this.history.acked.push(id)
    if (ended === 'refused' && given !== undefined) core.lease(this.mailbox, held, given)
  }

  /** Whether the record is durable; `refused` if the drive did, `gone` if the power went meanwhile. */
  *#write(fact: Fact, locals: unknown): Steps<'durable' | 'refused' | 'gone'> {
    const begun = this.life
    const mayFail = (): boolean => this.history.failuresLeft > 0
    const how = yield select(`writes ${fact.tag}`, { well: () => true, badly: mayFail }, [fact, locals])
    if (this.life !== begun) return 'gone'
    if (how === 'badly') {
      this.history.failuresLeft -= 1
      return 'refused'
    }
    this.drive.push(fact)
    this.#fold(fact, this.drive.length)
    return 'durable'
  }

  #fold(fact: Fact, place: number): void {
    if (fact.tag === 'accepted') this.keys.add({ key: fact.key, until: UNTIL }, { lsn: 1, segment: 1 })
    this.#core.apply(this.mailbox, fact.change, place, 1)
  }
}

function receiving(cores: Cores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const world = new Reception(cores, scene)
    const { drive, history } = world
    const tasks: Record<string, () => Task> = { time: () => world.time(), power: () => world.power() }
    for (let at = 1; at <= scene.senders; at += 1) tasks[`sender-${at}`] = () => world.sender()
    for (let at = 1; at <= scene.consumers; at += 1) tasks[`consumer-${at}`] = () => world.consumer(`c${at}`)
    const shown = {
      get all() {
        return [world.life, world.keys.size, world.mailbox]
      },
    }
    return {
      state: { drive, history, shown },
      tasks,
      never: () => ({
        'applied-twice': new Set(world.accepted).size > 1,
        'effect-of-nothing': history.effects.some((id) => !world.accepted.includes(id)),
        'told-before-durable': history.told > 0 && world.accepted.length === 0,
        'lease-of-another-acknowledged': history.isStolen,
        'acknowledged-by-two': new Set(history.holders).size > 1,
        'acknowledged-is-back': history.acked.some((id) => world.mailbox.byId.has(id)),
      }),
      neverAtEnd: () => ({
        'not-applied': history.effects.length === 0,
        'not-told': history.told !== scene.senders,
      }),
      leaks: () => ({ leases: world.mailbox.leases.size }),
      eventually: () => ({ 'the webhook is applied': history.effects.length > 0 }),
    }
  }
  return { name, setup }
}

function productionKeys(): InteropCores['keys'] {
  if (LOADED.keys === undefined) throw new Error('The cores of interop are not loaded yet.')
  return LOADED.keys
}

/** For mutants of the mailbox, which come without interop's own modules. */
const LOADED: { keys?: InteropCores['keys'] } = {
  keys: await import('../../../services/interop/src/domain/replay-keys.ts'),
}

const CALM: Scene = { senders: 1, consumers: 1, failures: 0, cuts: 0, expiries: 0 }

const TWO_CONSUMERS = 'interop: two consumers, a lease that ends'

const smallest = (cores: Cores): Model[] => [receiving(cores, 'interop: a webhook, one consumer', CALM)]

const larger = (cores: Cores): Model[] => [
  receiving(cores, 'interop: a webhook twice', { ...CALM, senders: 2 }),
  receiving(cores, 'interop: a webhook twice, the drive refuses once', { ...CALM, senders: 2, failures: 1 }),
  receiving(cores, 'interop: a webhook twice, the power goes once', { ...CALM, senders: 2, cuts: 1 }),
  receiving(cores, TWO_CONSUMERS, { ...CALM, consumers: 2, expiries: 1 }),
  receiving(cores, 'interop: a power cut and a lease that ends', { ...CALM, cuts: 1, expiries: 1 }),
]

export const APPLIED_ONCE: Suite<InteropCores> = {
  name: 'a webhook, its worker, its consumers and the audit',
  smallest,
  larger,
  mutants: [
    {
      name: 'whoever comes while the first is under way is first as well',
      file: 'domain/replay-keys.ts',
      find: "if (this.#underWay.has(hash)) return 'under-way'",
      replace: '',
      expect: 'applied-twice',
    },
    {
      name: 'a key that is durable is not known',
      file: 'domain/replay-keys.ts',
      find: 'this.#kept.set(key, { hour: Math.ceil(until / HOUR_MS), lsn, segment })',
      replace: '',
      expect: 'applied-twice',
    },
  ],
}

export const LEASES: Suite<MailboxCores> = {
  name: 'the mailbox behind a webhook',
  smallest,
  larger: (cores) => [receiving(cores, TWO_CONSUMERS, { ...CALM, consumers: 2, expiries: 1 })],
  mutants: [
    {
      name: 'any receipt is good for whoever has the lease',
      file: 'mailbox-core.ts',
      find: 'attempt === receipt.attempt && nonce === receipt.nonce && now < until',
      replace: 'now < until',
      expect: 'lease-of-another-acknowledged',
    },
    {
      name: 'an expired lease is given back although its acknowledgement is under way',
      file: 'mailbox-core.ts',
      find: "if (entry.state.tag === 'changing') continue",
      replace: '',
      expect: 'acknowledged-by-two',
    },
    {
      name: 'an acknowledgement does not remove the message',
      file: 'mailbox-core.ts',
      find: 'core.byId.delete(id)',
      replace: '',
      expect: 'acknowledged-is-back',
    },
  ],
}
