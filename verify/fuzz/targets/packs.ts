/** Files that came from anywhere. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Deadline, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { openPack, type Pack } from '@cairn/packs'
import { type PackDependencies } from '@cairn/packs/testing'
import { MemoryDisk, openIsolated, RealDisk, threadInflate, type Workers } from '@cairn/platform'
import { archiveOf } from '../../../packages/packs/test/archive.ts'
import type { FuzzTarget } from '../fuzzer.ts'
import { bytesOf } from '../inputs.ts'

const NO_WORKERS: Workers = {
  run: () => {
    throw new Error('No worker is needed here.')
  },
  close: async () => await Promise.resolve(),
}

/** Everything a pack can be asked. */
async function askAll(pack: Pack, deadline: Deadline): Promise<void> {
  const options = { deadline }
  await pack.verify(options, () => undefined).catch(refusalOnly)
  await pack.metadata(options).catch(refusalOnly)
  for (const [z, x, y] of [
    [0, 0, 0],
    [1, 1, 0],
    [4, 3, 9],
  ] as const)
    await pack.tile(z, x, y, options).catch(refusalOnly)
}

function refusalOnly(error: unknown): void {
  if (!(error instanceof Error) || !('kind' in error) || error.kind === 'Internal') throw error
}

const TILES = new Map([0, 1, 2, 5, 20, 21].map((id) => [id, bytesOf(`tile ${id}`)]))

const pmtiles: FuzzTarget = {
  name: 'pmtiles',
  covers: ['packages/packs/src/pmtiles/', 'packages/packs/src/open-pack.ts', 'packages/packs/src/pack.ts'],
  // Uncompressed directories let the fuzzer reach what is in them.
  seeds: [archiveOf(TILES, { inner: 1 }), archiveOf(TILES, { inner: 1, perLeaf: 2 }), archiveOf(TILES, { perLeaf: 2 })],
  words: ['PMTiles\u0003', '\u0000\u0000\u0000\u0000', '\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u007f'],
  bytesMax: 2000,
  run: async (input) => {
    const runtime = virtualRuntime()
    const disk = new MemoryDisk(runtime, 1 << 20)
    const file = await disk.open('/pack', { mode: 'create' })
    await file.append([input])
    await file.close()
    const deadline = Deadline.after(runtime.clock, 5000)
    const machine = { runtime, disk, isolated: NO_WORKERS, inflate: threadInflate }
    await using pack = await openPack(machine, '/pack', { deadline })
    await askAll(pack, deadline)
  },
}

/** A process for SQLite and a file it finds by name, made when the first input comes. */
class RealMachine {
  readonly #directory = mkdtempSync(join(tmpdir(), 'cairn-fuzz-'))
  readonly #runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  readonly #isolated = openIsolated(this.#runtime)

  async open(input: Uint8Array): Promise<void> {
    const path = join(this.#directory, 'pack')
    writeFileSync(path, input)
    const machine: PackDependencies = {
      runtime: this.#runtime,
      disk: new RealDisk(this.#runtime),
      isolated: this.#isolated,
      inflate: threadInflate,
    }
    const deadline = Deadline.after(this.#runtime.clock, 900)
    await using pack = await openPack(machine, path, { deadline })
    await askAll(pack, deadline)
  }

  async close(): Promise<void> {
    await this.#isolated.close()
    rmSync(this.#directory, { recursive: true })
  }
}

function mbtilesSeed(): Uint8Array {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-fuzz-'))
  try {
    const path = join(directory, 'seed')
    const database = new DatabaseSync(path)
    database.exec(`PRAGMA page_size = 512; CREATE TABLE metadata (name text, value text);
      CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);
      INSERT INTO metadata VALUES ('name', 'made'), ('format', 'pbf'), ('minzoom', '0'), ('maxzoom', '4'),
        ('bounds', '-180,-85,180,85'), ('center', '0,0,1'), ('json', '{"vector_layers":[]}');
      INSERT INTO tiles VALUES (0, 0, 0, x'1f8b0800'), (1, 1, 1, x'28b52ffd'), (4, 3, 6, x'00')`)
    database.close()
    return Uint8Array.from(readFileSync(path))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

let machine: RealMachine | undefined

const mbtiles: FuzzTarget = {
  name: 'mbtiles',
  covers: ['packages/packs/src/mbtiles/', 'packages/packs/src/pack.ts'],
  seeds: [mbtilesSeed()],
  words: ['tiles', 'metadata', 'CREATE VIEW', 'SQLite format 3\u0000', 'zoom_level', 'png', 'pbf', '\u0002\u0002'],
  bytesMax: 4096,
  run: async (input) => {
    machine ??= new RealMachine()
    await machine.open(input)
  },
  close: async () => {
    await machine?.close()
    machine = undefined
  },
}

export const TARGETS: readonly FuzzTarget[] = [pmtiles, mbtiles]
