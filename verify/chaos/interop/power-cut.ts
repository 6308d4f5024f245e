/**
 * Power cuts under interop and the storage beside it.
 *
 *     life 1: webhooks, consumers ─ killed ─▶ life 2: the same ─ killed ─▶ life 3: the same, stopped
 *                  one record of every write, sync and answer
 *     for prefixes of the record, with unsynced changes kept, lost or torn, and the index of storage lost:
 *         open again ─▶ every 202 is there once, every acknowledgement holds, the audit is whole ─▶ it goes on
 */
import { SeededRandom } from '@cairn/kernel/testing'
import type { CrashImage } from '../../virtual/disk/crash-images.ts'
import type { VirtualMachine, VirtualPlatform } from '../../virtual/machine.ts'
import { VirtualWorld } from '../../virtual/world.ts'
import { drawKillPlan, type KillPlan, watchNames } from '../kill-plan.ts'
import { ENVIRONMENT, InteropLife, LIFE_METRICS } from './interop-life.ts'
import { type MarkSink, runLoad } from './interop-load.ts'
import type { InteropModule } from './interop-module.ts'
import { type Held, holdToPromises, holdToResend } from './interop-promises.ts'

export interface Campaign {
  readonly seed: number
  /** About how many states are opened again. */
  readonly cuts: number
  readonly interop: InteropModule
}

export interface CampaignReport {
  readonly cuts: number
  readonly possible: number
  /** Webhooks that had been answered 202 in the end. */
  readonly accepted: number
  /** Webhooks found accepted although their sender had not heard. */
  readonly ahead: number
  /** Cuts after which old segments had gone. */
  readonly letGo: number
}

const DATA = 'data'
const LIVES = 3
const LIFE_MS_MAX = 1_500
/** Two services take longer to open than one journal. */
const OPENING_MS = 300
const SUBSETS_MAX = 16
/** One in so many states is also sent everything again. */
const RESENT_EVERY = 3

function start(machine: VirtualMachine): VirtualPlatform {
  return machine.start({ metrics: LIFE_METRICS, environment: ENVIRONMENT })
}

/** Throws, naming the cut, if any state breaks a promise. */
export async function runCampaign({ seed, cuts, interop }: Campaign): Promise<CampaignReport> {
  const images = await live(seed, interop)
  let possible = 0
  for (const _image of images()) possible += 1
  const random = new SeededRandom(seed)
  const report = { cuts: 0, possible, accepted: 0, ahead: 0, letGo: 0 }
  for (const image of images()) {
    if (random.next() >= cuts / possible) continue
    const held = await checkImage(seed, interop, image, report.cuts % RESENT_EVERY === 0)
    report.cuts += 1
    report.accepted = Math.max(report.accepted, held.accepted)
    report.ahead += held.ahead
    report.letGo += held.hasLetGo ? 1 : 0
  }
  return report
}

/** Runs the lives; returns every state that a power cut could have left. */
async function live(seed: number, interop: InteropModule): Promise<() => Generator<CrashImage>> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  const random = new SeededRandom(seed)
  const mark: MarkSink = (each) => machine.drive.mark(each)
  for (let life = 1; life <= LIVES; life += 1) {
    const platform = start(machine)
    const isLast = life === LIVES
    const plan: KillPlan = isLast ? { tag: 'after', ms: Number.POSITIVE_INFINITY } : drawKillPlan(random)
    const disk = watchNames(platform.disk, plan, () => machine.kill())
    const load = async (): Promise<InteropLife> => {
      const opened = await InteropLife.open({ interop, platform: { ...platform, disk }, data: DATA })
      const pause = async (ms: number): Promise<void> => await world.sleep(ms)
      const many = { senders: 4, consumers: 3, stepsEach: isLast ? 25 : 40, prefix: `life${life}` }
      await runLoad({ life: opened, mark, random, pause, ...many })
      return opened
    }
    if (isLast) {
      await world.run(load().then(async (opened) => await opened.stop()))
      await world.run(platform.workers.close())
    } else {
      // Killed at some moment: the promises of this life never settle, and whoever holds them is gone.
      load().catch(() => undefined)
      await world.run(world.sleep(plan.tag === 'after' ? OPENING_MS + plan.ms : LIFE_MS_MAX))
      machine.kill()
    }
  }
  return () => machine.drive.images({ random: new SeededRandom(seed), subsetsMax: SUBSETS_MAX, from: 0 })
}

async function checkImage(seed: number, interop: InteropModule, image: CrashImage, isResent: boolean): Promise<Held> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node', { table: image.table() })
  const platform = start(machine)
  const check = async (): Promise<Held> => {
    const life = await InteropLife.open({ interop, platform, data: DATA })
    const held = await holdToPromises(life, image.marks)
    if (isResent) await holdToResend(life, image.marks)
    await life.stop()
    await platform.workers.close()
    return held
  }
  try {
    const held = await world.run(check())
    const left = world.leaks()
    if (left.length > 0) throw new Error(`Left ${left.join(', ')}.`)
    return held
  } catch (cause) {
    throw new Error(`Power cut, seed ${seed}, after event ${image.prefix} (${image.fates}): ${String(cause)}`, {
      cause,
    })
  }
}

export function tell({ cuts, possible, accepted, ahead, letGo }: CampaignReport): string {
  return `${cuts} of ${possible} cuts, ${accepted} webhooks accepted; ${ahead} found accepted unheard, ${letGo} after segments had gone`
}
