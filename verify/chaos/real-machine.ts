import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { RealDisk, systemCrypto } from '@cairn/platform'
import type { StoreMachine } from '@cairn/store/testing'

/** This machine's own disk, index and clock. */
export function realMachine(): StoreMachine {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  return { ...runtime, disk: new RealDisk(runtime), crypto: systemCrypto }
}
