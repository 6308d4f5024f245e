/**
 * Power cuts under a registry.
 *
 *     life 1: load ─ killed ─▶ life 2: load ─ killed ─▶ life 3: load, checkpoints, a prune, stopped
 *                  one record of every write, sync, signature and answer
 *     for prefixes of the record, with unsynced changes kept, lost or torn:
 *         open again ─▶ everything said is true, nothing is committed twice, no size has two roots ─▶ it goes on
 */

import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { RegistryConfig } from '../../../services/registry/src/config.ts'
import { REGISTRY_METRICS } from '../../../services/registry/src/metrics.ts'
import type { CrashImage } from '../../virtual/disk/crash-images.ts'
import type { VirtualMachine, VirtualPlatform } from '../../virtual/machine.ts'
import { VirtualWorld } from '../../virtual/world.ts'
import { drawKillPlan, type KillPlan, watchNames } from '../kill-plan.ts'
import { RegistryLife } from './registry-life.ts'
import { runLoad } from './registry-load.ts'
import { decodeMark, encodeMark, type Mark, type MarkSink } from './registry-marks.ts'
import type { RegistryModule } from './registry-module.ts'
import { holdToCheckpoint, holdToPromises, holdToUse } from './registry-promises.ts'

export interface Campaign {
  readonly seed: number
  /** About how many states are opened again. */
  readonly cuts: number
  readonly registry: RegistryModule
}

export interface CampaignReport {
  readonly cuts: number
  readonly possible: number
  /** Answers and signatures the registry was held to in the end. */
  readonly marks: number
  readonly versions: number
  /** Cuts after which a commit under way was found durable. */
  readonly ahead: number
  /** Cuts after which the log had been pruned. */
  readonly pruned: number
}

const DATA = 'data'
const LIVES = 3
const STEPS = 160
const LAST_STEPS = 80
const LIFE_MS_MAX = 2_000
const SUBSETS_MAX = 16
/** One in so many states is also asked to go on. */
const USED_EVERY = 4
/** Often enough that a campaign of a few seconds has all of it. */
const OVERRIDES: Partial<RegistryConfig> = {
  checkpoint_interval: 120,
  retention: { policy: 'by-count', max_age: 3_600_000, max_count: 60, target_bytes: 1024 ** 3 },
}

interface Crowd {
  readonly clients: number
  readonly stepsEach: number
}

/**
 * Four people with every odd seed. With the others one alone: a proposal that lost to another stays open for a day, and
 * nothing after it is pruned.
 */
function crowdOf(seed: number, steps: number): Crowd {
  const clients = seed % 2 === 0 ? 1 : 4
  return { clients, stepsEach: steps / clients }
}

function start(machine: VirtualMachine): VirtualPlatform {
  return machine.start({ metrics: { ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS } })
}

/** Throws, naming the cut, if any state breaks a promise. */
export async function runCampaign({ seed, cuts, registry }: Campaign): Promise<CampaignReport> {
  const images = await live(seed, registry)
  let possible = 0
  let marks = 0
  for (const image of images()) {
    possible += 1
    marks = image.marks.length
  }
  const random = new SeededRandom(seed)
  const report = { cuts: 0, possible, marks, versions: 0, ahead: 0, pruned: 0 }
  for (const image of images()) {
    if (random.next() >= cuts / possible) continue
    const { isAhead, version, isPruned } = await checkImage(seed, registry, image, report.cuts % USED_EVERY === 0)
    report.cuts += 1
    report.ahead += isAhead ? 1 : 0
    report.pruned += isPruned ? 1 : 0
    report.versions = Math.max(report.versions, version)
  }
  return report
}

/** Runs the lives; returns every state that a power cut could have left. */
async function live(seed: number, registry: RegistryModule): Promise<() => Generator<CrashImage>> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  const random = new SeededRandom(seed)
  const mark: MarkSink = (each) => machine.drive.mark(encodeMark(each))
  for (let life = 1; life <= LIVES; life += 1) {
    const platform = start(machine)
    const isLast = life === LIVES
    const plan: KillPlan = isLast ? { tag: 'after', ms: Number.POSITIVE_INFINITY } : drawKillPlan(random)
    const disk = watchNames(platform.disk, plan, () => machine.kill())
    const opening = openLife(registry, { ...platform, disk }, mark)
    if (isLast) {
      await world.run(
        opening.then(
          async (opened) =>
            await finish(opened, mark, random, crowdOf(seed, LAST_STEPS), async (ms) => await world.sleep(ms)),
        ),
      )
      await world.run(platform.workers.close())
    } else {
      // Killed at some moment: the promises of this life never settle, and whoever holds them is gone.
      const load = opening.then(async (opened) => {
        const pause = async (ms: number): Promise<void> => await world.sleep(ms)
        await runLoad({ life: opened, mark, random, ...crowdOf(seed, STEPS), pause })
      })
      load.catch(() => undefined)
      await world.run(world.sleep(plan.tag === 'after' ? plan.ms : LIFE_MS_MAX))
      machine.kill()
    }
  }
  return () => machine.drive.images({ random: new SeededRandom(seed), subsetsMax: SUBSETS_MAX, from: 0 })
}

async function openLife(registry: RegistryModule, platform: VirtualPlatform, mark: MarkSink): Promise<RegistryLife> {
  const onSigned = (size: number, root: string): void => mark({ tag: 'signed', size, root })
  return await RegistryLife.open({ registry, platform, data: DATA, onSigned, overrides: OVERRIDES })
}

async function finish(
  life: RegistryLife,
  mark: MarkSink,
  random: SeededRandom,
  crowd: Crowd,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  await runLoad({ life, mark, random, ...crowd, pause })
  await life.stop()
}

interface Checked {
  readonly isAhead: boolean
  readonly version: number
  readonly isPruned: boolean
}

async function checkImage(
  seed: number,
  registry: RegistryModule,
  image: CrashImage,
  isUsed: boolean,
): Promise<Checked> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node', { table: image.table() })
  const platform = start(machine)
  const marks: Mark[] = image.marks.flatMap((line) => decodeMark(line) ?? [])
  const check = async (): Promise<Checked> => {
    const before = marks.length
    const life = await openLife(registry, platform, (each) => void marks.push(each))
    holdToCheckpoint(marks.slice(0, before), marks.slice(before))
    const held = await holdToPromises(life, marks)
    const isPruned = life.parts.log.minimumIndex > 0
    if (isUsed) await holdToUse(life)
    await life.stop()
    await platform.workers.close()
    return { ...held, isPruned }
  }
  try {
    const checked = await world.run(check())
    const left = world.leaks()
    if (left.length > 0) throw new Error(`Left ${left.join(', ')}.`)
    return checked
  } catch (cause) {
    throw new Error(`Power cut, seed ${seed}, after event ${image.prefix} (${image.fates}): ${String(cause)}`, {
      cause,
    })
  }
}
