/** Those who mostly read: names and pins at the index, objects at the edge. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Random } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { Ledger } from '../ledger.ts'
import { type Actor, askPatiently, atOnce, isAnswered, pick, type Scene } from './actor.ts'
import type { RegistryActor } from './registry-actor.ts'

const PINS = 60

/** Resolves what was committed, and pins and unpins addresses, which is kept. */
export class IndexActor implements Actor {
  readonly #scene: Scene
  readonly #names: Pick<RegistryActor, 'committed'>
  readonly #ledger = new Ledger()
  /** One change of a pin at a time, so that what the last one left is known. */
  readonly #busy = new Set<string>()
  #resolved = 0

  constructor(scene: Scene, names: Pick<RegistryActor, 'committed'>) {
    this.#scene = scene
    this.#names = names
  }

  async run(): Promise<void> {
    await atOnce(this.#scene, 'index', 3, async (_worker, random) => {
      if (random.next() < 0.25) await this.#pin(random)
      else await this.#resolve(random)
    })
  }

  async check(): Promise<string> {
    const saved = JSON.parse(await readFile(join(this.#scene.data, 'index/book.json'), 'utf8')) as { pins: string[] }
    const pinned = new Set(saved.pins)
    for (const name of this.#ledger.names()) this.#ledger.found(name, pinned.has(name) ? 'present' : 'absent')
    for (const { name, address } of this.#names.committed.slice(-200)) {
      const answer = await askPatiently(this.#scene.client('index'), `/resolve/name:${name}`)
      if (answer.status !== 200 || !answer.body.includes(address))
        throw new Error(`The index says of ${name}: ${answer.status} ${answer.body.toString().slice(0, 300)}`)
    }
    return `index: ${this.#ledger.names().length} pins as promised, the last names resolve, ${this.#resolved} resolved rightly during the day`
  }

  async #resolve(random: Random): Promise<void> {
    const known = pick(this.#names.committed, random)
    if (known === undefined) return
    const answer = await this.#scene.client('index').ask('GET', `/resolve/name:${known.name}`)
    if (!isAnswered(this.#scene, 'index', 'resolve', answer, [200])) return
    if (!answer.body.includes(known.address)) throw new Error(`The index says something else of ${known.name}.`)
    this.#resolved += 1
  }

  async #pin(random: Random): Promise<void> {
    const cid = addressOf(Buffer.from(`pin ${Math.floor(random.next() * PINS)}`))
    if (this.#busy.has(cid)) return
    const isPin = random.next() < 0.5
    const leaves = isPin ? 'present' : 'absent'
    this.#busy.add(cid)
    try {
      this.#ledger.begin(cid, leaves)
      const answer = await this.#scene
        .client('index')
        .ask('POST', `/admin/${isPin ? 'pin' : 'unpin'}`, { json: { cid } })
      if (isAnswered(this.#scene, 'index', isPin ? 'pin' : 'unpin', answer, [200]))
        this.#ledger.acknowledge(cid, leaves)
    } finally {
      this.#busy.delete(cid)
    }
  }
}

const OBJECTS = 300
const OBJECT_BYTES_MAX = 150_000

/** Reads objects through the edge, whole and in ranges; every byte is compared. */
export class EdgeActor implements Actor {
  readonly #scene: Scene
  readonly #objects: Buffer[] = []
  #read = 0

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** What is there to be read: put before the day begins. */
  async prepare(): Promise<void> {
    for (let at = 0; at < OBJECTS; at += 1) {
      const bytes = Buffer.from(
        this.#scene.random.bytes(100 + Math.floor(this.#scene.random.next() ** 4 * OBJECT_BYTES_MAX)),
      )
      const answer = await this.#scene.client('storage').ask('POST', '/o', { body: bytes })
      if (answer.status !== 201) throw new Error(`An object cannot be put: ${answer.status} ${answer.code}`)
      this.#objects.push(bytes)
    }
  }

  async run(): Promise<void> {
    await atOnce(this.#scene, 'edge', 4, async (_worker, random) => {
      const bytes = pick(this.#objects, random)
      if (bytes !== undefined)
        await this.#get(bytes, random.next() < 0.3 ? Math.floor(random.next() * bytes.length) : 0)
    })
  }

  async check(): Promise<string> {
    for (const bytes of this.#objects) {
      const answer = await askPatiently(this.#scene.client('edge'), pathOf(bytes))
      if (answer.status !== 200 || !answer.body.equals(bytes))
        throw new Error(`The edge answers ${answer.status} ${answer.code} for ${pathOf(bytes)}.`)
    }
    return `edge: ${this.#objects.length} objects byte for byte, ${this.#read} read rightly during the day`
  }

  async #get(bytes: Buffer, from: number): Promise<void> {
    const headers = from === 0 ? {} : { range: `bytes=${from}-` }
    const answer = await this.#scene.client('edge').ask('GET', pathOf(bytes), { headers })
    if (!isAnswered(this.#scene, 'edge', 'get', answer, [200, 206])) return
    const hoped = answer.status === 206 ? bytes.subarray(from) : bytes
    if (!answer.body.equals(hoped)) throw new Error(`${pathOf(bytes)} from ${from} on has other bytes.`)
    this.#read += 1
  }
}

function pathOf(bytes: Uint8Array): string {
  return `/edge/assets/b3/${addressOf(bytes).slice('b3:'.length)}`
}
