/** A service with several drives on one virtual machine, each of which can be taken away, and what is on them. */
import { type Disk, diskFailure, type KvOpener } from '@cairn/platform'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'
import type { ServiceOptions } from './harness.ts'

export interface DriveSwitch {
  readonly gone: Set<string>
  /** Milliseconds each read takes longer. */
  readonly slow: Map<string, number>
}

export function drivePath(name: string): string {
  return `drives/${name}`
}

export function driveSwitch(): DriveSwitch {
  return { gone: new Set(), slow: new Map() }
}

/** The options of a service with these drives. */
export function withDrives(
  names: readonly string[],
  drives: DriveSwitch,
  config: NonNullable<ServiceOptions['config']> = {},
): ServiceOptions {
  const paths = names.map((name) => ({ path: drivePath(name), domain: name }))
  return { config: { ...config, drives: paths }, wrap: (platform) => switched(platform, drives) }
}

/** A drive that is gone has no files; what was open goes on into the void, as it does where a directory is deleted. */
function switched(platform: VirtualPlatform, { gone, slow }: DriveSwitch): VirtualPlatform {
  const { disk, kv, clock } = platform
  const nameOf = (path: string): string => /drives\/([^/]+)/.exec(path)?.[1] ?? ''
  const there = (path: string): void => {
    if (gone.has(nameOf(path))) throw diskFailure('ENOENT', path)
  }
  const at = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    there(path)
    return await work()
  }
  const wait = async (path: string): Promise<void> => {
    const ms = slow.get(nameOf(path)) ?? 0
    if (ms > 0) await new Promise<void>((resolve) => clock.timer(ms, resolve))
  }
  const switchedDisk: Disk = {
    open: async (path, options) =>
      await at(path, async () => {
        const file = await disk.open(path, options)
        return {
          path: file.path,
          append: async (buffers) => await file.append(buffers),
          read: async (position, into) => {
            await wait(path)
            return await file.read(position, into)
          },
          sync: async () => await file.sync(),
          truncate: async (length) => await file.truncate(length),
          size: async () => await file.size(),
          close: async () => await file.close(),
          [Symbol.asyncDispose]: async () => await file.close(),
        }
      }),
    rename: async (from, to) => await at(from, async () => await disk.rename(from, to)),
    unlink: async (path) => await at(path, async () => await disk.unlink(path)),
    makeDirectory: async (path) => await at(path, async () => await disk.makeDirectory(path)),
    syncDirectory: async (path) => await at(path, async () => await disk.syncDirectory(path)),
    list: async (path) => await at(path, async () => await disk.list(path)),
    space: async (path) => await at(path, async () => await disk.space(path)),
    lock: async (path) => await at(path, async () => await disk.lock(path)),
  }
  const switchedKv: KvOpener = {
    open: async (path, options) => await at(path, async () => await kv.open(path, options)),
  }
  return { ...platform, disk: switchedDisk, kv: switchedKv }
}
