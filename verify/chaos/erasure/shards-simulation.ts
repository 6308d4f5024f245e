/**
 * Objects in 2+2 shards on five drives while drives go and come back, bits rot and the power is cut, and a ledger of
 * what clients were told.
 *
 *     load ─▶ up to two drives go, or rot, or the power does ─▶ load ─▶ mended, scrubbed, repaired ─▶ … ─▶ all holds
 */
import assert from 'node:assert/strict'
import { SeededRandom } from '@cairn/kernel'
import { load, mustHold, type Thing, thingsOf } from '../../../services/storage/test/copies-ledger.ts'
import { TestService } from '../../../services/storage/test/harness.ts'
import { drivePath, driveSwitch, withDrives } from '../../../services/storage/test/several-drives.ts'
import { type SimulationReport, simulate } from '../../virtual/simulate.ts'

const DRIVES = ['a', 'b', 'c', 'd', 'e']
/** Some of them are smaller than a stripe. */
const THINGS = 6
const OPERATIONS = 6
const HEADER_BYTES = 128
const ROUNDS = 2
/** Long enough for a drive to be missed and found again, and for a few rounds of the planner. */
const REPAIR_MS = 5000
const CONFIG = {
  cache_bytes: 0,
  chunk_size: '16KiB',
  pools: { get: 2, put: 2, repair: 2 },
  durability: { mode: 'erasure', data_shards: 2, parity_shards: 2, sweep_interval: '1s' },
} as const

export async function simulateShards(seed: number): Promise<SimulationReport> {
  return await simulate(seed, async (world) => {
    const machine = world.machine('node')
    const random = new SeededRandom(world.nextSeed())
    const things = thingsOf(THINGS, seed)
    const drives = driveSwitch()
    const open = async (): Promise<TestService> =>
      await TestService.open(withDrives(DRIVES, drives, CONFIG), world, machine)
    let service = await open()
    for (let round = 0; round < ROUNDS; round += 1) {
      await load([service], things, random, OPERATIONS)
      const victims = [pick(random), ...(random.next() < 0.5 ? [pick(random)] : [])]
      const dice = random.next()
      if (dice < 0.4) for (const victim of victims) drives.gone.add(victim)
      else if (dice < 0.7) for (const victim of victims) await rot(service, victim, random)
      else {
        machine.crash()
        service = await open()
      }
      if (random.next() < 0.5) await world.sleep(1000)
      await load([service], things, random, OPERATIONS)
      drives.gone.clear()
      await service.send('POST', '/admin/scrub')
      await world.sleep(REPAIR_MS)
    }
    for (const thing of things) await mustHold(service, thing, 'the node')
    await mustBeWhole(service, things)
    await service.shutDown()
  })
}

function pick(random: SeededRandom): string {
  return DRIVES[Math.floor(random.next() * DRIVES.length)] ?? 'a'
}

/** Flips a bit somewhere in what was written on the drive, behind the header of its first segment. */
async function rot({ machine, platform }: TestService, name: string, random: SeededRandom): Promise<void> {
  const path = `${drivePath(name)}/journal/0000000001.seg`
  await using file = await platform.disk.open(path, { mode: 'read' })
  const room = (await file.size()) - HEADER_BYTES
  if (room > 0) machine.drive.damage(path, (HEADER_BYTES + Math.floor(random.next() * room)) * 8)
}

/** Everything that is there has all of its shards again, or its copies. */
async function mustBeWhole({ parts }: TestService, things: readonly Thing[]): Promise<void> {
  for (const { id, known } of things) {
    if (known !== 'there') continue
    const asked = (await parts.replication?.replicas.ask(id)) ?? []
    const isStriped = asked.some((each) => each.known.tag === 'object' && each.known.isStriped === true)
    const copies = asked.filter((each) => each.known.tag === 'object').length
    if (!isStriped) assert.ok(copies >= 3, `${id.slice(0, 11)} has ${copies} copies`)
    else {
      const plan = await parts.replication?.erasure?.planner.plan(id)
      assert.equal(plan?.left, 'whole', `${id.slice(0, 11)} lacks shards`)
    }
  }
}
