/**
 * One fault at one disk call, at every call in turn.
 *
 *     life 1   open ─ load ─ close
 *     life 2   open ─ load ─ killed in the middle of a write            …the n-th sync fails…
 *     life 3   open, the torn end is cut ─ load ─ │ ─ ready again ─ load ─▶ what was promised is there ─ close
 *     life 4   open ─▶ and still is                └─ no fault from here on
 *
 * Every request is answered, a refused one as a failure of the server. From a failed write on the store says that it
 * takes none, until a new segment has proved itself; `SegmentWitness` knows better than to believe it.
 */
import { CairnError } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { systemCrypto } from '@cairn/platform'
import { DriveStore } from '@cairn/store'
import { decodeSegmentHeader, SEGMENT_HEADER_BYTES } from '../../packages/store/src/journal/format.ts'
import type { Fault, FaultyOperation } from '../virtual/faults.ts'
import type { VirtualMachine, VirtualPlatform } from '../virtual/machine.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { Ledger } from './ledger.ts'
import { countDamaged } from './promises.ts'
import { SegmentWitness } from './segment-witness.ts'
import { find, LOAD_OPTIONS, put, remove, thingOf } from './storage-load.ts'

const REQUESTS = 40
/** Longer than the longest pause between two attempts to get a new segment. */
const HEAL_MS_MAX = 6_000
const JOURNAL = `${LOAD_OPTIONS.path}/journal`

export interface FaultReport {
  /** Whether the call was made at all. */
  readonly struck: boolean
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
  const requests = new RequestLog()
  const first = await openPatiently(machine.start())
  await requests.load(first, seed)
  await requests.attempt(async () => await first.storage.close())
  await first.platform.workers.close()
  mustHaveLeftNothing(world)
  machine.kill()

  const second = await openPatiently(machine.start())
  await requests.load(second, seed + 1)
  machine.kill()
  leaveTornEnd(machine)

  const third = await openPatiently(machine.start())
  await requests.load(third, seed + 2)
  const { pending } = machine.faults
  machine.faults.clear()
  await becomeReady(world, third)
  await requests.load(third, seed + 3)
  const damaged = await requests.check(third.storage)
  await third.storage.close()

  const again = await DriveStore.open(third.platform, LOAD_OPTIONS)
  await again.caughtUp()
  await requests.check(again)
  await again.close()
  await third.platform.workers.close()
  mustHaveLeftNothing(world)
  return { struck: pending === 0, refused: requests.refused, damaged }
}

/** An open storage, and who watches its files. */
interface Life {
  readonly platform: VirtualPlatform
  readonly storage: DriveStore
  readonly witness: SegmentWitness
}

/** The first opening may fail; the second, with the fault behind it, may not. */
async function openPatiently(platform: VirtualPlatform): Promise<Life> {
  const open = async (): Promise<Life> => {
    const witness = new SegmentWitness()
    const storage = await DriveStore.open({ ...platform, disk: witness.watch(platform.disk) }, LOAD_OPTIONS)
    return { platform, storage, witness }
  }
  try {
    return await open()
  } catch (error) {
    mustBeOurs(error)
    return await open()
  }
}

/** What a write leaves that was under way when the process was killed. */
function leaveTornEnd({ drive }: VirtualMachine): void {
  const files = drive
    .list(JOURNAL)
    .filter(({ name }) => name.endsWith('.seg'))
    .map(({ name }) => drive.open(`${JOURNAL}/${name}`, 'append'))
  const active = files.findLast(({ bytes }) => {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES)
    bytes.read(0, header)
    return decodeSegmentHeader((data, before) => systemCrypto.crc32(data, before), header)?.role === 'log'
  })
  if (active === undefined) throw new Error('There is no segment.')
  drive.write(active, active.bytes.length, new SeededRandom(1).bytes(100))
}

async function becomeReady(world: VirtualWorld, { storage, witness }: Life): Promise<void> {
  for (let waitedMs = 0; storage.facts().unready !== undefined; waitedMs += 100) {
    if (waitedMs > HEAL_MS_MAX) throw new Error('The store does not become ready again.')
    await world.sleep(100)
  }
  if (witness.isBroken) throw new Error('The store says it is ready, and no new segment has proved itself.')
}

function mustHaveLeftNothing(world: VirtualWorld): void {
  const left = world.leaks()
  if (left.length > 0) throw new Error(`Left ${left.join(', ')}.`)
}

/** Requests made one after the other, and what they promise. */
class RequestLog {
  readonly #marks: string[] = []
  readonly #ledger = new Ledger((label) => void this.#marks.push(label))
  refused = 0

  async load({ storage, witness }: Life, seed: number): Promise<void> {
    const random = new SeededRandom(seed)
    for (let count = 0; count < REQUESTS; count += 1) {
      const draw = random.next()
      const kind = draw < 0.7 ? 'chunk' : draw < 0.95 ? 'object small' : 'object large'
      const thing = thingOf(`${kind} ${Math.floor(random.next() * 8)}`)
      const isPut = random.next() < 0.5
      await this.attempt(async () => {
        if (isPut) await this.#ledger.request(thing.name, 'present', async () => await put(storage, thing))
        else await this.#ledger.request(thing.name, 'absent', async () => await remove(storage, thing))
      })
      if (count % 4 === 3) await this.attempt(async () => await storage.compactor.compactOne())
      await this.attempt(async () => await find(storage, thing.name))
      if (witness.isBroken && storage.facts().unready === undefined)
        throw new Error(`The store takes writes after request ${count}, and its last one failed.`)
    }
  }

  /** Throws if a promise is broken; returns how many names say that their bytes are damaged. */
  async check(storage: DriveStore): Promise<number> {
    return await countDamaged(storage, this.#marks)
  }

  /** What fails must fail as one of ours. */
  async attempt(make: () => Promise<unknown>): Promise<void> {
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
