/**
 * Clients that propose, approve, commit and read at random while the machine loses power again and again, and a ledger of
 * what each of them was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: everything told in life 1 holds; load ── crash ──▶ …
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Item, itemHash } from '@cairn/names'
import { liveThrough } from '../../../verify/virtual/lives.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import type { VersionSummary } from '../src/domain/ledger.ts'
import { TestService } from './harness.ts'
import { ALICE, BOB, named, type Opened, rootsOf, sign, signer } from './signers.ts'

const CLIENTS = 3
const LIVES = 3
const SIGNERS = [ALICE, BOB, signer('org:other#dave', 4)]
const QUORUM = 2
const OPTIONS = { ...rootsOf(QUORUM, SIGNERS), segmentBytes: 64 * 1024 }
const REFUSED = /^(409 (ChainMismatch|DuplicateApproval|AlreadyCommitted)|429 Busy|503 \w+|504 Timeout|507 no_space)$/

interface Client {
  readonly random: Random
  /** Two clients share a name, so that they get into each other's way. */
  readonly name: string
  meaning: number
}

interface Pending {
  readonly opened: Opened
  /** Signers whose approval was sent, and those of them of whom the registry said that it has it. */
  readonly sent: Set<string>
  readonly told: Set<string>
}

/** What was told to anybody. */
interface Oracle {
  /** By proposal, the answer to its commit. */
  readonly committed: Map<string, VersionSummary>
  /** Open, as far as their client knows. */
  readonly pending: Pending[]
  highest: number
}

export interface SimulationOptions {
  readonly operations: number
  /** Faults of the drive on top of the crashes. */
  readonly faultRate: number
}

export async function simulateRegistry(seed: number, options: SimulationOptions): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const oracle: Oracle = { committed: new Map(), pending: [], highest: 0 }
    const clients = Array.from(
      { length: CLIENTS },
      (_, at): Client => ({
        random: new SeededRandom(world.nextSeed()),
        name: `name-${Math.floor(at / 2)}@1`,
        meaning: 1000 * at,
      }),
    )
    await liveThrough(world, machine, {
      count: LIVES,
      faultRate: options.faultRate,
      crashAfter: () => 5 + Math.floor(random.next() * 60),
      open: async () => await TestService.open(OPTIONS, world, machine),
      audit: async (service) => await audit(service, oracle),
      load: (service) => clients.map(async (client) => await work(service, client, oracle, options.operations)),
    })
  })
}

async function work(service: TestService, client: Client, oracle: Oracle, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const dice = client.random.next()
    const pending = oracle.pending[Math.floor(client.random.next() * oracle.pending.length)]
    if (dice < 0.4) await publish(service, client, oracle)
    else if (dice < 0.5 && pending !== undefined) await approve(service, client.random, pending)
    // A commit that was asked for before, answered or not, or of what nobody has approved yet.
    else if (dice < 0.7 && pending !== undefined) await commit(service, oracle, pending)
    else await audit(service, oracle)
  }
}

async function publish(service: TestService, client: Client, oracle: Oracle): Promise<void> {
  const current = await service.send('GET', `/registry/names/${client.name}`)
  const prev = current.status === 200 ? itemHash((current.json() as { item: Item }).item) : null
  client.meaning += 1
  const body = { payload: { items: [named(client.name, String(client.meaning), prev)] } }
  const proposed = await service.send('POST', '/registry/proposals', { body })
  if (proposed.status !== 202) return assert.match(`${proposed.status} ${proposed.code}`, REFUSED)
  const pending: Pending = { opened: proposed.json() as Opened, sent: new Set(), told: new Set() }
  oracle.pending.push(pending)
  // Sometimes others approve later, maybe in another life.
  while (pending.told.size < QUORUM && client.random.next() < 0.9) await approve(service, client.random, pending)
  await commit(service, oracle, pending)
}

async function approve(service: TestService, random: Random, { opened, sent, told }: Pending): Promise<void> {
  const signer = SIGNERS[Math.floor(random.next() * SIGNERS.length)] ?? ALICE
  const body = { signer_id: signer.id, sig: sign(opened.signing_input, signer) }
  sent.add(signer.id)
  const { status, code } = await service.send('POST', `/registry/approvals/${opened.proposal_id}`, { body })
  if (status === 200 || code === 'DuplicateApproval') told.add(signer.id)
  else assert.match(`${status} ${code}`, REFUSED)
}

async function commit(service: TestService, oracle: Oracle, { opened, sent, told }: Pending): Promise<void> {
  const approvals = told.size
  const { committed } = oracle
  const answer = await service.send('POST', `/registry/commit/${opened.proposal_id}`)
  const known = committed.get(opened.proposal_id)
  if (answer.status !== 201) {
    if (answer.code === 'QuorumFailed') assert.ok(approvals < QUORUM, `${[...told].join(' and ')} have approved`)
    else assert.match(`${answer.status} ${answer.code}`, REFUSED)
    if (known !== undefined) assert.notEqual(answer.status, 409, 'what was committed is committed')
    return
  }
  assert.ok(sent.size >= QUORUM, 'too few have approved')
  const facts = answer.json() as VersionSummary
  if (known !== undefined) assert.deepEqual(facts, known, 'the same answer')
  for (const [id, other] of committed)
    if (other.version === facts.version) assert.equal(id, opened.proposal_id, 'one proposal for each version')
  committed.set(opened.proposal_id, facts)
  oracle.highest = Math.max(oracle.highest, facts.version)
}

/** Everything that was told is still so, and HEAD never goes back. */
async function audit(service: TestService, oracle: Oracle): Promise<void> {
  const head = (await service.send('GET', '/registry/head')).json() as VersionSummary
  for (const facts of oracle.committed.values()) {
    assert.ok(facts.version <= head.version, `version ${facts.version} was acknowledged, HEAD is ${head.version}`)
    assert.deepEqual(service.parts.ledger.facts(facts.version), facts)
  }
  assert.ok(head.version >= oracle.highest, 'HEAD never goes back')
  oracle.highest = head.version
}
