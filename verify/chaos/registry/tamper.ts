/**
 * One bit changed in what a stopped registry left on its drive: who notices, and what they name.
 *
 *     segment: │ header │ record header │ payload: entry, artifact or checkpoint │ padding │ …      HEAD      keys
 *                  └──────────┴────────────────────┴─ start-up refuses, naming an entry; or the journal says so in its
 *                                                     log; or the deep verifier names an entry; or nothing that can be
 *                                                     seen has changed, which is then compared
 */

import { INGRESS_METRICS } from '@cairn/http'
import { CairnError, KERNEL_METRICS, type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { systemCrypto } from '@cairn/platform'
import {
  decodeSegmentHeader,
  RECORD_HEADER_BYTES,
  RecordSums,
  recordBytes,
  SEGMENT_HEADER_BYTES,
} from '../../../packages/store/src/journal/format.ts'
import type { RegistryConfig } from '../../../services/registry/src/config.ts'
import { isLeaf, KIND, numberOf } from '../../../services/registry/src/domain/record.ts'
import { REGISTRY_METRICS } from '../../../services/registry/src/metrics.ts'
import type { InodeTable } from '../../virtual/disk/inode-table.ts'
import type { VirtualMachine, VirtualPlatform } from '../../virtual/machine.ts'
import { VirtualWorld } from '../../virtual/world.ts'
import { directoryIn, RegistryLife } from './registry-life.ts'
import { runLoad } from './registry-load.ts'
import type { RegistryModule } from './registry-module.ts'
import { holdToUse } from './registry-promises.ts'

export type PlaceClass =
  | 'segment header'
  | 'record header'
  | 'entry'
  | 'artifact'
  | 'checkpoint'
  | 'padding'
  | 'HEAD'
  | 'verify place'
  | 'base'
  | 'log key'
  | 'cosigner key'

export interface TamperPlace {
  readonly class: PlaceClass
  readonly path: string
  readonly from: number
  readonly to: number
  /** The entry it belongs to, where there is one. */
  readonly index: number | undefined
}

export interface Specimen {
  readonly table: () => InodeTable
  readonly places: ReadonlyMap<PlaceClass, readonly TamperPlace[]>
  readonly seen: string
}

/** Who noticed; `harmless` is what changed nothing that can be seen, which was compared. */
export type Detection = 'start-up, by entry' | 'start-up' | 'journal log' | 'deep verifier, by entry' | 'harmless'

const DATA = 'data'
const SEED = 7
/** Made and pruned before others are left open. */
const VERSIONS_BEFORE = 40
const VERIFY_MS_MAX = 60_000
/** By then the deep verifier has read how far it had come. */
const SETTLED_MS = 1_000

function start(machine: VirtualMachine): VirtualPlatform {
  return machine.start({ metrics: { ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY_METRICS } })
}

/** While the specimen is made: so that a part of it is pruned. */
const PRUNING: Partial<RegistryConfig> = {
  checkpoint_interval: 120,
  retention: { policy: 'by-count', max_age: 3_600_000, max_count: 60, target_bytes: 1024 ** 3 },
}

async function openLife(
  registry: RegistryModule,
  platform: VirtualPlatform,
  overrides: Partial<RegistryConfig> = {},
): Promise<RegistryLife> {
  return await RegistryLife.open({ registry, platform, data: DATA, onSigned: () => undefined, overrides })
}

/** Runs a load, writes HEAD down, stops, and says what lies where. */
export async function makeSpecimen(registry: RegistryModule): Promise<Specimen> {
  const world = new VirtualWorld(SEED)
  const machine = world.machine('node')
  const platform = start(machine)
  const pause = async (ms: number): Promise<void> => await world.sleep(ms)
  const live = async (): Promise<string> => {
    const life = await openLife(registry, platform, PRUNING)
    for (let count = 0; count < VERSIONS_BEFORE; count += 1) await holdToUse(life)
    await world.sleep(1_000)
    const random = new SeededRandom(SEED)
    await runLoad({ life, mark: () => undefined, random, clients: 4, stepsEach: 30, pause })
    await life.parts.saveHead()
    if (life.parts.log.minimumIndex === 0) throw new Error('Nothing was pruned.')
    const seen = await look(life)
    await life.stop()
    await platform.workers.close()
    return seen
  }
  const seen = await world.run(live())
  const from = machine.drive.recorded
  const [image] = machine.drive.images({ random: new SeededRandom(SEED), subsetsMax: 1, from })
  if (image === undefined) throw new Error('The drive has no state.')
  const table = (): InodeTable => image.table()
  const places = Map.groupBy([...placesOn(machine)], (place) => place.class)
  return { table, places, seen }
}

/** Everything a reader can see of a registry. */
async function look({ parts }: RegistryLife): Promise<string> {
  const { head, size } = parts.published.value
  const entries: string[] = []
  for (let index = parts.log.minimumIndex; index < size; index += 1)
    entries.push(Buffer.from(await parts.archive.entry(index)).toString())
  const artifacts: string[] = []
  for (let version = 0; version <= head.version; version += 1) {
    const isKept = parts.ledger.facts(version).log_index >= parts.log.minimumIndex || parts.log.isKept(version)
    if (isKept) artifacts.push(Buffer.from((await parts.archive.artifact(version)).bytes).toString())
  }
  const hashes = Buffer.from(parts.log.leafHashes(0, size)).toString('base64')
  return JSON.stringify([
    head,
    size,
    hashes,
    entries,
    artifacts,
    parts.signer.identity,
    parts.signer.logKey.keyId,
    parts.signer.cosignerKey.keyId,
  ])
}

function* placesOn({ drive }: VirtualMachine): Generator<TamperPlace> {
  const directory = directoryIn(DATA)
  const read = (path: string): Uint8Array => {
    const { bytes } = drive.open(path, 'read')
    const all = new Uint8Array(bytes.length)
    bytes.read(0, all)
    return all
  }
  yield { class: 'HEAD', path: `${directory}/HEAD`, from: 0, to: read(`${directory}/HEAD`).length, index: undefined }
  for (const { name } of drive.list(directory)) {
    const path = `${directory}/${name}`
    if (name.startsWith('base-')) yield { class: 'base', path, from: 0, to: read(path).length, index: undefined }
  }
  const verified = `${directory}/verify.json`
  yield { class: 'verify place', path: verified, from: 0, to: read(verified).length, index: undefined }
  for (const { name } of drive.list(`${directory}/keys`)) {
    const path = `${directory}/keys/${name}`
    yield {
      class: name.startsWith('log-key') ? 'log key' : 'cosigner key',
      path,
      from: 0,
      to: read(path).length,
      index: undefined,
    }
  }
  for (const { name } of drive.list(`${directory}/journal`)) {
    if (!name.endsWith('.seg')) continue
    const path = `${directory}/journal/${name}`
    yield* placesIn(path, read(path))
  }
}

const crc32: typeof systemCrypto.crc32 = (bytes, start) => systemCrypto.crc32(bytes, start)

function* placesIn(path: string, bytes: Uint8Array): Generator<TamperPlace> {
  const header = decodeSegmentHeader(crc32, bytes.subarray(0, SEGMENT_HEADER_BYTES))
  if (header === undefined) throw new Error(`${path} is no segment.`)
  const sums = new RecordSums(crc32, header.salt)
  yield { class: 'segment header', path, from: 0, to: SEGMENT_HEADER_BYTES, index: undefined }
  for (let at = SEGMENT_HEADER_BYTES; at < bytes.length; ) {
    const record = sums.decode(bytes, at, at)
    if (record === undefined) break
    const payload = at + RECORD_HEADER_BYTES
    const end = payload + record.length
    const index = indexOf(record)
    yield { class: 'record header', path, from: at, to: payload, index }
    const kind = record.kind === KIND.artifact ? 'artifact' : record.kind === KIND.checkpoint ? 'checkpoint' : 'entry'
    yield { class: kind, path, from: payload, to: end, index }
    at += recordBytes(record.length)
    if (at > end) yield { class: 'padding', path, from: end, to: at, index: undefined }
  }
}

/** The entry by which a record is named: a checkpoint by the last one it covers. */
function indexOf({ kind, id }: { readonly kind: number; readonly id: Uint8Array }): number | undefined {
  if (isLeaf(kind)) return numberOf(id)
  return kind === KIND.checkpoint ? numberOf(id) - 1 : undefined
}

/** Changes one bit of the place and says who noticed. Throws if nobody did and something has changed. */
export async function tamper(
  registry: RegistryModule,
  specimen: Specimen,
  place: TamperPlace,
  random: Random,
): Promise<Detection> {
  const world = new VirtualWorld(SEED)
  const machine = world.machine('node', { table: specimen.table() })
  const bit = 8 * (place.from + Math.floor(random.next() * (place.to - place.from))) + Math.floor(random.next() * 8)
  machine.drive.damage(place.path, bit)
  const platform = start(machine)
  const where = `bit ${bit} of ${place.path} (${place.class}${place.index === undefined ? '' : ` ${place.index}`})`
  try {
    return await world.run(examine(registry, specimen, place, world, platform))
  } catch (error) {
    if (error instanceof CairnError && error.kind === 'Integrity')
      return namesEntry(error.message, place, where) ? 'start-up, by entry' : 'start-up'
    throw new Error(`${where}: ${String(error)}`, { cause: error })
  }
}

/** Whether the refusal names an entry; if the place is in one, it must be that one. */
function namesEntry(message: string, { class: kind, index }: TamperPlace, where: string): boolean {
  const named = /at entry (\d+)/.exec(message)?.[1]
  if (kind === 'entry' && named !== String(index)) throw new Error(`${where}: start-up names ${named}: ${message}`)
  return named !== undefined
}

/** What the start found, or else a round from the beginning. */
async function firstProblem(
  life: RegistryLife,
  world: VirtualWorld,
  platform: VirtualPlatform,
): Promise<number | undefined> {
  await world.sleep(SETTLED_MS)
  return life.parts.verifier.report().bad?.index ?? (await verifyAgain(life, world, platform))
}

/** A whole round from now on: the first entry that is wrong, if one is. */
async function verifyAgain(
  { parts }: RegistryLife,
  world: VirtualWorld,
  { clock }: VirtualPlatform,
): Promise<number | undefined> {
  const since = clock.wall()
  parts.verifier.begin()
  for (let waitedMs = 0; waitedMs < VERIFY_MS_MAX; waitedMs += 100) {
    await world.sleep(100)
    const { bad, completed_at: completed } = parts.verifier.report()
    if (bad !== null) return bad.index
    if (completed !== null && completed > since) return undefined
  }
  throw new Error('The deep verifier does not come to an end.')
}

/** Changes one bit under a registry that runs; returns the entry its deep verifier names. Throws if it names none. */
export async function tamperRunning(
  registry: RegistryModule,
  specimen: Specimen,
  place: TamperPlace,
  random: Random,
): Promise<number> {
  const world = new VirtualWorld(SEED)
  const machine = world.machine('node', { table: specimen.table() })
  const platform = start(machine)
  const run = async (): Promise<number> => {
    const life = await openLife(registry, platform)
    const bit = 8 * (place.from + Math.floor(random.next() * (place.to - place.from)))
    await world.sleep(SETTLED_MS)
    machine.drive.damage(place.path, bit)
    const index = await verifyAgain(life, world, platform)
    if (index === undefined) throw new Error(`Nobody noticed bit ${bit} of ${place.path} (${place.class}).`)
    await life.stop()
    await platform.workers.close()
    return index
  }
  return await world.run(run())
}

async function examine(
  registry: RegistryModule,
  specimen: Specimen,
  place: TamperPlace,
  world: VirtualWorld,
  platform: VirtualPlatform,
): Promise<Detection> {
  const life = await openLife(registry, platform)
  try {
    const found = await firstProblem(life, world, platform)
    if (found !== undefined && place.class === 'checkpoint' && found !== place.index)
      throw new Error(`The deep verifier names ${found}, not ${place.index}.`)
    if (found !== undefined) return 'deep verifier, by entry'
    if (platform.log.lines.some(({ level }) => level === 'error')) return 'journal log'
    if ((await look(life)) !== specimen.seen) throw new Error('Nobody noticed, and what is read has changed.')
    return 'harmless'
  } finally {
    await life.stop()
    await platform.workers.close()
  }
}
