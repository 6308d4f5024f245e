/**
 * Objects that clients put, read, hold and delete at whichever node they meet, and what they were told about each.
 *
 *     never ── put ──▶ unsure ── 201 ──▶ there ── delete ──▶ unsure ── 204 ──▶ gone
 *     free ── hold ──▶ unsure ── 204 ──▶ held: no delete is acknowledged ── release ──▶ unsure ── 204 ──▶ free
 *
 * A change that was refused in the middle, or never answered, may have left something on a node that is away: until all
 * are back nothing is certain about that object, whatever is told later. It is murky.
 */
import assert from 'node:assert/strict'
import type { Random } from '@cairn/kernel'
import { type Address, addressOf } from '@cairn/wire'
import { noise } from '../../virtual/noise.ts'
import type { Answer } from '../answer.ts'
import type { Cluster } from '../cluster.ts'
import { WRITER } from '../settings.ts'
import type { SimNode } from '../sim-node.ts'
import { Tally } from '../tally.ts'
import type { Workload } from '../workload.ts'
import { outcomeOf } from './outcome.ts'

type Known = 'never' | 'there' | 'gone' | 'unsure'

interface Thing {
  readonly id: Address
  readonly bytes: Buffer
  known: Known
  isMurky: boolean
  held: 'no' | 'yes' | 'unsure'
  /** The same, of a hold or a release. */
  isHoldMurky: boolean
  /** One client at a time has it, and leaves it alone for a moment after. */
  freeAt: number
  /** Where a put of it was refused last, if it was not put since. */
  refusedBy: SimNode | undefined
}

const CHUNK = 65_536
const COPIES = 2
/** A packet that was doubled may arrive a second time, this much later. */
const ECHO_MS = 1000
const NEW = 0.35
const OWNER = 'clients'
/** Enough to fill a segment of every node, and dead from the beginning: it is swept and compacted while things go wrong. */
const BULK = 18
const BULK_BYTES = 250_000

export class StorageWorkload implements Workload {
  readonly service = 'storage'
  readonly tally = new Tally()
  readonly #seed: number
  readonly #things: Thing[] = []
  /** Stored and deleted before anything went wrong. */
  readonly #bulk: string[] = []

  constructor(seed: number) {
    this.#seed = seed
  }

  async prepare(cluster: Cluster): Promise<void> {
    for (let at = 0; at < BULK; at += 1) {
      const node = cluster.nodes[at % cluster.nodes.length] ?? cluster.node(WRITER)
      const body = noise(BULK_BYTES, this.#seed + BULK_BYTES + at)
      const path = `/o/${addressOf(body)}`
      assert.equal((await cluster.send(node, 'storage', 'PUT', path, { body })).status, 201)
      assert.equal((await cluster.send(node, 'storage', 'DELETE', path)).status, 204)
      this.#bulk.push(path)
    }
  }

  async operate(cluster: Cluster, random: Random): Promise<void> {
    const thing = this.#someThing(cluster, random)
    const node = cluster.someNode('storage', random)
    thing.freeAt = Number.POSITIVE_INFINITY
    this.tally.operations += 1
    const dice = random.next()
    if (thing.known === 'never' || dice < 0.3) await this.#put(cluster, node, thing, random.next() < 0.3)
    else if (dice < 0.45) await this.#remove(cluster, node, thing)
    else if (dice < 0.6) await this.#hold(cluster, node, thing, dice < 0.55)
    else await this.#read(cluster, node, thing)
    thing.freeAt = cluster.clock.now() + ECHO_MS
  }

  /** A chunk that was there already may have rotted: what nobody else has can only come from the client. */
  async resend(cluster: Cluster): Promise<void> {
    for (const thing of this.#things) {
      if (thing.refusedBy === undefined || !Number.isFinite(thing.freeAt)) continue
      thing.freeAt = Number.POSITIVE_INFINITY
      await this.#put(cluster, thing.refusedBy, thing, false)
      thing.freeAt = cluster.clock.now() + ECHO_MS
    }
  }

  /** Everything is back and was compared: what a change left is everywhere now, or nowhere. */
  async settle(): Promise<void> {
    for (const thing of this.#things) {
      if (thing.isMurky) thing.known = 'unsure'
      if (thing.isMurky || thing.isHoldMurky) thing.held = 'unsure'
    }
    await Promise.resolve()
  }

  async check(cluster: Cluster): Promise<void> {
    for (const thing of this.#things) {
      const told: string[] = []
      for (const node of cluster.nodes) told.push(await this.#mustHold(cluster, node, thing))
      assert.equal(new Set(told).size, 1, `${nameOf(thing)} is ${told.join(', ')}, which depends on whom one asks`)
    }
    await this.#mustHaveCopies(cluster)
    for (const [at, path] of this.#bulk.entries()) {
      const node = cluster.nodes[at % cluster.nodes.length] ?? cluster.node(WRITER)
      const { status } = await cluster.send(node, 'storage', 'GET', path, { token: null })
      assert.equal(status, 404, `${path} was deleted, and is ${status} at ${node.name}`)
    }
  }

  #someThing(cluster: Cluster, random: Random): Thing {
    const free = this.#things.filter(({ freeAt }) => freeAt <= cluster.clock.now())
    const chosen = random.next() < NEW ? undefined : free[Math.floor(random.next() * free.length)]
    if (chosen !== undefined) return chosen
    const number = this.#things.length
    const own = noise(100 + Math.floor(random.next() * 3000), this.#seed + number)
    // Some have a chunk in common: deleting one must not hurt another.
    const bytes = random.next() < 0.1 ? Buffer.concat([noise(CHUNK, this.#seed), own]) : own
    const told = { known: 'never', isMurky: false, held: 'no', isHoldMurky: false } as const
    const thing: Thing = { id: addressOf(bytes), bytes, ...told, freeAt: 0, refusedBy: undefined }
    this.#things.push(thing)
    return thing
  }

  async #put(cluster: Cluster, node: SimNode, thing: Thing, isStreamed: boolean): Promise<void> {
    const { id, bytes } = thing
    if (thing.known !== 'there') thing.known = 'unsure'
    const answer = await cluster.send(node, 'storage', 'PUT', `/o/${id}${isStreamed ? '?stream' : ''}`, { body: bytes })
    const isDone = this.#isDone(thing, `put ${nameOf(thing)}`, answer, [200, 201])
    if (isDone) thing.known = 'there'
    thing.refusedBy = isDone ? undefined : node
  }

  async #remove(cluster: Cluster, node: SimNode, thing: Thing): Promise<void> {
    const before = thing.known
    if (before !== 'gone') thing.known = 'unsure'
    const answer = await cluster.send(node, 'storage', 'DELETE', `/o/${thing.id}`)
    if (answer.code === 'referenced') {
      mustNotBe(thing, 'no', 'cannot be deleted')
      this.tally.acknowledged += 1
      // oxlint-disable-next-line cairn/atomic-update -- a thing has one operation at a time, by its `freeAt`
      thing.known = before
      return
    }
    if (!this.#isDone(thing, `delete ${nameOf(thing)}`, answer, [204, 404])) return
    if (answer.status === 204) {
      mustNotBe(thing, 'yes', 'was deleted')
      thing.known = 'gone'
      thing.held = 'no'
    } else {
      assert.ok(before !== 'there' || thing.isMurky, `${nameOf(thing)} was there, and is not found to be deleted`)
      // oxlint-disable-next-line cairn/atomic-update -- a thing has one operation at a time, by its `freeAt`
      thing.known = before
    }
  }

  async #hold(cluster: Cluster, node: SimNode, thing: Thing, isHold: boolean): Promise<void> {
    const { id, known, isMurky, held } = thing
    if (held !== (isHold ? 'yes' : 'no')) thing.held = 'unsure'
    const what = `${isHold ? 'hold' : 'release'} ${nameOf(thing)}`
    const answer = await cluster.send(node, 'storage', isHold ? 'PUT' : 'DELETE', `/refs/${OWNER}/${id}`)
    const outcome = outcomeOf(what, answer, isHold ? [204, 404] : [204])
    this.tally[outcome] += 1
    if (outcome !== 'acknowledged') thing.isHoldMurky = true
    else if (answer.status === 204) thing.held = isHold ? 'yes' : 'no'
    else assert.ok(known !== 'there' || isMurky, `${nameOf(thing)} was there, and is not found to be held`)
  }

  #isDone(thing: Thing, what: string, answer: Answer, hoped: readonly number[]): boolean {
    const outcome = outcomeOf(what, answer, hoped, ['409 missing_chunks'])
    this.tally[outcome] += 1
    if (outcome !== 'acknowledged') thing.isMurky = true
    return outcome === 'acknowledged'
  }

  /** While nodes are away a copy may be read that was deleted elsewhere; other bytes, or a lost object, never. */
  async #read(cluster: Cluster, node: SimNode, thing: Thing): Promise<void> {
    const { id, bytes, known, isMurky } = thing
    const answer = await cluster.send(node, 'storage', 'GET', `/o/${id}`, { token: null })
    const outcome = outcomeOf(`read ${nameOf(thing)}`, answer, [200, 404])
    this.tally[outcome] += 1
    if (outcome !== 'acknowledged') return
    const trace = `${nameOf(thing)} was ${known}, and is ${answer.status} at ${node.name}`
    if (answer.status === 200) assert.ok(answer.body.equals(bytes) && known !== 'never', trace)
    else assert.ok(known !== 'there' || isMurky, trace)
  }

  /** With everything back and time to repair, every node says what the client was told. */
  async #mustHold(cluster: Cluster, node: SimNode, thing: Thing): Promise<string> {
    const { status, code, body } = await cluster.send(node, 'storage', 'GET', `/o/${thing.id}`, { token: null })
    const trace = `${nameOf(thing)} was ${thing.known}, and is ${status} ${code ?? ''} at ${node.name} in the end`
    if (status === 200) assert.ok(body.equals(thing.bytes) && thing.known !== 'gone', trace)
    else assert.ok(status === 404 && thing.known !== 'there', trace)
    return status === 200 ? 'there' : 'gone'
  }

  async #mustHaveCopies(cluster: Cluster): Promise<void> {
    const there = this.#things.filter(({ known }) => known === 'there')
    const counts = there.map(() => 0)
    const held = new Set<number>()
    for (const node of cluster.nodes) {
      const answer = await cluster.send(node, 'storage', 'POST', '/copies/known', {
        body: { ids: there.map(({ id }) => id) },
      })
      assert.equal(answer.status, 200, `${node.name} does not say what it has: ${answer.code}`)
      const { copies } = answer.json() as { copies: { tag: string; owners?: string[] }[] }
      for (const [at, { tag, owners = [] }] of copies.entries()) {
        if (tag === 'object') counts[at] = (counts[at] ?? 0) + 1
        if (owners.includes(OWNER)) held.add(at)
      }
    }
    for (const [at, thing] of there.entries()) {
      assert.ok((counts[at] ?? 0) >= COPIES, `${nameOf(thing)} has ${counts[at]} copies in the end`)
      assert.ok(thing.held !== (held.has(at) ? 'no' : 'yes'), `Held in the end: ${nameOf(thing)}, ${held.has(at)}`)
    }
  }
}

/** Of what was not certain nothing can be said. */
function mustNotBe(thing: Thing, not: Thing['held'], but: string): void {
  const { held, isMurky, isHoldMurky } = thing
  const isCertain = !isMurky && (held === 'yes' || !isHoldMurky)
  assert.ok(!isCertain || held !== not, `Held or not: ${held}. ${nameOf(thing)} ${but}.`)
}

function nameOf({ id }: Thing): string {
  return id.slice(0, 11)
}
