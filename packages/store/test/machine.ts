import { type VirtualRuntime, virtualRuntime } from '@cairn/kernel'
import { MemoryDisk, MemoryKvOpener, systemCrypto } from '@cairn/platform'
import type { StoreMachine } from '../src/machine.ts'

export interface TestMachine extends StoreMachine, VirtualRuntime {
  readonly clock: VirtualRuntime['clock']
  readonly log: VirtualRuntime['log']
  readonly metrics: VirtualRuntime['metrics']
}

/** A machine in memory; opening a store on it again finds what the last one left. */
export function memoryMachine(capacityBytes = 256 * 1024 * 1024): TestMachine {
  const runtime = virtualRuntime()
  return {
    ...runtime,
    disk: new MemoryDisk(runtime, capacityBytes),
    kv: new MemoryKvOpener(runtime),
    crypto: systemCrypto,
  }
}
