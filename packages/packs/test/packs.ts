/** Packs on a disk in memory, or on the machine's own where SQLite must find them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { MemoryDisk, openIsolated, RealDisk, threadInflate, type Workers } from '@cairn/platform'
import { inlineInflate } from '@cairn/platform/testing'
import { openPack, type Pack } from '../src/index.ts'
import { type PackDependencies } from '../src/testing.ts'

const NO_WORKERS: Workers = {
  run: () => {
    throw new Error('No worker is needed here.')
  },
  close: async () => await Promise.resolve(),
}

export function within(runtime: PackDependencies['runtime'], budgetMs = 5000): { readonly deadline: Deadline } {
  return { deadline: Deadline.after(runtime.clock, budgetMs) }
}

/** Opens bytes as a pack that lies in memory. */
export async function openBytes(bytes: Uint8Array): Promise<{ pack: Pack; runtime: PackDependencies['runtime'] }> {
  const runtime = virtualRuntime()
  const disk = new MemoryDisk(runtime, 1 << 30)
  const file = await disk.open('/pack', { mode: 'create' })
  await file.append([bytes])
  await file.close()
  const machine = { runtime, disk, isolated: NO_WORKERS, inflate: inlineInflate }
  return { pack: await openPack(machine, '/pack', within(runtime)), runtime }
}

/** Runs with a directory of its own and a real process, and leaves neither. */
export async function onRealDisk(run: (machine: PackDependencies, directory: string) => Promise<void>): Promise<void> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const isolated = openIsolated(runtime)
  const directory = await mkdtemp(join(tmpdir(), 'cairn-packs-'))
  try {
    await run({ runtime, disk: new RealDisk(runtime), isolated, inflate: threadInflate }, directory)
  } finally {
    await isolated.close()
    await rm(directory, { recursive: true })
  }
}
