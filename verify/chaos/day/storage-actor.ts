/** Puts, reads, holds and removes objects; every answer is held to the ledger. */
import type { Random } from '@cairn/kernel'
import { Ledger } from '../ledger.ts'
import { type PutWay, StorageRequests } from '../node/storage-requests.ts'
import { makeThing, THING_KINDS, type Thing } from '../node/storage-things.ts'
import { UnderWay } from '../node/under-way.ts'
import { type Actor, atOnce, pick, type Scene } from './actor.ts'

const WORKERS = 5
const SLOTS = 12
const WAYS: readonly PutWay[] = ['put', 'stream', 'upload']

interface Slot {
  readonly place: string
  readonly kind: (typeof THING_KINDS)[number]
  generation: number
  isPut: boolean
}

export class StorageActor implements Actor {
  readonly #scene: Scene
  readonly #ledger = new Ledger()
  readonly #slots: readonly (readonly Slot[])[]

  constructor(scene: Scene) {
    this.#scene = scene
    this.#slots = Array.from({ length: WORKERS }, (_, worker) =>
      Array.from({ length: SLOTS }, (_slot, at) => {
        // Mostly small ones: there are to be many.
        const kind = THING_KINDS[Math.max(0, at - SLOTS + THING_KINDS.length)] ?? 'small'
        return { place: `${worker}.${at}`, kind, generation: 0, isPut: false }
      }),
    )
  }

  async run(): Promise<void> {
    const { tally, client } = this.#scene
    const requests = new StorageRequests(this.#ledger, client('storage'), new UnderWay(), { mayBeFull: true })
    let [promised, refused] = [0, 0]
    await atOnce(this.#scene, 'storage', WORKERS, async (worker, random) => {
      await this.#operate(requests, this.#slots[worker] ?? [], random)
      tally.acknowledge('storage', this.#ledger.promises - promised)
      promised = this.#ledger.promises
      for (const refusal of requests.refusals.slice(refused)) tally.refuse('storage', refusal)
      refused = requests.refusals.length
    })
  }

  async check(): Promise<string> {
    const requests = new StorageRequests(this.#ledger, this.#scene.client('storage'), new UnderWay())
    let looked = 0
    for (const { place, kind, generation } of this.#slots.flat()) {
      // Every generation but the last was removed, and may not be back.
      for (let at = 0; at <= generation; at += 1) {
        const thing = makeThing(kind, `${place} of ${at}`)
        if (!(await requests.read(thing))) throw new Error(`${thing.name}: ${requests.refusals.at(-1)}`)
        await requests.checkHold(thing)
        looked += 1
      }
    }
    return `storage: ${looked} objects are there or not there as promised, byte for byte`
  }

  async #operate(requests: StorageRequests, slots: readonly Slot[], random: Random): Promise<void> {
    const slot = pick(slots, random)
    if (slot === undefined) return
    const thing = thingOf(slot)
    const draw = random.next()
    const isThere = this.#ledger.allowed(thing.name).has('present')
    if (draw < 0.35) await requests.put(isThere ? thing : this.#next(slot), pick(WAYS, random) ?? 'put')
    else if (draw < 0.45) await requests.remove(thing)
    else if (draw < 0.5) await requests.hold(thing)
    else if (draw < 0.56) await requests.release(thing)
    else if (await requests.read(thing)) this.#scene.tally.acknowledge('storage')
  }

  /** Once a thing is certainly gone, its place gets another. */
  #next(slot: Slot): Thing {
    if (slot.isPut && this.#ledger.allowed(thingOf(slot).name).size === 1) slot.generation += 1
    slot.isPut = true
    return thingOf(slot)
  }
}

function thingOf({ kind, place, generation }: Slot): Thing {
  return makeThing(kind, `${place} of ${generation}`)
}
