import { KERNEL_METRICS, MemoryMetrics } from '@cairn/kernel'
import { type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, systemCrypto } from '@cairn/platform'
import type { JournalMachine } from '@cairn/store'
import { MAILBOX_METRICS } from '../src/index.ts'

export interface MailboxMachine extends JournalMachine, VirtualRuntime {
  readonly clock: VirtualRuntime['clock']
  readonly log: VirtualRuntime['log']
  readonly metrics: MemoryMetrics
}

/** A machine in memory; opening a mailbox on it again finds what the last one left. */
export function memoryMachine(): MailboxMachine {
  const runtime = { ...virtualRuntime(), metrics: new MemoryMetrics({ ...KERNEL_METRICS, ...MAILBOX_METRICS }) }
  return { ...runtime, disk: new MemoryDisk(runtime, 64 * 1024 * 1024), crypto: systemCrypto }
}
