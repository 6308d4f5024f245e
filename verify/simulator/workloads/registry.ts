/**
 * Clients that race to give a few names their meanings: they propose, approve, commit, commit again, remove, and read
 * HEAD, names, checkpoints and proofs while the registry comes and goes.
 *
 * What holds: a commit that was answered stays, in its version, for ever; one that was not happened whole or not at all;
 * nobody ever sees two roots of one size, nor answers that fit no single order.
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import {
  type Head,
  type Item,
  itemHash,
  type NameItem,
  type Pin,
  parseProof,
  parseTrust,
  type TrustFile,
  type Verdict,
  verifyProof,
} from '@cairn/names'
import { type Address, addressOf, toHex } from '@cairn/wire'
import type { VersionSummary } from '../../../services/registry/src/domain/ledger.ts'
import type { Answer } from '../answer.ts'
import type { Cluster } from '../cluster.ts'
import { checkpointIn, readLog } from '../oracles/registry-log.ts'
import { meaningText, RegistryOracle } from '../oracles/registry-oracle.ts'
import { headText, NOTHING } from '../oracles/registry-spec.ts'
import { WRITER } from '../settings.ts'
import { Tally } from '../tally.ts'
import type { Workload } from '../workload.ts'
import { eventually } from './eventually.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { OVERTAKEN, propose, SIGNERS } from './publishing.ts'

const NAMES: readonly string[] = ['maple@1', 'birch@1', 'aspen@1']
/** What a client found at a name: nothing, or an item. */
interface Found {
  readonly item: NameItem | undefined
}

export class RegistryWorkload implements Workload {
  readonly service = 'registry'
  readonly tally = new Tally()
  readonly settings = SIGNERS.settings
  readonly files = SIGNERS.files
  readonly oracle = new RegistryOracle((name) => NAMES.includes(name))
  proofsVerified = 0
  /** Proposals with their quorum, as far as their client knows. */
  readonly #ready: string[] = []
  #start: { readonly trust: TrustFile; readonly genesis: Head } | undefined
  /** The largest checkpoint that a proof brought: every later one continues it. */
  #pin: Pin | undefined
  #meanings = 0

  async prepare(cluster: Cluster): Promise<void> {
    const trust = parseTrust((await this.#get(cluster, '/registry/trust')).body)
    const { version, hash } = (await this.#get(cluster, '/registry/head')).json() as Head
    assert.equal(version, 0)
    this.#start = { trust, genesis: { version, hash } }
  }

  async operate(cluster: Cluster, random: Random): Promise<void> {
    this.tally.operations += 1
    const dice = random.next()
    const outcome = await this.#act(cluster, random, dice)
    this.tally[outcome] += 1
  }

  /** All is well: whoever publishes now, succeeds. */
  async settle(cluster: Cluster): Promise<void> {
    const random = new SeededRandom(cluster.world.seed)
    const isCommitted = async () => (await this.#change(cluster, random)) === 'acknowledged'
    await eventually(cluster, 'no commit is answered', isCommitted)
  }

  async check(cluster: Cluster): Promise<void> {
    const { trust, genesis } = this.#started()
    await this.#readHead(cluster)
    for (const name of NAMES) {
      await this.#find(cluster, name)
      assert.equal(await this.#prove(cluster, name), 'acknowledged')
    }
    const log = await readLog(async (path) => await this.#get(cluster, path), trust, cluster.world.crypto)
    this.oracle.hold(log, genesis)
    assert.ok(this.oracle.commitsTold > 0 && this.proofsVerified > 0, 'nothing was committed or proved')
  }

  async #act(cluster: Cluster, random: Random, dice: number): Promise<Outcome> {
    const name = pick(NAMES, random)
    if (dice < 0.4) return await this.#change(cluster, random)
    if (dice < 0.5) return await this.#commit(cluster, pick(this.#ready, random))
    if (dice < 0.7) return await this.#readHead(cluster)
    if (dice < 0.82) return (await this.#find(cluster, name ?? '')) === undefined ? 'unsure' : 'acknowledged'
    if (dice < 0.9) return await this.#readCheckpoint(cluster)
    return await this.#prove(cluster, name ?? '')
  }

  /** One name, or two at once; now and then a removal. */
  async #change(cluster: Cluster, random: Random): Promise<Outcome> {
    const first = Math.floor(random.next() * NAMES.length)
    const names = NAMES.filter((_, at) => at === first || (at === (first + 1) % NAMES.length && random.next() < 0.3))
    const items: Item[] = []
    for (const name of names) {
      const found = await this.#find(cluster, name)
      if (found === undefined) return 'unsure'
      items.push(this.#itemFor(name, found.item, random.next() < 0.15))
    }
    return await this.#publish(cluster, items, random)
  }

  #itemFor(name: string, before: NameItem | undefined, isRemoval: boolean): Item {
    const prev: Address | null = before === undefined ? null : itemHash(before)
    if (isRemoval && prev !== null) return { kind: 'name', id: name, prev, deleted: true }
    this.#meanings += 1
    return { kind: 'name', id: name, prev, manifest: addressOf(Buffer.from(`meaning ${this.#meanings}`)) }
  }

  /** Proposes, has two of the three sign, commits; gives up where it is not answered well. */
  async #publish(cluster: Cluster, items: readonly Item[], random: Random): Promise<Outcome> {
    const id = `p_${toHex(random.bytes(16))}`
    this.oracle.propose(id, items)
    const proposed = await propose(cluster, id, items, random)
    if (proposed !== 'acknowledged') return proposed
    this.#ready.push(id)
    // Now and then two clients find it ready, at the same moment.
    const others = random.next() < 0.4 ? [this.#commit(cluster, id)] : []
    const [outcome] = await Promise.all([this.#commit(cluster, id), ...others])
    return outcome
  }

  async #commit(cluster: Cluster, id: string | undefined): Promise<Outcome> {
    if (id === undefined) return await this.#readHead(cluster)
    const wasCommitted = this.oracle.isCommitted(id)
    const invoked = this.oracle.ask(id)
    const answer = await this.#send(cluster, 'POST', `/registry/commit/${id}`)
    const outcome = outcomeOf('commit', answer, [201], wasCommitted ? [] : OVERTAKEN)
    if (outcome === 'acknowledged') this.oracle.commit(id, answer.json() as VersionSummary, invoked)
    if (answer.code === 'ChainMismatch') this.oracle.overtake(id)
    return outcome
  }

  async #readHead(cluster: Cluster): Promise<Outcome> {
    const invoked = this.oracle.next()
    const answer = await this.#send(cluster, 'GET', '/registry/head')
    const outcome = outcomeOf('head', answer, [200])
    if (outcome === 'acknowledged') this.oracle.read({ tag: 'head' }, headText(answer.json() as Head), invoked)
    return outcome
  }

  async #find(cluster: Cluster, name: string): Promise<Found | undefined> {
    const invoked = this.oracle.next()
    const answer = await this.#send(cluster, 'GET', `/registry/names/${name}`)
    const outcome = outcomeOf('name', answer, [200], ['404 NotFound'])
    if (outcome === 'unsure' || (outcome === 'refused' && answer.status !== 404)) return undefined
    const told = outcome === 'acknowledged' ? (answer.json() as { version: number; item: NameItem }) : undefined
    const meaning = told === undefined ? NOTHING : meaningText(told.version, told.item)
    this.oracle.read({ tag: 'name', name }, meaning, invoked)
    return { item: told?.item }
  }

  async #readCheckpoint(cluster: Cluster): Promise<Outcome> {
    const answer = await this.#send(cluster, 'GET', '/log/checkpoint')
    const outcome = outcomeOf('checkpoint', answer, [200])
    if (outcome === 'acknowledged')
      this.oracle.see(checkpointIn(answer.body, this.#started().trust, cluster.world.crypto))
    return outcome
  }

  /** What a name means, with a proof that continues the largest tree anybody has seen proved. */
  async #prove(cluster: Cluster, name: string): Promise<Outcome> {
    const invoked = this.oracle.next()
    const pin = this.#pin
    const from = pin === undefined ? '' : `?from=${pin.size}`
    const answer = await this.#send(cluster, 'GET', `/registry/proof/name/${name}${from}`)
    const outcome = outcomeOf('proof', answer, [200])
    if (outcome !== 'acknowledged') return outcome
    const { trust } = this.#started()
    const proof = parseProof(answer.body)
    const options = { now: cluster.clock.wall(), ...(pin === undefined ? {} : { pin }) }
    const verdict = verifyProof(proof, trust, cluster.world.crypto, options)
    if (verdict.kind !== 'verified') throw new Error(`The proof of ${name} does not hold: ${wordsOf(verdict)}`)
    const { finding } = verdict
    assert.ok(finding.type === 'name' && finding.name === name)
    const hash = finding.item === null ? undefined : itemHash(finding.item)
    const set = proof.commits.find(({ artifact }) => artifact.payload.items.some((item) => itemHash(item) === hash))
    const meaning = finding.item === null ? NOTHING : meaningText(set?.artifact.version ?? 0, finding.item)
    this.oracle.read({ tag: 'name', name }, meaning, invoked)
    this.oracle.read({ tag: 'head' }, headText(finding.head), invoked)
    this.oracle.see(checkpointIn(proof.checkpoint, trust, cluster.world.crypto))
    if (this.#pin === undefined || verdict.pin.size > this.#pin.size) this.#pin = verdict.pin
    this.proofsVerified += 1
    return outcome
  }

  async #send(cluster: Cluster, method: string, path: string, body?: object): Promise<Answer> {
    return await cluster.send(cluster.node(WRITER), 'registry', method, path, body === undefined ? {} : { body })
  }

  /** While all is well. */
  async #get(cluster: Cluster, path: string): Promise<Answer> {
    const answer = await this.#send(cluster, 'GET', path)
    assert.equal(outcomeOf(path, answer, [200]), 'acknowledged', `${path} is not answered, and all is well`)
    return answer
  }

  #started(): { readonly trust: TrustFile; readonly genesis: Head } {
    return this.#start ?? assert.fail('the registry was not asked whom to trust')
  }
}

function wordsOf(verdict: Verdict): string {
  return verdict.kind === 'refused' ? `${verdict.code}: ${verdict.detail}` : verdict.kind
}

function pick<T>(from: readonly T[], random: Random): T | undefined {
  return from[Math.floor(random.next() * from.length)]
}
