/** Drives with shards on them, in virtual time, without the rest of the service. */
import assert from 'node:assert/strict'
import { CairnError, KERNEL_METRICS } from '@cairn/kernel'
import { MemoryDisk } from '@cairn/platform'
import { type Address, addressOf } from '@cairn/wire'
import { wrapDisk, wrapFile } from '../../../verify/virtual/disk/wrapped-disk.ts'
import type { VirtualPlatform } from '../../../verify/virtual/machine.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import type { ShardTarget } from '../src/erasure/shard-target.ts'
import type { StripeCode } from '../src/erasure/stripe-core.ts'
import type { StripeMap } from '../src/erasure/stripe-map.ts'
import { STORAGE_METRICS } from '../src/metrics.ts'
import { cutWhole } from '../src/objects/body-chunks.ts'
import type { ObjectPutResult, ObjectSink } from '../src/objects/object-writer.ts'
import { DriveTarget } from '../src/targets/drive-target.ts'
import { LocalDrive } from '../src/targets/local-drive.ts'

const METRICS = { ...KERNEL_METRICS, ...STORAGE_METRICS }
const CAPACITY_BYTES = 512 * 1024 * 1024
const LEASE_MS = 60 * 60 * 1000
export const CHUNK_SIZE = 16_384

/** The modules under test: those of the source, or of a copy of it with an error in it. */
export async function erasureModules(source: URL) {
  const load = async <T>(name: string): Promise<T> => (await import(new URL(`erasure/${name}`, source).href)) as T
  return {
    ...(await load<typeof import('../src/erasure/shard-target.ts')>('shard-target.ts')),
    ...(await load<typeof import('../src/erasure/shard-drives.ts')>('shard-drives.ts')),
    ...(await load<typeof import('../src/erasure/stripe-reader.ts')>('stripe-reader.ts')),
    ...(await load<typeof import('../src/erasure/stripe-writer.ts')>('stripe-writer.ts')),
    ...(await load<typeof import('../src/erasure/stripe-repair.ts')>('stripe-repair.ts')),
  }
}

export type ErasureModules = Awaited<ReturnType<typeof erasureModules>>
export const SOURCE = new URL('../src/', import.meta.url)

/** A target that can be lost and come back, and be slow. */
export interface TestDrive extends ShardTarget {
  readonly drive: LocalDrive
  isLost: boolean
  readMs: number
}

export class ShardScene {
  readonly world: VirtualWorld
  readonly platform: VirtualPlatform
  readonly modules: ErasureModules
  readonly drives: readonly TestDrive[]
  readonly reader: InstanceType<ErasureModules['StripeReader']>
  readonly repair: InstanceType<ErasureModules['StripeRepair']>
  readonly shards: InstanceType<ErasureModules['ShardDrives']>
  readonly hedging = { delayMs: () => 30, mayHedge: () => true }
  readonly #version = { highest: 0 }
  readonly #flips: Flips

  private constructor(
    world: VirtualWorld,
    platform: VirtualPlatform,
    modules: ErasureModules,
    drives: readonly TestDrive[],
    flips: Flips,
  ) {
    this.world = world
    this.platform = platform
    this.modules = modules
    this.drives = drives
    this.#flips = flips
    this.shards = new modules.ShardDrives(drives)
    this.reader = new modules.StripeReader(platform, this.shards, this.hedging)
    this.repair = new modules.StripeRepair(platform, this.shards)
  }

  static async open(count: number, modules?: ErasureModules): Promise<ShardScene> {
    const world = new VirtualWorld(1)
    const fresh = world.machine('node').start({ metrics: METRICS })
    const flips: Flips = new Map()
    const disk = rotting(new MemoryDisk(fresh, CAPACITY_BYTES), flips)
    const platform = { ...fresh, disk, workers: inline(fresh.workers) }
    const loaded = modules ?? (await erasureModules(SOURCE))
    const drives: TestDrive[] = []
    for (let at = 0; at < count; at += 1) {
      const options = { segmentBytes: 8 * 1024 * 1024, reserveBytes: 1024, cacheBytes: 0 }
      const drive = new LocalDrive(platform, {
        path: `drive-${at}`,
        domain: `domain-${at}`,
        weight: 1,
        storage: options,
        onDamaged: () => undefined,
      })
      const list = { store: '0'.repeat(32), alive_at: 0, drives: {} }
      await world.run(drive.open(list, () => false))
      assert.equal(drive.state.tag, 'open')
      const target = new DriveTarget(platform, drive, {
        node: 'node',
        region: '',
        nodeWeight: 1,
        isAlone: false,
        isProved: () => false,
      })
      drives.push(losable(platform, drive, loaded.shardTarget(target)))
    }
    return new ShardScene(world, platform, loaded, drives, flips)
  }

  writer(code: StripeCode, small: ObjectSink = NO_SMALL): ObjectSink {
    const version = this.#version
    const versions = {
      next: () => {
        version.highest += 1
        return version.highest
      },
      observe: (seen: number) => {
        version.highest = Math.max(version.highest, seen)
      },
    }
    return new this.modules.StripeWriter(this.platform, { drives: this.shards, code, versions, small })
  }

  async put(bytes: Uint8Array, code: StripeCode, chunkSize = CHUNK_SIZE): Promise<ObjectPutResult> {
    const request = { chunks: cutWhole(bytes, chunkSize), chunkSize, type: 'text/plain', expected: undefined }
    return await this.world.run(this.writer(code).put({ ...request, upload: `put ${addressOf(bytes)}`, owners: [] }))
  }

  /** All bytes of the object, read chunk by chunk. */
  async read(object: Address): Promise<Buffer> {
    return await this.world.run(this.#read(object))
  }

  async #read(object: Address): Promise<Buffer> {
    const map = await this.shards.find(object)
    if (map === undefined) throw new CairnError('NotFound', `There is no object ${object} here.`)
    // A reader of its own: what another has rebuilt is not there to be found.
    const reader = new this.modules.StripeReader(this.platform, this.shards, this.hedging)
    const pieces: Buffer[] = []
    for (let chunk = 0; chunk * map.shape.chunkSize < map.shape.size; chunk += 1) {
      using held = await reader.read(map, chunk, await chunkId(map, chunk))
      pieces.push(Buffer.from(held.bytes))
    }
    return Buffer.concat(pieces)
  }

  lose(lost: readonly number[]): void {
    for (const [at, drive] of this.drives.entries()) drive.isLost = lost.includes(at)
  }

  /** Rebuilds everything the survey finds lost; says how urgent each was. */
  async repairAll(object: Address): Promise<string[]> {
    return await this.world.run(this.#repairAll(object))
  }

  async #repairAll(object: Address): Promise<string[]> {
    const map = await this.shards.find(object)
    if (map === undefined) return []
    const found: string[] = []
    for await (const state of this.repair.survey(map)) {
      found.push(state.urgency)
      await this.repair.rebuild(map, [state], async () => await Promise.resolve())
    }
    return found
  }

  /** Lets every drive that is there remove what nobody refers to. */
  async sweep(): Promise<void> {
    await this.world.run(this.world.sleep(2 * LEASE_MS))
    const there = this.drives.filter(({ isLost }) => !isLost)
    for (const { drive } of there) await this.world.run(drive.contents.storage.sweeper.sweep(100_000))
  }

  /** Flips a byte of this shard where it lies on the drive; false if it is not there. */
  async flip(home: TestDrive, id: Address): Promise<boolean> {
    return await this.world.run(this.#flip(home, id))
  }

  async #flip({ drive }: TestDrive, id: Address): Promise<boolean> {
    using shard = await drive.contents.storage.chunks.read(id)
    if (shard === undefined) return false
    const { disk } = this.platform
    for (const { name } of await disk.list(`${drive.path}/journal`)) {
      const path = `${drive.path}/journal/${name}`
      await using file = await disk.open(path, { mode: 'read' })
      const bytes = Buffer.alloc(await file.size())
      await file.read(0, bytes)
      // A list of one shard is also the name that the shard is stored under, before it.
      const at = bytes.lastIndexOf(shard.bytes)
      if (at < 0) continue
      this.#flips.set(path, (this.#flips.get(path) ?? new Set()).add(at + 5))
      return true
    }
    return false
  }

  async close(): Promise<void> {
    await this.world.run(Promise.all(this.drives.map(async ({ drive }) => await drive.close())))
    await this.world.run(this.platform.workers.close())
    assert.deepEqual(this.world.leaks(), [])
  }
}

async function chunkId(map: StripeMap, chunk: number): Promise<Address> {
  const { k } = map.shape
  const id = (await map.stripe(Math.floor(chunk / k))).shards[chunk % k]
  assert.ok(id !== undefined)
  return id
}

/** Places whose byte is read wrong, by file. */
type Flips = Map<string, Set<number>>

function rotting(disk: MemoryDisk, flips: Flips): VirtualPlatform['disk'] {
  return wrapDisk(disk, {
    open: async (path, options) => {
      const file = await disk.open(path, options)
      return wrapFile(file, {
        read: async (position, into) => {
          const count = await file.read(position, into)
          for (const at of flips.get(path) ?? [])
            if (at >= position && at < position + count) into[at - position] = (into[at - position] ?? 0) ^ 1
          return count
        },
      })
    },
  })
}

/** Threads that take no time, in this one. */
function inline(workers: VirtualPlatform['workers']): VirtualPlatform['workers'] {
  return {
    run: async ({ module, name }, input) => {
      const tasks = (await import(module.href)) as Record<string, (given: typeof input) => never>
      return tasks[name]?.(input) as never
    },
    close: async () => await workers.close(),
  }
}

const NO_SMALL: ObjectSink = {
  put: async () => await Promise.reject(new Error('This object has less than one stripe.')),
}

function losable(platform: VirtualPlatform, drive: LocalDrive, target: ShardTarget): TestDrive {
  const { id, domain, weight, node, region } = target
  const state = { isLost: false, readMs: 0 }
  const must = (): void => {
    if (state.isLost) throw new CairnError('StorageBusy', 'The drive is gone.', { code: 'drive_failed' })
  }
  const there =
    <A extends readonly unknown[], R>(call: (...given: A) => Promise<R>): ((...given: A) => Promise<R>) =>
    async (...given) => {
      must()
      return await call(...given)
    }
  return Object.assign(state, {
    id,
    domain,
    weight,
    node,
    region,
    drive,
    health: () => (state.isLost ? ({ tag: 'down', why: 'gone' } as const) : target.health()),
    write: there(target.write),
    settled: there(target.settled),
    has: (ids: readonly Address[]) => (state.isLost ? ids.map(() => false) : target.has(ids)),
    put: there(target.put),
    commit: there(target.commit),
    stat: there(target.stat),
    keeps: there(target.keeps),
    referrers: there(target.referrers),
    owners: (object: Address) => target.owners(object),
    read: there(async (chunk: Address) => {
      const held = await target.read(chunk)
      // What is not there is known at once.
      if (held !== undefined && state.readMs > 0)
        await new Promise<void>((resolve) => platform.clock.timer(state.readMs, resolve))
      return held
    }),
  })
}
