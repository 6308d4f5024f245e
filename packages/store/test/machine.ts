import { type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, systemCrypto } from '@cairn/platform'
import type { StoreMachine } from '../src/drive/drive.ts'

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
    crypto: systemCrypto,
  }
}

/** Removes what the store at this path keeps of its index on the drive. */
export async function loseSideFiles({ disk }: StoreMachine, path: string): Promise<void> {
  const journal = `${path}/journal`
  for (const { name } of await disk.list(journal)) if (name.endsWith('.idx')) await disk.unlink(`${journal}/${name}`)
}
