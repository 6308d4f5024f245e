/**
 * One fault at one disk call, at every call in turn.
 *
 *     open ─ load ─ …the n-th sync fails… ─ load ─▶ every request was answered ─▶ ready again ─▶ what was promised is there,
 *     now and after opening anew
 */
import { CairnError, SeededRandom } from '@cairn/kernel'
import { Storage } from '@cairn/store'
import type { Fault, FaultyOperation } from '../virtual/faults.ts'
import type { VirtualMachine } from '../virtual/machine.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { Ledger } from './ledger.ts'
import { countDamaged } from './promises.ts'
import { find, LOAD_OPTIONS, put, remove, thingOf } from './storage-load.ts'

const REQUESTS = 60
/** Longer than the longest pause between two attempts to get a new segment. */
const HEAL_MS_MAX = 6_000

export interface FaultReport {
  /** Requests that were refused. */
  readonly refused: number
  /** Names that cannot be read any more, and say so. */
  readonly damaged: number
}

/** How often each operation is called, in a run without faults, up to where a fault would be behind us. */
export async function countCalls(seed: number): Promise<Map<FaultyOperation, number>> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  const counts = new Map<FaultyOperation, number>()
  const { faults } = machine
  let isCounting = true
  faults.clear = () => {
    isCounting = false
  }
  faults.strike = (operation) => {
    if (isCounting) counts.set(operation, (counts.get(operation) ?? 0) + 1)
    return undefined
  }
  await world.run(scenario(world, machine, seed))
  return counts
}

export async function runWithFault(
  seed: number,
  operation: FaultyOperation,
  nth: number,
  fault: Fault,
): Promise<FaultReport> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  machine.faults.plan({ operation, nth, fault })
  try {
    return await world.run(scenario(world, machine, seed))
  } catch (cause) {
    throw new Error(`${fault} at ${operation} ${nth}, seed ${seed}: ${String(cause)}`, { cause })
  }
}

async function scenario(world: VirtualWorld, machine: VirtualMachine, seed: number): Promise<FaultReport> {
  const book = new Book()
  const platform = machine.start()
  const storage = await openPatiently(platform)
  await book.load(storage, seed)
  machine.faults.clear()
  await becomeReady(world, storage)
  await book.load(storage, seed + 1)
  const damaged = await book.check(storage)
  await storage.close()
  const again = await Storage.open(platform, LOAD_OPTIONS)
  await again.caughtUp()
  await book.check(again)
  await again.close()
  await platform.workers.close()
  const left = world.leaks()
  if (left.length > 0) throw new Error(`Left ${left.join(', ')}.`)
  return { refused: book.refused, damaged }
}

/** The first opening may fail; the second, with the fault behind it, may not. */
async function openPatiently(platform: ReturnType<VirtualMachine['start']>): Promise<Storage> {
  try {
    return await Storage.open(platform, LOAD_OPTIONS)
  } catch (error) {
    mustBeOurs(error)
    return await Storage.open(platform, LOAD_OPTIONS)
  }
}

async function becomeReady(world: VirtualWorld, storage: Storage): Promise<void> {
  for (let waitedMs = 0; storage.facts().unready !== undefined; waitedMs += 100) {
    if (waitedMs > HEAL_MS_MAX) throw new Error('The store does not become ready again.')
    await world.sleep(100)
  }
}

/** Requests made one after the other, and what they promise. */
class Book {
  readonly #marks: string[] = []
  readonly #ledger = new Ledger((label) => void this.#marks.push(label))
  refused = 0

  async load(storage: Storage, seed: number): Promise<void> {
    const random = new SeededRandom(seed)
    for (let count = 0; count < REQUESTS; count += 1) {
      const draw = random.next()
      const kind = draw < 0.7 ? 'chunk' : draw < 0.95 ? 'object small' : 'object large'
      const thing = thingOf(`${kind} ${Math.floor(random.next() * 8)}`)
      const isPut = random.next() < 0.5
      await this.#attempt(async () => {
        if (isPut) await this.#ledger.request(thing.name, 'present', async () => await put(storage, thing))
        else await this.#ledger.request(thing.name, 'absent', async () => await remove(storage, thing))
      })
      if (count % 4 === 3) await this.#attempt(async () => await storage.compactor.compactOne())
      await this.#attempt(async () => await find(storage, thing.name))
    }
  }

  /** Throws if a promise is broken; returns how many names say that their bytes are damaged. */
  async check(storage: Storage): Promise<number> {
    return await countDamaged(storage, this.#marks)
  }

  async #attempt(make: () => Promise<unknown>): Promise<void> {
    try {
      await make()
    } catch (error) {
      mustBeOurs(error)
      this.refused += 1
    }
  }
}

/** Every failure is answered as one of ours, as a failure of the server. */
function mustBeOurs(error: unknown): void {
  if (error instanceof CairnError && error.status >= 500) return
  throw error
}
