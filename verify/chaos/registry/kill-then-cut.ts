/**
 * A process is killed, and before long the power goes: what the next process found in the memory of the machine, and
 * showed to somebody, must be on the drive by then.
 *
 *     life 1: load ─ killed at a point ─▶ life 2: opened, looked at ─ power cut ─▶ life 3: everything seen is there
 */

import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import type { CrashPoint, CrashPointHook } from '../../../services/registry/src/domain/crash-points.ts'
import { REGISTRY_METRICS } from '../../../services/registry/src/metrics.ts'
import type { VirtualMachine } from '../../virtual/machine.ts'
import { VirtualWorld } from '../../virtual/world.ts'
import { RegistryLife } from './registry-life.ts'
import { lookAt, runLoad } from './registry-load.ts'
import type { Mark, MarkSink } from './registry-marks.ts'
import type { RegistryModule } from './registry-module.ts'
import { holdToCheckpoint, holdToPromises, holdToUse } from './registry-promises.ts'

const METRICS = { ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS }
const LIFE_MS_MAX = 2_000

/** Throws if something that was seen is lost. */
export async function killThenCut(registry: RegistryModule, point: CrashPoint, seed: number): Promise<void> {
  const world = new VirtualWorld(seed)
  const machine = world.machine('node')
  const marks: Mark[] = []
  const mark: MarkSink = (each) => void marks.push(each)
  await loadUntil(world, machine, registry, point, mark)
  const second = await world.run(openLife(registry, machine, mark))
  await world.run(lookAt(second, mark))
  machine.crash()
  const before = marks.length
  const third = await world.run(openLife(registry, machine, mark))
  holdToCheckpoint(marks.slice(0, before), marks.slice(before))
  await world.run(holdToPromises(third, marks))
  await world.run(holdToUse(third))
  await world.run(third.stop())
  machine.kill()
}

async function loadUntil(
  world: VirtualWorld,
  machine: VirtualMachine,
  registry: RegistryModule,
  point: CrashPoint,
  mark: MarkSink,
): Promise<void> {
  const random = new SeededRandom(world.nextSeed())
  let left = 3 + Math.floor(random.next() * 20)
  const reach: CrashPointHook = (reached) => {
    left -= reached === point ? 1 : 0
    if (left > 0) return undefined
    machine.kill()
    return Promise.withResolvers<void>().promise
  }
  const pause = async (ms: number): Promise<void> => await world.sleep(ms)
  const life = openLife(registry, machine, mark, reach)
  // Killed at some moment: the promises of this life never settle.
  life
    .then(async (opened) => await runLoad({ life: opened, mark, random, clients: 4, stepsEach: 60, pause }))
    .catch(() => undefined)
  await world.run(world.sleep(LIFE_MS_MAX))
  machine.kill()
}

async function openLife(
  registry: RegistryModule,
  machine: VirtualMachine,
  mark: MarkSink,
  reach?: CrashPointHook,
): Promise<RegistryLife> {
  const platform = machine.start({ metrics: METRICS })
  const onSigned = (size: number, root: string): void => mark({ tag: 'signed', size, root })
  return await RegistryLife.open({
    registry,
    platform,
    data: 'data',
    onSigned,
    ...(reach === undefined ? {} : { reach }),
  })
}
