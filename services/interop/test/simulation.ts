/**
 * Senders and consumers at random while the machine loses power again and again, and a ledger of what each was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: everything told in life 1 holds; load ── crash ──▶ …
 */
import assert from 'node:assert/strict'
import { verifyAudit } from '@cairn/clients'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { liveThrough } from '../../../verify/virtual/lives.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import { type Leased, TestService } from './harness.ts'
import { TestStorage } from './test-storage.ts'

const CLIENTS = 3
const LIVES = 3
const MAILBOX = { visibility: '1s', max_deliveries: 4 } as const
const VISIBILITY_MS = 1000
const ALLOWED = /^(202|204|409 lease_lost|429 \w+|503 \w+|504 \w+|507 \w+)/

/** What was told to anybody. */
interface Oracle {
  readonly accepted: Set<string>
  /** By webhook, every message id anybody saw. */
  readonly seen: Map<string, Set<string>>
  readonly asked: Set<string>
  readonly acked: Set<string>
  /** Until when a message is for one consumer alone, at least. */
  readonly leased: Map<string, number>
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
    const oracle: Oracle = {
      accepted: new Set(),
      seen: new Map(),
      asked: new Set(),
      acked: new Set(),
      leased: new Map(),
      count: 0,
    }
    const storage = new TestStorage(world.clock)
    const dice = Array.from({ length: CLIENTS }, () => new SeededRandom(world.nextSeed()))
    await liveThrough(world, machine, {
      count: LIVES,
      faultRate: options.faultRate,
      crashAfter: () => 5 + Math.floor(random.next() * 40),
      open: async () =>
        await TestService.open({ storage, segmentBytes: 16 * 1024, config: { mailbox: MAILBOX } }, world, machine),
      audit: async (service) => await audit(service, oracle),
      load: (service) => dice.map(async (each) => await work(service, each, oracle, options.operations)),
    })
  })
}

async function work(service: TestService, random: Random, oracle: Oracle, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const dice = random.next()
    if (dice < 0.4) await send(service, oracle, `w${(oracle.count += 1)}`)
    // The same again, maybe while the first is under way.
    else if (dice < 0.6) await send(service, oracle, `w${Math.max(1, Math.ceil(random.next() * oracle.count))}`)
    else if (dice < 0.95) await consume(service, oracle, random)
    else assert.match(`${(await service.send('POST', '/mailbox/github/replay', { body: {} })).status}`, /^200|^50[347]/)
  }
}

async function send(service: TestService, oracle: Oracle, name: string): Promise<void> {
  const answer = await service.sendGithub(`{"name":"${name}"}`, { delivery: name })
  assert.match(`${answer.status} ${answer.code}`, ALLOWED)
  if (answer.status === 202) oracle.accepted.add(name)
}

async function consume(service: TestService, oracle: Oracle, random: Random): Promise<void> {
  const askedAt = service.world.clock.now()
  const answer = await service.send('POST', '/mailbox/github/lease')
  assert.match(`${answer.status} ${answer.code}`, /^200|^204|^503|^507|^504/)
  if (answer.status !== 200) return
  const { message, receipt } = answer.fields() as Partial<Leased> as Leased
  const name = String(message.body['delivery'])
  oracle.seen.set(name, (oracle.seen.get(name) ?? new Set()).add(message.id))
  assert.ok(!oracle.acked.has(name), `${name} was acknowledged and came again`)
  assert.ok((oracle.leased.get(message.id) ?? 0) <= service.world.clock.now(), `${name} is with two consumers at once`)
  oracle.leased.set(message.id, askedAt + VISIBILITY_MS)
  const dice = random.next()
  // Some never come back; some do when the message may be with somebody else.
  if (dice < 0.15) return
  if (dice < 0.3) await service.world.sleep(VISIBILITY_MS * 2 * random.next())
  const verb = random.next() < 0.7 ? 'ack' : 'nack'
  if (verb === 'ack') oracle.asked.add(name)
  else oracle.leased.delete(message.id)
  const done = await service.send('POST', `/mailbox/github/${receipt.id}/${verb}`, { body: receipt })
  assert.match(`${done.status} ${done.code}`, ALLOWED)
  if (verb === 'ack' && done.status === 204) oracle.acked.add(name)
}

/** Everything that was told is so: nothing accepted is lost, nothing exists twice, the chain is whole. */
async function audit(service: TestService, oracle: Oracle): Promise<void> {
  const { mailbox, chain, ledger } = service.parts
  // Leases end with the life that gave them.
  oracle.leased.clear()
  const all = { limit: Number.MAX_SAFE_INTEGER }
  const here = new Map<string, string[]>()
  for (const { message } of [...mailbox.peek('github', all), ...mailbox.dead('github', all)]) {
    const { delivery } = JSON.parse(message.body) as { delivery: string }
    here.set(delivery, [...(here.get(delivery) ?? []), message.id])
  }
  for (const name of oracle.accepted) {
    assert.ok(here.has(name) || oracle.asked.has(name), `${name} was accepted and is lost`)
  }
  for (const name of oracle.acked) assert.ok(!here.has(name), `${name} was acknowledged and is back`)
  for (const [name, ids] of here) {
    assert.equal(new Set([...ids, ...(oracle.seen.get(name) ?? [])]).size, 1, `${name} exists once`)
  }
  const lines = await ledger.lines(chain.first, Number.MAX_SAFE_INTEGER)
  const verdict = verifyAudit(
    lines.map((line) => Buffer.from(line)),
    [],
  )
  assert.equal(verdict.tag, 'sound', JSON.stringify(verdict))
}
