/**
 * Clients that propose, approve, commit and read at random while the machine loses power again and again, and a book of
 * what each of them was told.
 *
 *     life 1: load ── crash at a random call ──▶ life 2: everything told in life 1 holds; load ── crash ──▶ …
 */
import assert from 'node:assert/strict'
import { type Random, SeededRandom } from '@cairn/kernel'
import { type Item, itemHash } from '@cairn/names'
import { liveThrough } from '../../../verify/virtual/lives.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import type { VersionFacts } from '../src/domain/versions.ts'
import { TestService } from './harness.ts'
import { ALICE, BOB, named, type Opened, rootsOf, sign } from './signers.ts'

const CLIENTS = 3
const LIVES = 3
const OPTIONS = { ...rootsOf(1, [ALICE, BOB]), segmentBytes: 64 * 1024 }
const REFUSED = /^(409 (ChainMismatch|DuplicateApproval|AlreadyCommitted)|429 Busy|503 \w+|504 Timeout|507 no_space)$/

interface Client {
  readonly random: Random
  /** Two clients share a name, so that they get into each other's way. */
  readonly name: string
  meaning: number
}

/** What was told to anybody. */
interface Book {
  /** By proposal, the answer to its commit. */
  readonly committed: Map<string, VersionFacts>
  /** Open and approved as far as their client knows. */
  readonly pending: Opened[]
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
    const book: Book = { committed: new Map(), pending: [], highest: 0 }
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
      audit: async (service) => await audit(service, book),
      load: (service) => clients.map(async (client) => await work(service, client, book, options.operations)),
    })
  })
}

async function work(service: TestService, client: Client, book: Book, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const dice = client.random.next()
    if (dice < 0.5) await publish(service, client, book)
    else if (dice < 0.7) await again(service, client, book)
    else await audit(service, book)
  }
}

async function publish(service: TestService, client: Client, book: Book): Promise<void> {
  const current = await service.send('GET', `/registry/names/${client.name}`)
  const prev = current.status === 200 ? itemHash((current.json() as { item: Item }).item) : null
  client.meaning += 1
  const body = { payload: { items: [named(client.name, String(client.meaning), prev)] } }
  const proposed = await service.send('POST', '/registry/proposals', { body })
  if (proposed.status !== 202) return assert.match(`${proposed.status} ${proposed.code}`, REFUSED)
  const opened = proposed.json() as Opened
  const approval = { signer_id: ALICE.id, sig: sign(opened.signing_input, ALICE) }
  const approved = await service.send('POST', `/registry/approvals/${opened.proposal_id}`, { body: approval })
  if (approved.status !== 200) return assert.match(`${approved.status} ${approved.code}`, REFUSED)
  book.pending.push(opened)
  await commit(service, book, opened)
}

/** A commit that was asked for before, answered or not. */
async function again(service: TestService, { random }: Client, book: Book): Promise<void> {
  const opened = book.pending[Math.floor(random.next() * book.pending.length)]
  if (opened !== undefined) await commit(service, book, opened)
}

async function commit(service: TestService, book: Book, opened: Opened): Promise<void> {
  const { committed } = book
  const answer = await service.send('POST', `/registry/commit/${opened.proposal_id}`)
  const known = committed.get(opened.proposal_id)
  if (answer.status !== 201) {
    assert.match(`${answer.status} ${answer.code}`, REFUSED)
    if (known !== undefined) assert.notEqual(answer.status, 409, 'what was committed is committed')
    return
  }
  const facts = answer.json() as VersionFacts
  if (known !== undefined) assert.deepEqual(facts, known, 'the same answer')
  for (const [id, other] of committed)
    if (other.version === facts.version) assert.equal(id, opened.proposal_id, 'one proposal for each version')
  committed.set(opened.proposal_id, facts)
  book.highest = Math.max(book.highest, facts.version)
}

/** Everything that was told is still so, and HEAD never goes back. */
async function audit(service: TestService, book: Book): Promise<void> {
  const head = (await service.send('GET', '/registry/head')).json() as VersionFacts
  for (const facts of book.committed.values()) {
    assert.ok(facts.version <= head.version, `version ${facts.version} was acknowledged, HEAD is ${head.version}`)
    assert.deepEqual(service.parts.ledger.facts(facts.version), facts)
  }
  assert.ok(head.version >= book.highest, 'HEAD never goes back')
  book.highest = head.version
}
