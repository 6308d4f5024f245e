/**
 * Objects as shards on the drives of one node while drives go and come back, bits rot and the power goes, and a ledger
 * of what clients were told.
 *
 *     load ─▶ up to as many drives as may be lost go wrong, or the power does, or both ─▶ load ─▶ all are back, repaired
 *       ▲                                                                                                  │
 *       └── the next round ◀───────────────────────────────────────────────────────────────────────────────┤
 *           at the end: any drives away that may be lost, and everything that was told still holds ◀───────┘
 */
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import {
  load,
  mustBeHeldAsTold,
  mustHold,
  settle,
  type Thing,
  thingsOf,
} from '../../../services/storage/test/copies-ledger.ts'
import { askedStore, TestService } from '../../../services/storage/test/harness.ts'
import {
  type DriveSwitch,
  drivePath,
  driveSwitch,
  rotSome,
  withDrives,
} from '../../../services/storage/test/several-drives.ts'
import { untilContent } from '../../virtual/content.ts'
import type { VirtualMachine } from '../../virtual/machine.ts'
import { type SimulationReport, simulate } from '../../virtual/simulate.ts'
import type { VirtualWorld } from '../../virtual/world.ts'

const DRIVES: readonly string[] = ['a', 'b', 'c', 'd', 'e']
const PARITY = 2
/** Of 300 bytes, and more by this each: the first two are below a stripe of two chunks, the others are of up to five. */
const THINGS = 5
const GROWTH_BYTES = 70_000
const OPERATIONS = 6
const ROUNDS = 2
/** With everything back, from then on every shard is where it should be. */
const REPAIR_MS_MAX = 60_000
const MISSED_MS = 2000
const CONFIG = {
  cache_bytes: 0,
  pools: { get: 2, put: 2, repair: 2 },
  durability: { mode: 'erasure', data_shards: 2, parity_shards: PARITY, sweep_interval: '1s' },
} as const

interface Scene {
  readonly world: VirtualWorld
  readonly machine: VirtualMachine
  readonly random: Random
  readonly drives: DriveSwitch
  readonly things: readonly Thing[]
}

/** Five drives, of which any two may be lost. */
export async function simulateShards(seed: number): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const random = new SeededRandom(world.nextSeed())
    const things = thingsOf(THINGS, seed, GROWTH_BYTES)
    const scene: Scene = { world, machine: world.machine('node'), random, drives: driveSwitch(), things }
    let service = await open(scene)
    for (let round = 0; round < ROUNDS; round += 1) {
      await load([service], things, random, OPERATIONS)
      goWrong(scene)
      service = await liveOn(scene, service)
      scene.drives.gone.clear()
      await untilContent(world, [askedStore('the node', service)], REPAIR_MS_MAX)
      for (const thing of things) settle(thing)
      for (const thing of things) await mustHold(service, thing, 'the node')
    }
    for (const thing of things) await mustBeHeldAsTold(service, thing)
    for (const name of some(DRIVES, PARITY, random)) scene.drives.gone.add(name)
    await world.sleep(MISSED_MS)
    for (const thing of things) await mustHold(service, thing, `a node without ${[...scene.drives.gone].join(' and ')}`)
    await service.shutDown()
  })
}

async function open({ world, machine, drives }: Scene): Promise<TestService> {
  return await TestService.open(withDrives(DRIVES, drives, CONFIG), world, machine)
}

/** Something happens to no more drives than may be lost; often in the middle of what comes next the power goes as well. */
function goWrong({ machine, random, drives }: Scene): void {
  const victims = some(DRIVES, 1 + Math.floor(random.next() * PARITY), random)
  const dice = random.next()
  for (const name of victims) {
    if (dice < 0.4) drives.gone.add(name)
    else if (dice < 0.8) rotSome(machine, `${drivePath(name)}/journal`, random)
  }
  if (dice > 0.8 || random.next() < 0.5) machine.crashAfter(10 + Math.floor(random.next() * 500))
}

/** Load until it is done, or until the power is gone: then there is another life, and the rest of the load. */
async function liveOn(scene: Scene, service: TestService): Promise<TestService> {
  const { world, machine, random, things } = scene
  if (random.next() < 0.5) await world.sleep(MISSED_MS)
  let now = service
  for (let part = 0; part < 2; part += 1) {
    if (!machine.isUp) now = await open(scene)
    await load([now], things, random, OPERATIONS)
  }
  // If the power has not gone by now it goes here: nothing is to be in the middle of anything when all is well.
  machine.crash()
  return await open(scene)
}

function some(names: readonly string[], count: number, random: Random): string[] {
  const left = [...names]
  return Array.from({ length: count }, () => left.splice(Math.floor(random.next() * left.length), 1)[0] ?? '')
}
