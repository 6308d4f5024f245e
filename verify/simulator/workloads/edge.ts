/**
 * Readers of the edge: objects that never change, and pages of an upstream that do.
 *
 *     reader ──▶ edge of any node ──┬─▶ its storage ──▶ that of the others          /b3/…    an object
 *                                   └─▶ up.example, as it is now or as it was       /u/up/…  a page, in versions
 *
 * A page says which it is: its tag names key and version, and its bytes follow from them. No answer mixes two, none is
 * of another, and none is of a version that there has not been; nor, from the edge that passed a change on and was told
 * that it was made, of one before it, unless its drive has refused to forget.
 */
import assert from 'node:assert/strict'
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Address, addressOf } from '@cairn/wire'
import type { VirtualListener } from '../../virtual/network/message.ts'
import { noise } from '../../virtual/noise.ts'
import type { Answer } from '../answer.ts'
import type { Cluster } from '../cluster.ts'
import type { FaultKind } from '../faults/fault.ts'
import type { SimNode } from '../sim-node.ts'
import { Tally } from '../tally.ts'
import type { Settings, Workload } from '../workload.ts'
import { eventually } from './eventually.ts'
import { outcomeOf } from './outcome.ts'

const UPSTREAM = 'up.example'
const OBJECTS = 4
const PAGES = 4
const RANGE = { from: 100, to: 399 }
/** How often the upstream answers 503 and leaves in the middle of a page. */
const FAILS = 0.05
const BREAKS = 0.05
/** About as long as a page takes. */
const READING_MS = 5
const DRIVE_REFUSES: readonly FaultKind[] = ['io-error', 'no-space', 'full-drive', 'short-write', 'torn-write']
/** As long as an edge asks an upstream at most. */
const FILL_MS = 1000

export class EdgeWorkload implements Workload {
  readonly service = 'edge'
  readonly tally = new Tally()
  readonly settings: Settings = {
    edge: {
      mode: 'live',
      cas_max_bytes: '1MiB',
      // Less than a client waits: who joins a fill that lost a packet is told in time.
      fill_timeout: '1s',
      allow: [UPSTREAM],
      routes: { up: { upstream: `https://${UPSTREAM}/`, pass_methods: ['PUT'] } },
    },
  }
  readonly #seed: number
  readonly #objects: readonly { readonly id: Address; readonly bytes: Buffer }[]
  readonly #versions = Array.from({ length: PAGES }, () => 0)
  /** The version that a change through an edge made, by node and page. */
  readonly #changed = new Map<string, number>()
  /** When the upstream last answered 503, by page. */
  readonly #failedAt = Array.from({ length: PAGES }, () => Number.NEGATIVE_INFINITY)

  constructor(seed: number) {
    this.#seed = seed
    this.#objects = Array.from({ length: OBJECTS }, (_, at) => {
      const bytes = noise(at === 0 ? 70_000 : 500 * (at + 1), seed + at)
      return { id: addressOf(bytes), bytes }
    })
  }

  async prepare(cluster: Cluster): Promise<void> {
    cluster.world
      .machine(UPSTREAM)
      .start()
      .listen(443, this.#upstream(cluster, new SeededRandom(this.#seed)))
    for (const [at, { id, bytes }] of this.#objects.entries()) {
      const node = cluster.nodes[at % cluster.nodes.length]
      assert.ok(node !== undefined)
      const { status } = await cluster.send(node, 'storage', 'PUT', `/o/${id}`, { body: bytes })
      assert.equal(status, 201)
    }
  }

  async operate(cluster: Cluster, random: Random): Promise<void> {
    const node = cluster.someNode('edge', random)
    const isRange = random.next() < 0.3
    this.tally.operations += 1
    const dice = random.next()
    const key = Math.floor(random.next() * PAGES)
    if (dice < 0.45) await this.#readObject(cluster, node, random, isRange)
    else if (dice < 0.9) await this.#readPage(cluster, node, key, isRange)
    else await this.#changePage(cluster, node, key, random)
  }

  async check(cluster: Cluster): Promise<void> {
    for (const node of cluster.nodes) {
      for (const { id, bytes } of this.#objects) {
        // A breaker that opened while its storage was away says so for a while.
        const isThere = async (): Promise<boolean> => {
          const { status, body } = await cluster.send(node, 'edge', 'GET', `/edge/assets/b3/${id}`, { token: null })
          assert.ok(status !== 200 || body.equals(bytes), `these are not the bytes of ${id}`)
          return status === 200
        }
        await eventually(cluster, `${id.slice(0, 11)} is not at the edge of ${node.name}`, isThere)
      }
      for (const key of this.#versions.keys()) await this.#readPage(cluster, node, key, false)
    }
    cluster.world.machine(UPSTREAM).kill()
  }

  /** While somebody reads it there: what the edge hears of the old version may come in after the change. */
  async #changePage(cluster: Cluster, node: SimNode, key: number, random: Random): Promise<void> {
    const reading = this.#readPage(cluster, node, key, false)
    await cluster.world.sleep(random.next() * READING_MS)
    await Promise.all([reading, this.#change(cluster, node, key)])
    await this.#readPage(cluster, node, key, false)
  }

  async #change(cluster: Cluster, node: SimNode, key: number): Promise<void> {
    const next = (this.#versions[key] ?? 0) + 1
    const answer = await cluster.send(node, 'edge', 'PUT', pathOf(key))
    if (!this.#note(`change page ${key}`, answer, [204])) return
    const place = `${node.name} ${key}`
    this.#changed.set(place, Math.max(this.#changed.get(place) ?? 0, next))
  }

  async #readObject(cluster: Cluster, node: SimNode, random: Random, isRange: boolean): Promise<void> {
    const { id, bytes } = this.#objects[Math.floor(random.next() * OBJECTS)] ?? {
      id: undefined,
      bytes: Buffer.alloc(0),
    }
    const answer = await ask(cluster, node, `/edge/assets/b3/${id}`, isRange)
    if (!this.#note(`read ${id}`, answer, [200, 206])) return
    assert.ok(answer.body.equals(answer.status === 206 ? part(bytes) : bytes), `these are not the bytes of ${id}`)
  }

  async #readPage(cluster: Cluster, node: SimNode, key: number, isRange: boolean): Promise<void> {
    const startedAt = cluster.clock.now()
    const atLeast = this.#changed.get(`${node.name} ${key}`) ?? 0
    const answer = await ask(cluster, node, pathOf(key), isRange)
    // The upstream's own word, without a problem of ours; only where it said so since what this may have joined began.
    const hasFailed = (this.#failedAt[key] ?? 0) >= startedAt - FILL_MS
    const isHandedOn = hasFailed && answer.headers['cache-status']?.includes('fwd-status=503') === true
    if (!this.#note(`read page ${key}`, answer, [200, 206], isHandedOn ? ['503 '] : [])) return
    const tag = answer.headers['etag'] ?? ''
    const [, told, version] = /^"(\d+)-(\d+)"$/.exec(tag) ?? []
    assert.equal(Number(told), key, `page ${key} was asked for, and ${tag} came`)
    assert.ok(Number(version) <= (this.#versions[key] ?? 0), `there has been no ${tag}`)
    const mayBeBack = cluster.hasMet(node, DRIVE_REFUSES)
    assert.ok(Number(version) >= atLeast || mayBeBack, `${node.name} answered ${tag}, after it was ${atLeast}`)
    const whole = this.#page(key, Number(version))
    assert.ok(
      answer.body.equals(answer.status === 206 ? part(whole) : whole),
      `these are not the bytes of ${tag}: ${answer.body.length} ${whole.length} ${JSON.stringify(answer.headers)}`,
    )
  }

  #note(what: string, answer: Answer, hoped: readonly number[], also: readonly string[] = []): boolean {
    const outcome = outcomeOf(what, answer, hoped, also)
    this.tally[outcome] += 1
    return outcome === 'acknowledged'
  }

  #page(key: number, version: number): Buffer {
    return noise(key === 0 ? 70_000 : 400 + 300 * key, this.#seed + 1000 * (key + 1) + version)
  }

  #upstream({ clock }: Cluster, random: Random): VirtualListener {
    return async ({ method, target, headers }) => {
      const key = Number(target.slice(1))
      if (method === 'PUT') {
        this.#versions[key] = (this.#versions[key] ?? 0) + 1
        return await Promise.resolve({ status: 204, headers: [] })
      }
      if (random.next() < FAILS) {
        this.#failedAt[key] = clock.now()
        return { status: 503, headers: [] }
      }
      const version = this.#versions[key] ?? 0
      const etag = `"${key}-${version}"`
      const fields = [
        'etag',
        etag,
        'cache-control',
        `max-age=${Math.floor(random.next() * 3)}, stale-while-revalidate=1`,
      ]
      if (headers.includes(etag)) return { status: 304, headers: fields }
      const page = this.#page(key, version)
      const body = random.next() < BREAKS ? broken(page.subarray(0, 300)) : page
      return { status: 200, headers: [...fields, 'content-length', String(page.length)], body }
    }
  }
}

async function ask(cluster: Cluster, node: SimNode, path: string, isRange: boolean): Promise<Answer> {
  const headers: Record<string, string> = isRange ? { range: `bytes=${RANGE.from}-${RANGE.to}` } : {}
  return await cluster.send(node, 'edge', 'GET', path, { token: null, headers })
}

function pathOf(key: number): string {
  return `/edge/assets/u/up/${key}`
}

function part(bytes: Buffer): Buffer {
  return bytes.subarray(RANGE.from, RANGE.to + 1)
}

async function* broken(start: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(start)
  throw new Error('the upstream left in the middle')
}
