import { CairnError, type Runtime } from '@cairn/kernel'
import type { Disk, Inflate, Workers } from '@cairn/platform'
import { openMbtiles } from './mbtiles/mbtiles-pack.ts'
import { corrupt, type Pack, type ReadOptions } from './pack.ts'
import { openPmtiles } from './pmtiles/pmtiles-pack.ts'

/** What a pack takes of the machine. */
export interface PackDependencies {
  readonly runtime: Runtime
  readonly disk: Disk
  readonly isolated: Workers
  readonly inflate: Inflate
}

const HEAD_BYTES = 16

/** Opens the pack at `path` by what it begins with, whatever it is called. `pack_corrupt` if it is neither. */
export async function openPack(machine: PackDependencies, path: string, options: ReadOptions): Promise<Pack> {
  const head = await readHead(machine.disk, path)
  if (head.startsWith('PMTiles')) return await openPmtiles(machine, path)
  if (head.startsWith('SQLite format 3')) return await openMbtiles(machine, path, options)
  throw corrupt('The file is neither PMTiles nor MBTiles.')
}

async function readHead(disk: Disk, path: string): Promise<string> {
  const bytes = new Uint8Array(HEAD_BYTES)
  try {
    await using file = await disk.open(path, { mode: 'read' })
    return new TextDecoder('latin1').decode(bytes.subarray(0, await file.read(0, bytes)))
  } catch (error) {
    throw error instanceof CairnError && error.kind === 'NotFound'
      ? new CairnError('NotFound', `There is no pack at ${path}.`, { cause: error })
      : error
  }
}
