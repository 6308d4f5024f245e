/**
 * Senders and consumers at random while the machine loses power again and again, and a book of what each was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: everything told in life 1 holds; load ── crash ──▶ …
 */
import assert from 'node:assert/strict'
import { verifyAudit } from '@cairn/clients'
import { type Random, SeededRandom } from '@cairn/kernel'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import type { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type Leased, TestService } from './harness.ts'
import { TestStorage } from './test-storage.ts'

const CLIENTS = 3
const LIVES = 3
const ALLOWED = /^(202|204|409 lease_lost|429 \w+|503 \w+|504 \w+|507 \w+)/

/** What was told to anybody. */
interface Book {
  readonly accepted: Set<string>
  /** By webhook, every message id anybody saw. */
  readonly seen: Map<string, Set<string>>
  readonly asked: Set<string>
  readonly acked: Set<string>
  count: number
}

export interface SimulationOptions {
  readonly operations: number
  /** Faults of the drive on top of the crashes. */
  readonly faultRate: number
}

export async function simulateInterop(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const book: Book = { accepted: new Set(), seen: new Map(), asked: new Set(), acked: new Set(), count: 0 }
    const storage = new TestStorage(world.clock)
    const dice = Array.from({ length: CLIENTS }, () => new SeededRandom(world.nextSeed()))
    for (let life = 1; life <= LIVES; life += 1) {
      machine.faults.clear()
      const service = await TestService.open({ storage, segmentBytes: 16 * 1024 }, world, machine)
      await audit(service, book)
      const isLast = life === LIVES
      if (!isLast) machine.crashAfter(5 + Math.floor(random.next() * 40))
      machine.faults.rates = { 'io-error': options.faultRate, 'short-write': options.faultRate }
      await load(world, service, dice, book, options.operations)
      machine.faults.clear()
      if (!isLast) {
        machine.crash()
        continue
      }
      // Long enough for a drive that failed to have proved itself again.
      await world.sleep(6_000)
      await audit(service, book)
      await service.shutDown()
    }
  })
}

/** Lets every client work until it is done or the power is gone; what was under way then never settles. */
async function load(
  world: VirtualWorld,
  service: TestService,
  dice: readonly Random[],
  book: Book,
  operations: number,
): Promise<void> {
  const state = { active: dice.length }
  const failures: unknown[] = []
  for (const random of dice) {
    work(service, random, book, operations)
      .catch((error: unknown) => failures.push(error))
      .finally(() => {
        state.active -= 1
      })
  }
  while (state.active > 0 && service.machine.isUp) await world.sleep(5)
  if (failures.length > 0) throw failures[0]
}

async function work(service: TestService, random: Random, book: Book, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const dice = random.next()
    if (dice < 0.4) await send(service, book, `w${(book.count += 1)}`)
    // The same again, maybe while the first is under way.
    else if (dice < 0.6) await send(service, book, `w${Math.max(1, Math.ceil(random.next() * book.count))}`)
    else await consume(service, book, random)
  }
}

async function send(service: TestService, book: Book, name: string): Promise<void> {
  const answer = await service.sendGithub(`{"name":"${name}"}`, { delivery: name })
  assert.match(`${answer.status} ${answer.code}`, ALLOWED)
  if (answer.status === 202) book.accepted.add(name)
}

async function consume(service: TestService, book: Book, random: Random): Promise<void> {
  const answer = await service.send('POST', '/mailbox/github/lease')
  assert.match(`${answer.status} ${answer.code}`, /^200|^204|^503|^507|^504/)
  if (answer.status !== 200) return
  const { message, receipt } = answer.fields() as Partial<Leased> as Leased
  const name = String(message.body['delivery'])
  book.seen.set(name, (book.seen.get(name) ?? new Set()).add(message.id))
  assert.ok(!book.acked.has(name), `${name} was acknowledged and came again`)
  const verb = random.next() < 0.7 ? 'ack' : 'nack'
  if (verb === 'ack') book.asked.add(name)
  const done = await service.send('POST', `/mailbox/github/${receipt.id}/${verb}`, { body: receipt })
  assert.match(`${done.status} ${done.code}`, ALLOWED)
  if (verb === 'ack' && done.status === 204) book.acked.add(name)
}

/** Everything that was told is so: nothing accepted is lost, nothing exists twice, the chain is whole. */
async function audit(service: TestService, book: Book): Promise<void> {
  const { mailbox, chain, ledger } = service.parts
  const all = { limit: Number.MAX_SAFE_INTEGER }
  const here = new Map<string, string[]>()
  for (const { message } of [...mailbox.peek('github', all), ...mailbox.dead('github', all)]) {
    const { delivery } = JSON.parse(message.body) as { delivery: string }
    here.set(delivery, [...(here.get(delivery) ?? []), message.id])
  }
  for (const name of book.accepted) {
    assert.ok(here.has(name) || book.asked.has(name), `${name} was accepted and is lost`)
  }
  for (const name of book.acked) assert.ok(!here.has(name), `${name} was acknowledged and is back`)
  for (const [name, ids] of here) {
    assert.equal(new Set([...ids, ...(book.seen.get(name) ?? [])]).size, 1, `${name} exists once`)
  }
  const lines = await ledger.lines(chain.first, Number.MAX_SAFE_INTEGER)
  const verdict = verifyAudit(
    lines.map((line) => Buffer.from(line)),
    [],
  )
  assert.equal(verdict.tag, 'sound', JSON.stringify(verdict))
}
