/** One implementation under test, with what it takes to run it and to see that it left nothing behind. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLog, MemoryMetrics, type Runtime, systemRuntime } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import type { VirtualPlatform } from '../machine.ts'
import { VirtualWorld } from '../world.ts'

export interface Subject<T> {
  readonly subject: T
  /** A directory of its own, that exists. */
  readonly root: string
  /** Awaits the work; in the simulator, by letting time pass. */
  readonly run: (work: Promise<void>) => Promise<void>
  /** Asserts that nothing is left alive, and cleans up. */
  readonly finish: () => Promise<void>
}

export type MakeSubject<T> = () => Promise<Subject<T>>

/** On the machine's own clock, in a temporary directory. */
export function onMachine<T>(make: (runtime: Runtime) => T): MakeSubject<T> {
  return async () => {
    const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
    const root = await mkdtemp(join(tmpdir(), 'cairn-compliance-'))
    return {
      subject: make(runtime),
      root,
      run: async (work) => await work,
      finish: async () => {
        await rm(root, { recursive: true })
        assert.deepEqual(leaks(runtime), [])
      },
    }
  }
}

/** On the machine's own clock, in memory. */
export function inMemory<T>(make: (runtime: Runtime) => T): MakeSubject<T> {
  return async () => {
    const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
    return await Promise.resolve({
      subject: make(runtime),
      root: '',
      run: async (work: Promise<void>) => await work,
      finish: async () => await Promise.resolve(assert.deepEqual(leaks(runtime), [])),
    })
  }
}

/** In the simulator. */
export function inWorld<T>(take: (platform: VirtualPlatform) => T): MakeSubject<T> {
  return async () => {
    const world = new VirtualWorld(1)
    const platform = world.machine('node').start()
    return await Promise.resolve({
      subject: take(platform),
      root: '',
      run: async (work: Promise<void>) => await world.run(work),
      finish: async () => {
        await platform.workers.close()
        assert.deepEqual(world.leaks(), [])
        assert.equal(world.clock.pending(), 0)
      },
    })
  }
}
