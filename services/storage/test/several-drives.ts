/** A service with several drives on one virtual machine, each of which can be taken away, and what is on them. */
import assert from 'node:assert/strict'
import type { Random } from '@cairn/kernel'
import type { Disk } from '@cairn/platform'
import { diskFailure } from '@cairn/platform/testing'
import { type Address, digestOf } from '@cairn/wire'
import { wrapFile } from '../../../verify/virtual/disk/wrapped-disk.ts'
import type { VirtualMachine, VirtualPlatform } from '../../../verify/virtual/machine.ts'
import type { ServiceOptions, TestService } from './harness.ts'

const SEGMENT_HEADER_BYTES = 128

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
  const { disk, clock } = platform
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
        return wrapFile(file, {
          read: async (position, into) => {
            await wait(path)
            return await file.read(position, into)
          },
        })
      }),
    rename: async (from, to) => await at(from, async () => await disk.rename(from, to)),
    unlink: async (path) => await at(path, async () => await disk.unlink(path)),
    makeDirectory: async (path) => await at(path, async () => await disk.makeDirectory(path)),
    syncDirectory: async (path) => await at(path, async () => await disk.syncDirectory(path)),
    list: async (path) => await at(path, async () => await disk.list(path)),
    space: async (path) => await at(path, async () => await disk.space(path)),
    lock: async (path) => await at(path, async () => await disk.lock(path)),
  }
  return { ...platform, disk: switchedDisk }
}

/** Flips a bit somewhere in what was written to the journal: behind the header of a segment, which has tests of its own. */
export function rotSome({ drive }: VirtualMachine, journal: string, random: Random): void {
  const paths = drive.has(journal) ? drive.list(journal).map(({ name }) => `${journal}/${name}`) : []
  const path = paths[Math.floor(random.next() * paths.length)]
  if (path === undefined || drive.size(path) <= SEGMENT_HEADER_BYTES) return
  const byte = SEGMENT_HEADER_BYTES + Math.floor(random.next() * (drive.size(path) - SEGMENT_HEADER_BYTES))
  drive.damage(path, byte * 8 + Math.floor(random.next() * 8))
}

/** Rots a bit of a chunk, or of a shard, that this drive holds. */
export async function damage(service: TestService, name: string, chunk: Address): Promise<void> {
  const { file, bytes } = await readFirst(service, `${drivePath(name)}/journal`)
  const at = bytes.indexOf(Buffer.from(digestOf(chunk)))
  assert.ok(at > 0, 'the chunk is in the first segment')
  // The payload begins 40 bytes behind the id.
  service.machine.drive.damage(file, (at + 40 + 7) * 8)
}

/** Rots the end of the record that was written to this journal last. */
export async function damageEnd(service: TestService, journal: string): Promise<void> {
  const { file, bytes } = await readFirst(service, journal)
  const at = bytes.findLastIndex((byte) => byte !== 0)
  assert.ok(at > SEGMENT_HEADER_BYTES, 'there is a record in the first segment')
  service.machine.drive.damage(file, at * 8)
}

async function readFirst({ world, platform }: TestService, journal: string): Promise<{ file: string; bytes: Buffer }> {
  const file = `${journal}/0000000001.seg`
  const bytes = Buffer.alloc(8 * 1024 * 1024)
  const read = await world.run(
    (async () => {
      await using opened = await platform.disk.open(file, { mode: 'read' })
      return await opened.read(0, bytes)
    })(),
  )
  return { file, bytes: bytes.subarray(0, read) }
}
