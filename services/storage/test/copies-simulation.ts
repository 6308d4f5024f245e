/**
 * Objects on several targets while drives go and come back, bits rot, nodes lose power and the network falls apart, and
 * a ledger of what clients were told.
 *
 *     load ─▶ one thing goes wrong ─▶ load ─▶ it is mended, and repaired ─▶ the next ─▶ … ─▶ everything told holds
 *
 * One thing at a time: two copies survive the loss of one. What was told before and while it is away must hold after.
 */
import assert from 'node:assert/strict'
import { SeededRandom } from '@cairn/kernel/testing'
import { untilContent } from '../../../verify/virtual/content.ts'
import { type SimulationReport, simulate } from '../../../verify/virtual/simulate.ts'
import { load, mustBeHeldAsTold, mustHold, settle, type Thing, thingsOf } from './copies-ledger.ts'
import { askedStore, TestService } from './harness.ts'
import { Nodes } from './nodes.ts'
import { drivePath, driveSwitch, rotSome, withDrives } from './several-drives.ts'

const DRIVES = ['a', 'b', 'c']
const THINGS = 4
const OPERATIONS = 6
/** Long enough for a drive to be missed, and for a few rounds of the planner. */
const REPAIR_MS = 4000
/** With everything back, from then on every object has its copies. */
const REPAIR_MS_MAX = 60_000
const CONFIG = { cache_bytes: 0, pools: { get: 2, put: 2, repair: 2 }, durability: { sweep_interval: '1s' } } as const

/** Three drives of one node. */
export async function simulateDrives(seed: number, rounds = 1): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const things = thingsOf(THINGS, seed)
    const drives = driveSwitch()
    const open = async (): Promise<TestService> =>
      await TestService.open(withDrives(DRIVES, drives, CONFIG), world, machine)
    let service = await open()
    for (let round = 0; round < rounds; round += 1) {
      await load([service], things, random, OPERATIONS)
      const victim = DRIVES[Math.floor(random.next() * DRIVES.length)] ?? 'a'
      const dice = random.next()
      if (dice < 0.4) drives.gone.add(victim)
      else if (dice < 0.7) rotSome(machine, `${drivePath(victim)}/journal`, random)
      const isCut = dice > 0.7 || random.next() < 0.3
      if (isCut) machine.crashAfter(callsOf(random))
      if (dice < 0.4 && random.next() < 0.5) await world.sleep(1000)
      await load([service], things, random, OPERATIONS)
      if (isCut) {
        machine.crash()
        service = await open()
      }
      // Some do not come back before what was on them has its copies again elsewhere.
      if (drives.gone.size > 0 && random.next() < 0.5) {
        await world.sleep(REPAIR_MS)
        await mustBeWhole(service, things)
      }
      drives.gone.clear()
      await untilContent(world, [askedStore('the node', service)], REPAIR_MS_MAX)
      for (const thing of things) settle(thing)
    }
    for (const thing of things) await mustHold(service, thing, 'the node')
    await mustBeWhole(service, things)
    for (const thing of things) await mustBeHeldAsTold(service, thing)
    await service.shutDown()
  })
}

/** Three nodes of one drive each. */
export async function simulateNodes(seed: number, rounds = 1): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const names = ['a', 'b', 'c']
    const random = new SeededRandom(world.nextSeed())
    const things = thingsOf(THINGS, seed)
    const nodes = new Nodes(names, CONFIG, world)
    await nodes.open()
    await world.sleep(1500)
    for (let round = 0; round < rounds; round += 1) {
      await load([...nodes.services.values()], things, random, OPERATIONS)
      const victim = names[Math.floor(random.next() * names.length)] ?? 'a'
      const others = names.filter((name) => name !== victim)
      const dice = random.next()
      if (dice < 0.4) world.network.links.partition([victim], others)
      else if (dice < 0.5) world.network.links.partition([victim], others.slice(1))
      else if (dice < 0.8) world.machine(victim).crashAfter(callsOf(random))
      else rotSome(world.machine(victim), 'data/storage/journal', random)
      if (random.next() < 0.5) await world.sleep(1500)
      await load([...nodes.services.values()], things, random, OPERATIONS)
      world.network.links.heal()
      if (dice >= 0.5 && dice < 0.8) world.machine(victim).crash()
      await nodes.open()
      const stores = [...nodes.services].map(([name, service]) => askedStore(name, service))
      await untilContent(world, stores, REPAIR_MS_MAX)
      for (const thing of things) settle(thing)
    }
    for (const thing of things) {
      const told = new Set<number>()
      for (const [name, service] of nodes.services) told.add(await mustHold(service, thing, name))
      assert.equal(told.size, 1, `${thing.id.slice(0, 11)} is there or not, depending on whom one asks`)
    }
    await mustBeWhole(nodes.at('a'), things)
    for (const thing of things) await mustBeHeldAsTold(nodes.at('c'), thing)
    for (const service of nodes.services.values()) await service.shutDown()
  })
}

/** After how many calls the power goes: in the middle of what is under way then. */
function callsOf(random: SeededRandom): number {
  return 1 + Math.floor(random.next() * 200)
}

/** Everything that is there has its two copies again, wherever it was first. */
async function mustBeWhole({ parts }: TestService, things: readonly Thing[]): Promise<void> {
  const { replication } = parts
  for (const { id, known } of things) {
    if (known !== 'there') continue
    const asked = await replication.replicas.ask(id)
    const copies = asked.filter((each) => each.known.tag === 'object').length
    assert.ok(copies >= 2, `${id.slice(0, 11)} has ${copies} copies`)
  }
}
