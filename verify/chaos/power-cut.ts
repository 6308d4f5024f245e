/**
 * The power-cut campaign.
 *
 *     life 1: load ─ killed ─▶ life 2: load ─ killed ─▶ life 3: load, closed
 *                          one record of every write, sync and promise
 *     for prefixes of the record, with unsynced changes kept, lost or torn:
 *         reopen ─▶ everything promised is there, nothing removed is back, nothing is there that nobody asked for
 *     for every fifth of them: a bit of the last groups flips as well, and there is no index
 *         reopen ─▶ what was noted as durable is named as damaged, what was not is in a cut that is reported
 *
 * A kill leaves what was written in the memory of the machine, where the next life sees it although it is not durable.
 */
import { SeededRandom } from '@cairn/kernel/testing'
import type { DriveStore as StorageType } from '@cairn/store'
import type { CrashImage } from '../virtual/disk/crash-images.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { drawKillPlan, type KillPlan, watchNames } from './kill-plan.ts'
import { Ledger } from './ledger.ts'
import { checkNoPhantom, checkPromises } from './promises.ts'
import { checkRotSaid, rotLastGroups } from './rot.ts'
import { drain, find, LOAD_OPTIONS, runLoad, type StorageClass, thingOf } from './storage-load.ts'

export interface Campaign {
  readonly seed: number
  /** About how many states are reopened. */
  readonly cuts: number
  readonly storage: StorageClass
  /** Only states of which what was kept and lost fits; their side files are left as the cut left them. */
  readonly fates?: RegExp | undefined
}

export interface CampaignReport {
  readonly cuts: number
  readonly possible: number
  readonly promises: number
}

const SUBSETS_MAX = 16
const LIVES = 3
/** The share of the states in which a bit of the last groups flips. */
const ROTTEN = 0.2
const LIFE_MS_MAX = 2_000

interface History {
  images(): Generator<CrashImage>
}

/** Throws, naming the cut, if any state breaks a promise. */
export async function runCampaign({ seed, cuts, storage, fates }: Campaign): Promise<CampaignReport> {
  const history = await live(seed, storage)
  let possible = 0
  let promises = 0
  const fits = (image: CrashImage): boolean => fates === undefined || fates.test(image.fates)
  for (const image of history.images()) {
    if (fits(image)) possible += 1
    promises = image.marks.filter((mark) => mark.startsWith('ack ')).length
  }
  const random = new SeededRandom(seed)
  let done = 0
  for (const image of history.images()) {
    if (!fits(image) || random.next() >= cuts / possible) continue
    done += 1
    await checkImage(seed, storage, image, { random, areSidesKept: fates !== undefined })
  }
  return { cuts: done, possible, promises }
}

/** Runs the lives and returns what they left. */
async function live(seed: number, storageClass: StorageClass): Promise<History> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  const ledger = new Ledger((label) => machine.drive.mark(label))
  const random = new SeededRandom(seed)
  for (let life = 1; life <= LIVES; life += 1) {
    const platform = machine.start()
    const plan: KillPlan = life < LIVES ? drawKillPlan(random) : { tag: 'after', ms: Number.POSITIVE_INFINITY }
    const disk = watchNames(platform.disk, plan, () => machine.kill())
    const open = storageClass.open({ ...platform, disk }, LOAD_OPTIONS)
    if (life < LIVES) {
      const load = open.then(
        async (storage) => await runLoad({ storage, ledger, random, clients: 4, requestsEach: 40 }),
      )
      // Killed at some moment of the load: the promises of this life never settle, and whoever holds them is gone.
      const failures: unknown[] = []
      load.catch((error: unknown) => failures.push(error))
      await world.run(world.sleep(plan.tag === 'after' ? plan.ms : LIFE_MS_MAX))
      machine.kill()
      if (failures.length > 0)
        throw new Error(`Seed ${seed}, life ${life}: ${String(failures[0])}`, { cause: failures[0] })
    } else {
      await world.run(finish(open, ledger, random, async (ms) => await world.sleep(ms)))
    }
  }
  return {
    images: () => machine.drive.images({ random: new SeededRandom(seed), subsetsMax: SUBSETS_MAX, from: 0 }),
  }
}

async function finish(
  open: Promise<StorageType>,
  ledger: Ledger,
  random: SeededRandom,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  const storage = await open
  await runLoad({ storage, ledger, random, clients: 4, requestsEach: 10 })
  await drain(storage, ledger, pause)
  await storage.close()
}

async function checkImage(
  seed: number,
  storageClass: StorageClass,
  image: CrashImage,
  { random, areSidesKept }: { readonly random: SeededRandom; readonly areSidesKept: boolean },
): Promise<void> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node', { table: image.table() })
  const rot = !areSidesKept && random.next() < ROTTEN ? rotLastGroups(machine, random) : undefined
  // Side files are as the cut left them, damaged, or lost.
  const draw = random.next()
  const sides = rot !== undefined ? 'lost' : areSidesKept || draw < 1 / 3 ? 'kept' : draw < 2 / 3 ? 'damaged' : 'lost'
  if (sides === 'damaged') machine.damageSideFiles(random)
  if (sides === 'lost') machine.loseSideFiles()
  const platform = machine.start()
  const where = `seed ${seed}, after event ${image.prefix} (${image.fates}), side files ${sides}${rot === undefined ? '' : `, LSN ${rot.lsn} rotten`}`
  try {
    await world.run(
      storageClass.open(platform, LOAD_OPTIONS).then(async (storage) => {
        if (rot === undefined) await checkPromises(storage, image.marks)
        else {
          await storage.caughtUp()
          checkRotSaid(storage, rot)
          await checkNoPhantom(storage, image.marks)
        }
        await checkUse(storage)
        await storage.close()
      }),
    )
    await world.run(platform.workers.close())
  } catch (cause) {
    throw new Error(`Power cut, ${where}: ${String(cause)}`, { cause })
  }
  const left = world.leaks()
  if (left.length > 0) throw new Error(`Power cut, ${where}: left ${left.join(', ')}.`)
}

/** It takes requests again, and what it takes is there. */
async function checkUse(storage: StorageType): Promise<void> {
  const { id, bytes } = thingOf('chunk afterwards')
  await storage.chunks.put(id, bytes, { upload: 'afterwards' })
  if ((await find(storage, 'chunk afterwards')) !== 'present') throw new Error('What is put afterwards is not there.')
}
