/**
 * Clients that ask any index for what is stored, named and pinned anywhere in the cluster.
 *
 *     object ──▶ storage of one node ┄┄▶ found through the index of every node, at a node that serves it
 *     name   ──▶ the one registry    ┄┄▶ resolved by the index of every node, with a proof
 *     pin    ──▶ index of one node   ┄┄▶ kept there
 *
 * What holds all the time: nothing is found that nobody stored, and no name means what nobody proposed, each with a proof
 * that holds. What holds in the end: all that was acknowledged is found everywhere, in the time an index has.
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Item, itemHash, type NameItem, parseProof, parseTrust, type TrustFile, verifyProof } from '@cairn/names'
import { readSmallFile } from '@cairn/platform'
import { type Address, addressOf, toHex } from '@cairn/wire'
import { noise } from '../../virtual/noise.ts'
import type { Answer } from '../answer.ts'
import type { Cluster } from '../cluster.ts'
import { DATA, NODE_NAMES, urlOf, WRITER } from '../settings.ts'
import type { SimNode } from '../sim-node.ts'
import { Tally } from '../tally.ts'
import type { Workload } from '../workload.ts'
import { eventually } from './eventually.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { OVERTAKEN, propose, SIGNERS } from './publishing.ts'

const NAMES: readonly string[] = ['grove@1', 'copse@1']
const PINS = 6
const OBJECT_BYTES = 200
/** An index has 1200 ms for a lookup; the way there and back comes on top. */
const BUDGET_MS = 1250
/** A breaker that is half open lets a few through, and the next only when its janitor has counted those. */
const COUNTED_MS = 150

interface Thing {
  readonly bytes: Buffer
  readonly id: Address
  isStored: boolean
}

/** As the registry tells it. */
interface Registered {
  readonly version: number
  readonly item: NameItem
}

interface Named {
  /** Everything it was ever proposed to mean. */
  readonly tried: Set<Address>
  /** One client at a time changes it. */
  isBusy: boolean
}

export class IndexWorkload implements Workload {
  readonly service = 'index'
  readonly tally = new Tally()
  readonly settings = SIGNERS.settings
  readonly files = SIGNERS.files
  readonly #seed: number
  readonly #things: Thing[] = []
  readonly #names = new Map<string, Named>(NAMES.map((name) => [name, { tried: new Set(), isBusy: false }]))
  /** By node and address: pinned, not pinned, or nobody knows. */
  readonly #pins = new Map<string, boolean | 'either'>()
  readonly #pinning = new Set<string>()
  /** By node and address: what an index has sent us to, in the end. */
  readonly #fetched = new Set<string>()
  #trust: TrustFile | undefined
  #found = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  async prepare(cluster: Cluster): Promise<void> {
    this.#trust = parseTrust((await cluster.send(cluster.node(WRITER), 'registry', 'GET', '/registry/trust')).body)
    assert.equal(await this.#store(cluster, cluster.node(WRITER)), 'acknowledged')
  }

  async operate(cluster: Cluster, random: Random): Promise<void> {
    this.tally.operations += 1
    const dice = random.next()
    const outcome = await this.#act(cluster, random, dice)
    this.tally[outcome] += 1
  }

  /** All is well: what is named now, one name or another, is soon what every index says. */
  async settle(cluster: Cluster): Promise<void> {
    const random = new SeededRandom(this.#seed)
    const [name, named] = pick([...this.#names], random) ?? assert.fail('there are no names')
    for (const node of cluster.nodes) {
      // A breaker that opened while others were away says so for a while; then it is known again that this is nowhere.
      const isSure = async () => (await this.#find(cluster, node, undefined, true)) === 'acknowledged'
      await eventually(cluster, `${node.name} cannot ask the others`, isSure)
      // Kept from now on, so that the next answer could be an old one.
      const isAnswered = async () => (await this.#resolveName(cluster, node, name)).outcome === 'acknowledged'
      await eventually(cluster, `${node.name} does not say whether ${name} means anything`, isAnswered)
    }
    const isNamed = async () => (await this.#point(cluster, name, named, random)) === 'acknowledged'
    await eventually(cluster, `${name} cannot be committed`, isNamed)
    const { version, item } = (await this.#registered(cluster, name)) ?? assert.fail(`${name} is not named`)
    for (const node of cluster.nodes) {
      const hasHeard = async () => (await this.#heard(cluster, node)) >= version
      await eventually(cluster, `${node.name} has not heard that ${name} means something new`, hasHeard)
      // From then on nothing older is said, whatever was kept.
      const isSaid = async () => {
        const { outcome, meaning } = await this.#resolveName(cluster, node, name)
        if (outcome === 'acknowledged') assert.equal(meaning, item.manifest, `${node.name} says what ${name} meant`)
        return outcome === 'acknowledged'
      }
      await eventually(cluster, `${node.name} does not say what ${name} means`, isSaid)
    }
  }

  async check(cluster: Cluster): Promise<void> {
    for (const node of cluster.nodes) {
      for (const thing of this.#things) if (thing.isStored) await this.#mustFind(cluster, node, thing)
      const nowhere = `/resolve/${addressOf(noise(OBJECT_BYTES, this.#seed - 1))}`
      const { status, code } = await this.#ask(cluster, node, nowhere)
      assert.equal(status, 404, `${node.name} answered ${status} ${code ?? ''} about what nobody stored`)
      await this.#holdPins(node)
    }
    assert.ok(this.#found > 0, 'nothing was found')
  }

  async #act(cluster: Cluster, random: Random, dice: number): Promise<Outcome> {
    const node = cluster.someNode('index', random)
    if (dice < 0.2) return await this.#store(cluster, node)
    if (dice < 0.5) return await this.#find(cluster, node, pick(this.#things, random), random.next() < 0.3)
    if (dice < 0.6) return await this.#find(cluster, node, undefined, random.next() < 0.3)
    if (dice < 0.75) return await this.#pin(cluster, node, Math.floor(random.next() * PINS), random.next() < 0.6)
    const name = pick(NAMES, random) ?? ''
    if (dice < 0.8) return await this.#putLocalName(cluster, node, name)
    const named = this.#names.get(name)
    if (dice < 0.88 && named !== undefined && !named.isBusy) return await this.#point(cluster, name, named, random)
    return (await this.#resolveName(cluster, node, name, random.next() < 0.5)).outcome
  }

  /** Puts something at the storage of this node; nobody tells any index of it. */
  async #store(cluster: Cluster, node: SimNode): Promise<Outcome> {
    const bytes = noise(OBJECT_BYTES, this.#seed + this.#things.length)
    const thing: Thing = { bytes, id: addressOf(bytes), isStored: false }
    this.#things.push(thing)
    const answer = await cluster.send(node, 'storage', 'PUT', `/o/${thing.id}`, { body: bytes })
    const outcome = outcomeOf('store', answer, [200, 201])
    thing.isStored = outcome === 'acknowledged'
    return outcome
  }

  /** Somebody may not find what is there while things go wrong; nobody ever finds what is nowhere. */
  async #find(cluster: Cluster, node: SimNode, thing: Thing | undefined, isFresh: boolean): Promise<Outcome> {
    const id = thing?.id ?? addressOf(noise(OBJECT_BYTES, this.#seed - 1))
    const answer = await cluster.send(node, 'index', 'GET', `/resolve/${id}${isFresh ? '?fresh=true' : ''}`)
    const outcome = outcomeOf('resolve', answer, [200], ['404 not_found'])
    if (outcome !== 'acknowledged') return answer.status === 404 ? 'acknowledged' : outcome
    assert.ok(thing !== undefined, `${node.name} found ${id}, which nobody stored`)
    assert.equal((answer.json() as { manifest_cid: string }).manifest_cid, id)
    this.#found += 1
    return outcome
  }

  async #pin(cluster: Cluster, node: SimNode, number: number, isPin: boolean): Promise<Outcome> {
    const cid = addressOf(Buffer.from(`pin ${number}`))
    const key = `${node.name} ${cid}`
    // One change at a time, so that the last word is known.
    if (this.#pinning.has(key)) return await this.#find(cluster, node, undefined, false)
    this.#pinning.add(key)
    this.#pins.set(key, 'either')
    const answer = await cluster.send(node, 'index', 'POST', `/admin/${isPin ? 'pin' : 'unpin'}`, { body: { cid } })
    const outcome = outcomeOf('pin', answer, [200])
    if (outcome === 'acknowledged') this.#pins.set(key, isPin)
    this.#pinning.delete(key)
    return outcome
  }

  /** Where a registry speaks nobody else gives a name its meaning. */
  async #putLocalName(cluster: Cluster, node: SimNode, name: string): Promise<Outcome> {
    const body = { manifest_cid: addressOf(Buffer.from('local')) }
    const answer = await cluster.send(node, 'index', 'PUT', `/admin/names/${name}`, { body })
    const outcome = outcomeOf('local name', answer, [], ['409 registry_configured'])
    return answer.status === 409 ? 'acknowledged' : outcome
  }

  /** Has the registry say that the name means something new. */
  async #point(cluster: Cluster, name: string, named: Named, random: Random): Promise<Outcome> {
    named.isBusy = true
    try {
      const before = await this.#registered(cluster, name)
      const manifest = addressOf(Buffer.from(`${name} ${named.tried.size}`))
      named.tried.add(manifest)
      const prev = before === undefined ? null : itemHash(before.item)
      const items: readonly Item[] = [{ kind: 'name', id: name, prev, manifest }]
      const id = `p_${toHex(random.bytes(16))}`
      const proposed = await propose(cluster, id, items, random)
      if (proposed !== 'acknowledged') return proposed
      const answer = await cluster.send(cluster.node(WRITER), 'registry', 'POST', `/registry/commit/${id}`)
      return outcomeOf('commit', answer, [201], OVERTAKEN)
    } finally {
      named.isBusy = false
    }
  }

  /** What the registry says that a name means, and since which version. */
  async #registered(cluster: Cluster, name: string): Promise<Registered | undefined> {
    const answer = await cluster.send(cluster.node(WRITER), 'registry', 'GET', `/registry/names/${name}`)
    outcomeOf('name', answer, [200, 404])
    return answer.status === 200 && !answer.isBroken ? (answer.json() as Registered) : undefined
  }

  /** The version of the registry that an index has followed it to. */
  async #heard(cluster: Cluster, node: SimNode): Promise<number> {
    const { registry } = (await cluster.send(node, 'index', 'GET', '/readyz')).json() as {
      registry: { version?: number }
    }
    return registry.version ?? -1
  }

  /** What an index says that a name means, which it has to prove; no meaning if it says that there is none. */
  async #resolveName(
    cluster: Cluster,
    node: SimNode,
    name: string,
    isFresh = false,
  ): Promise<{ readonly outcome: Outcome; readonly meaning?: string }> {
    const answer = await cluster.send(node, 'index', 'GET', `/resolve/name:${name}${isFresh ? '?fresh=true' : ''}`)
    const outcome = outcomeOf('resolve name', answer, [200], ['404 not_found'])
    if (outcome !== 'acknowledged') return { outcome: answer.status === 404 ? 'acknowledged' : outcome }
    const { manifest_cid: meaning, proof = '' } = answer.json() as { manifest_cid: Address; proof?: string }
    assert.ok(this.#names.get(name)?.tried.has(meaning), `${node.name} says that ${name} means what nobody proposed`)
    const { clock, world } = cluster
    const verdict = verifyProof(parseProof(Buffer.from(proof)), this.#trust, world.crypto, { now: clock.wall() })
    assert.ok(verdict.kind === 'verified' && verdict.finding.type === 'name', `${node.name} cannot prove ${name}`)
    assert.equal(verdict.finding.item?.manifest, meaning)
    return { outcome, meaning }
  }

  /** Found in time, at nodes of the cluster that serve it. */
  async #mustFind(cluster: Cluster, node: SimNode, { id, bytes }: Thing): Promise<void> {
    const answer = await this.#ask(cluster, node, `/providers/${id}`)
    assert.equal(answer.status, 200, `${id} was stored, and ${node.name} does not know where`)
    const { providers } = answer.json() as { providers: readonly { readonly http: readonly string[] }[] }
    for (const { http } of providers) {
      const holder = NODE_NAMES.find((name) => http[0] === urlOf(name, 'storage'))
      assert.ok(holder !== undefined, `${node.name} sends us to ${String(http)}`)
      const place = `${holder} ${id}`
      if (this.#fetched.has(place)) continue
      const { body } = await cluster.send(cluster.node(holder), 'storage', 'GET', `/o/${id}`, { token: null })
      assert.ok(body.equals(bytes), `${node.name} sends us to ${holder} for ${id}, who has other bytes`)
      this.#fetched.add(place)
    }
    this.#found += 1
  }

  /** One who comes too soon after an outage comes again; an index that still cannot tell then is not well. */
  async #ask(cluster: Cluster, node: SimNode, path: string): Promise<Answer> {
    const answer = await this.#inTime(cluster, node, path)
    if (answer.code !== 'upstream_unready') return answer
    await cluster.world.sleep(COUNTED_MS)
    return await this.#inTime(cluster, node, path)
  }

  async #inTime(cluster: Cluster, node: SimNode, path: string): Promise<Answer> {
    const startedAt = cluster.clock.now()
    const answer = await cluster.send(node, 'index', 'GET', path)
    const tookMs = cluster.clock.now() - startedAt
    assert.ok(tookMs <= BUDGET_MS, `${node.name} took ${tookMs} ms for ${path}`)
    return answer
  }

  async #holdPins(node: SimNode): Promise<void> {
    const disk = node.platforms[0]?.disk
    assert.ok(disk !== undefined)
    const bytes = await readSmallFile(disk, `${DATA}/index/book.json`)
    const { pins } = JSON.parse(Buffer.from(bytes ?? Buffer.from('{"pins":[]}')).toString()) as { pins: string[] }
    for (const [key, isPinned] of this.#pins) {
      const [name, cid = ''] = key.split(' ')
      if (name !== node.name || isPinned === 'either') continue
      assert.equal(pins.includes(cid), isPinned, `the pin of ${cid} at ${node.name}`)
    }
  }
}

function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random.next() * from.length)]
}
