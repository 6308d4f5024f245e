/**
 * Two ways to cut the power everywhere and look at what is left.
 *
 *     checkEveryImage   runs the work once and rebuilds, from the record of its drive, every state a crash could
 *                       have left: thorough, for code that only uses the disk
 *     checkEveryCall    runs the work again and again, each time with the crash one platform call later: for code
 *                       that uses more than the disk
 *
 * `work` calls `promise(label)` whenever it has told somebody that something is done; `check` gets what was promised
 * before the crash, and a platform on what the crash left.
 */
import { SeededRandom } from '@cairn/kernel/testing'
import type { VirtualMachine, VirtualPlatform } from './machine.ts'
import { VirtualWorld } from './world.ts'

/** All subsets of up to eight pending changes; a sample of as many beyond. */
const SUBSETS_MAX = 256

export interface CrashCheck {
  readonly seed: number
  work(platform: VirtualPlatform, promise: (label: string) => void): Promise<void>
  check(platform: VirtualPlatform, promised: readonly string[]): Promise<void>
}

/** Returns how many states were checked. */
export async function checkEveryImage(check: CrashCheck): Promise<number> {
  const world = new VirtualWorld(check.seed)
  const machine = world.machine('node')
  const platform = machine.start()
  await world.run(check.work(platform, (label) => machine.drive.mark(label)))
  await platform.workers.close()
  return await checkImages(machine, check)
}

/** The second half of `checkEveryImage`, for a machine with a longer history; only crashes after event `from`. */
export async function checkImages(machine: VirtualMachine, check: Omit<CrashCheck, 'work'>, from = 0): Promise<number> {
  let images = 0
  const random = new SeededRandom(check.seed)
  for (const image of machine.drive.images({ random, subsetsMax: SUBSETS_MAX, from })) {
    images += 1
    const world = new VirtualWorld(check.seed)
    const survivor = world.machine('node', { table: image.table() })
    await verdict(check, world, survivor.start(), image.marks, `after event ${image.prefix}: ${image.fates}`)
  }
  return images
}

/** Returns at how many calls the power was cut; each is one run with fates of its own. */
export async function checkEveryCall(check: CrashCheck): Promise<number> {
  for (let call = 1; ; call += 1) {
    const world = new VirtualWorld(check.seed + call)
    const machine = world.machine('node')
    const platform = machine.start()
    machine.crashAfter(call)
    const promised: string[] = []
    const outcome = await watch(
      world,
      check.work(platform, (label) => void promised.push(label)),
    )
    if (outcome === 'done') return call - 1
    await verdict(check, world, machine.start(), promised, `at call ${call}`)
  }
}

/** Lets the world come to rest; a machine that crashed leaves its work hanging. */
async function watch(world: VirtualWorld, work: Promise<void>): Promise<'done' | 'hanging'> {
  const outcomes: PromiseSettledResult<void>[] = []
  const settled = Promise.allSettled([work]).then(([outcome]) => outcomes.push(outcome))
  await world.runUntilIdle()
  if (outcomes.length === 0) return 'hanging'
  await settled
  await work
  return 'done'
}

async function verdict(
  checks: Omit<CrashCheck, 'work'>,
  world: VirtualWorld,
  platform: VirtualPlatform,
  promised: readonly string[],
  where: string,
): Promise<void> {
  try {
    await world.run(checks.check(platform, promised))
    await world.run(platform.workers.close())
  } catch (cause) {
    const message = `Seed ${checks.seed}, crash ${where}; promised: ${promised.join(', ') || 'nothing'}. ${String(cause)}`
    throw new Error(message, { cause })
  }
  const left = world.leaks()
  if (left.length > 0) throw new Error(`Seed ${checks.seed}, crash ${where}: the check left ${left.join(', ')}.`)
}
