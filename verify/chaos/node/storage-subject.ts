/** Storage under a mixed load: puts of every way, deletes, holds, reads, over files small enough to be compacted often. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Random, SystemClock, sleep } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { Ledger } from '../ledger.ts'
import type { Subject } from './campaign.ts'
import { CompactionWatch } from './compaction-watch.ts'
import type { HttpClient } from './http-client.ts'
import type { NodeLife } from './node-life.ts'
import { type PutWay, StorageRequests } from './storage-requests.ts'
import { makeThing, THING_KINDS, type Thing } from './storage-things.ts'
import { UnderWay } from './under-way.ts'

const CLIENTS = 6
/** Things looked at at once. */
const CHECKERS = 8
const PUT_WAYS: readonly PutWay[] = ['put', 'stream', 'upload']
const PAGE = 1000
const REBUILD_MS_MAX = 30_000
const RETRY_MS = 100

const SETTINGS = {
  CAIRN__STORAGE__SEGMENT_BYTES: '2MiB',
  CAIRN__STORAGE__UPLOAD_LEASE: '300ms',
  CAIRN__STORAGE__DURABILITY__SWEEP_INTERVAL: '150ms',
  // A slow machine is not what is looked for.
  CAIRN__STORAGE__DRIVE_TIMEOUT: '60s',
  CAIRN__STORAGE__INGRESS__REQUEST_TIMEOUT: '60s',
}

/** A place of a client, with one object after the other. */
interface Slot {
  readonly make: (generation: number) => Thing
  generation: number
  thing: Thing
}

export class StorageSubject implements Subject {
  readonly environment: Readonly<Record<string, string>>
  readonly ledger = new Ledger()
  readonly #things = new Map<string, Thing>()
  readonly #clients: readonly (readonly Slot[])[]
  readonly #refusals = new Map<string, number>()
  readonly #unsure = { there: 0, 'not there': 0 }

  /** `environment` is added to that of every life. */
  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.environment = { ...SETTINGS, ...environment }
    this.#clients = Array.from({ length: CLIENTS }, (_, client) => {
      return THING_KINDS.flatMap((kind) => [0, 1, 2].map((at) => this.#slot(kind, `${client}.${at}`)))
    })
  }

  /** What the lives came to. */
  summary(): string {
    const { there, 'not there': notThere } = this.#unsure
    const refused = [...this.#refusals].map(([what, count]) => `${count} × ${what}`).join(', ') || 'nothing'
    return [
      `${this.ledger.promises} promises about ${this.#things.size} objects; refused: ${refused}`,
      `objects with a change under way at a kill: ${there} there afterwards, ${notThere} not`,
    ].join('; ')
  }

  async load(life: NodeLife, underWay: UnderWay, random: Random): Promise<void> {
    const http = life.client('storage')
    const requests = new StorageRequests(this.ledger, http, underWay)
    try {
      const ends = await Promise.allSettled(
        this.#clients.map(async (slots) => {
          const dice = new SeededRandom(Math.floor(random.next() * 2 ** 32))
          for (;;) await this.#operate(requests, slots, dice)
        }),
      )
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    } finally {
      for (const each of requests.refusals) this.#refusals.set(each, (this.#refusals.get(each) ?? 0) + 1)
      http.close()
    }
  }

  async check(life: NodeLife): Promise<void> {
    const http = life.client('storage')
    const requests = new StorageRequests(this.ledger, http, new UnderWay())
    try {
      await untilWhole(http)
      const listed = await listAll(http)
      for (const id of listed) if (!this.#things.has(id)) throw new Error(`${id} is there and nobody asked for it.`)
      const things = this.#things.values()
      const checker = async (): Promise<void> => {
        for (const thing of things) await this.#checkThing(requests, thing, listed.has(thing.id))
      }
      await Promise.all(Array.from({ length: CHECKERS }, checker))
    } finally {
      http.close()
    }
  }

  watchMaintenance(life: NodeLife): CompactionWatch {
    return new CompactionWatch(life, join(life.data, 'storage/journal'))
  }

  /** The index is a view of the journal, and side files only save it some reading. */
  async damage(data: string): Promise<void> {
    const journal = join(data, 'storage/journal')
    const sides = (await readdir(journal)).filter((name) => name.endsWith('.idx'))
    for (const name of sides) await rm(join(journal, name))
  }

  async #operate(requests: StorageRequests, slots: readonly Slot[], random: Random): Promise<void> {
    const slot = pick(slots, random)
    const draw = random.next()
    if (draw < 0.5) await requests.put(this.#next(slot, random), pick(PUT_WAYS, random))
    else if (draw < 0.75) await requests.remove(slot.thing)
    else if (draw < 0.82) await requests.hold(slot.thing)
    else if (draw < 0.92) await requests.release(slot.thing)
    else await requests.read(slot.thing)
  }

  /** What is to be put here: mostly something new once the last is gone, now and then the same again. */
  #next(slot: Slot, random: Random): Thing {
    if (this.ledger.allowed(slot.thing.name).has('present') || random.next() < 0.2) return slot.thing
    slot.generation += 1
    slot.thing = slot.make(slot.generation)
    this.#things.set(slot.thing.id, slot.thing)
    return slot.thing
  }

  #slot(kind: (typeof THING_KINDS)[number], place: string): Slot {
    const make = (generation: number): Thing => makeThing(kind, `${place} of ${generation}`)
    const thing = make(0)
    this.#things.set(thing.id, thing)
    return { make, generation: 0, thing }
  }

  async #checkThing(requests: StorageRequests, thing: Thing, isListed: boolean): Promise<void> {
    const isUnsure = this.ledger.allowed(thing.name).size > 1
    this.ledger.found(thing.name, isListed ? 'present' : 'absent')
    if (isUnsure) this.#unsure[isListed ? 'there' : 'not there'] += 1
    // That it is gone was said by the list; there are too many of those to ask for each.
    if (!isListed && !isUnsure) return
    if (!(await requests.read(thing))) throw new Error(`${thing.name} cannot be read: ${requests.refusals.at(-1)}.`)
    await requests.checkHold(thing)
  }
}

/** Resolves once the index has everything; no damage, and the drive takes writes. */
async function untilWhole(http: HttpClient): Promise<void> {
  const clock = new SystemClock()
  for (const since = clock.now(); clock.now() - since < REBUILD_MS_MAX; await sleep(clock, 20)) {
    const report = await askPatiently(http, '/admin/durability')
    const { writable } = report['drive'] as { writable: boolean }
    const damaged = report['damaged_segments'] as number[]
    if (damaged.length > 0) throw new Error(`A kill is taken for damage, in ${damaged.join(', ')}.`)
    if (report['catching_up'] === false && writable) return
  }
  throw new Error('The index is not rebuilt.')
}

/** Asks again, as a client does, while it is told to come back in a moment. */
async function askPatiently(http: HttpClient, path: string): Promise<Record<string, unknown>> {
  const clock = new SystemClock()
  for (const since = clock.now(); ; await sleep(clock, RETRY_MS)) {
    const answer = await http.ask('GET', path)
    const { status, code } = answer
    if (status === 200) return answer.json()
    const isPassing = status === 503 || status === 429
    if (!isPassing || clock.now() - since > REBUILD_MS_MAX) throw new Error(`GET ${path}: ${status} ${code}.`)
  }
}

async function listAll(http: HttpClient): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`
    const page = await askPatiently(http, `/admin/objects?limit=${PAGE}${from}`)
    for (const { address } of page['objects'] as { address: string }[]) ids.add(address)
    cursor = page['cursor'] as string | null
  }
  return ids
}

function pick<T>(from: readonly T[], random: Random): T {
  const picked = from[Math.floor(random.next() * from.length)]
  if (picked === undefined) throw new Error('There is nothing to pick from.')
  return picked
}
