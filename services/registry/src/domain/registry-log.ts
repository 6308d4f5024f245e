/**
 * The log on the drive: a journal whose records are entries, artifacts and checkpoints, a base that stands for what was
 * pruned, and what is known of them in memory.
 *
 *     open ─▶ base, replay ─▶ tree, places, ledger          LogWriter ── append ─▶ journal ─▶ durable ─▶ tree, places
 *                                  │                          └─ there is one, and the Committer has it
 *     readers ◀── entries by place, their sums checked       LogTrimmer ── a new base ─▶ segments removed
 *                 tiles from memory                           └─ there is one, and the Pruner has it
 */
import { type CairnError, Closeable, isKind } from '@cairn/kernel'
import { type Artifact, type Signer, signerSetOf } from '@cairn/names'
import { type Disk, makeDirectories, type Platform } from '@cairn/platform'
import {
  type Draft,
  Journal,
  type PlacedRecord,
  type Position,
  type RecordPlace,
  type SubmitOptions,
  type Watermark,
} from '@cairn/store'
import type { Hash, HashReader, Tile } from '@cairn/tlog'
import { pruned } from '../errors.ts'
import { type Base, damagedBase, minimumIndexOf, readBase } from './base-file.ts'
import { Checkpoints, NumberColumn, RecordPositions } from './columns.ts'
import { type CrashPoint, type CrashPointHook, unarmed } from './crash-points.ts'
import { JournalReplay, type LastCheckpoint, type LogViews } from './journal-replay.ts'
import type { Ledger } from './ledger.ts'
import { LogTree } from './log-tree.ts'
import { isLeaf, KIND, numberOf, readArtifactRecord } from './record.ts'

/** Small enough that retention can let go of them one by one, large enough for the largest batch. */
const SEGMENT_BYTES = 16 * 1024 * 1024

export interface LogOptions {
  /** The service's own directory. */
  readonly directory: string
  readonly ioTimeoutMs: number
  readonly segmentBytes?: number | undefined
  /** How far the log is known to have been durable. */
  readonly watermark?: Watermark | undefined
  /** Proposals that expired before are not remembered. */
  readonly notBeforeMs: number
  readonly reach?: CrashPointHook | undefined
  /** Only as far as the last checkpoint: for a log that must not be signed on. */
  readonly isSignedOnly?: boolean
}

export interface OpenedLog {
  readonly log: RegistryLog
  readonly writer: LogWriter
  readonly trimmer: LogTrimmer
  /** Nothing if the log has not begun. */
  readonly ledger: Ledger | undefined
  readonly checkpoint: LastCheckpoint | undefined
  /** The entry after which something lies in the journal that cannot be read and that no entry misses. */
  readonly damagedAfter: number | undefined
}

export interface LogFacts {
  readonly unready: CairnError | undefined
  readonly isStalled: boolean
  readonly segments: number
  readonly bytes: number
}

/** What the readers, the writer and the trimmer of a log have in common. */
interface Inside extends LogViews {
  readonly disk: Disk
  readonly directory: string
  readonly journal: Journal
  /** What was pruned, if anything was. */
  base: Base | undefined
  /** Up to where the log is durable; nothing before the first record of this life. */
  watermark: Watermark | undefined
}

export class RegistryLog extends Closeable {
  readonly #inside: Inside

  private constructor(platform: Platform, inside: Inside) {
    super(platform, `log ${inside.directory}`)
    this.#inside = inside
  }

  static async open(platform: Platform, options: LogOptions): Promise<OpenedLog> {
    const { directory, ioTimeoutMs, watermark, notBeforeMs, segmentBytes = SEGMENT_BYTES, reach = unarmed } = options
    const { disk } = platform
    await makeDirectories(disk, directory)
    const sink = (records: readonly PlacedRecord[], end: Position): void => {
      inside.watermark = { ...end, lsn: records.at(-1)?.lsn ?? 0 }
    }
    const path = `${directory}/journal`
    const journal = await Journal.open(platform, { path, sink, segmentBytes, ioTimeoutMs, watermark })
    const [tree, entries, checkpoints, auditHeads] = [
      new LogTree(),
      new RecordPositions(),
      new Checkpoints(),
      new NumberColumn(),
    ]
    const views: LogViews = { tree, entries, checkpoints, auditHeads }
    const inside: Inside = { disk, directory, journal, ...views, base: undefined, watermark: undefined }
    const log = new RegistryLog(platform, inside)
    try {
      const replay = new JournalReplay(platform.crypto, views, notBeforeMs)
      inside.base = await findBase(disk, directory, tree)
      if (inside.base !== undefined) replay.takeBase(inside.base, await signerSetsIn(disk, inside.base))
      const last = options.isSignedOnly === true ? await lastCheckpoint(journal) : undefined
      for await (const event of journal.replay()) {
        replay.take(event)
        if (last !== undefined && event.tag === 'record' && isSamePlace(event.place, last)) break
      }
      const ledger = replay.finish(journal.unreadable)
      const [writer, trimmer] = [new LogWriter(inside, reach), new LogTrimmer(inside)]
      const { checkpoint, damagedAfter } = replay
      return { log, writer, trimmer, ledger, checkpoint, damagedAfter }
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /** Entries that are durable, published or not. */
  get size(): number {
    return this.#inside.tree.size
  }

  /** Entries below it were removed by retention. */
  get minimumIndex(): number {
    return this.#inside.base?.header.minimum_index ?? 0
  }

  /** Up to where the log is durable; nothing before the first record of this life. */
  get watermark(): Watermark | undefined {
    return this.#inside.watermark
  }

  /** The bytes of an entry. `Pruned` if retention removed them. */
  async entry(index: number): Promise<Uint8Array> {
    return await this.read(this.#placeOf(index))
  }

  /** How long an entry is. `Pruned` if retention removed it. */
  entryBytes(index: number): number {
    return this.#placeOf(index).length
  }

  /** The record at this place, its sums checked. */
  async read(place: RecordPlace): Promise<Uint8Array> {
    return (await this.#inside.journal.read(place)).payload
  }

  /** Whether the artifact of a pruned version was kept. */
  isKept(version: number): boolean {
    return this.#inside.base?.artifacts.has(version) === true
  }

  /** The artifact record of a pruned version; nothing if it was not kept. */
  async keptArtifact(version: number): Promise<Uint8Array | undefined> {
    const { disk, base } = this.#inside
    if (base === undefined) return undefined
    try {
      return await readKept(disk, base, version)
    } catch (error) {
      // The next base has taken its place meanwhile.
      if (!isKind(error, 'NotFound') || this.#inside.base === base) throw error
      return await this.keptArtifact(version)
    }
  }

  /** The hashes of entries `from` up to, not including, `to`, one after the other. */
  leafHashes(from: number, to: number): Uint8Array {
    return this.#inside.tree.leaves(from, to)
  }

  /** The hashes of a tile; it must lie within the log. */
  tile(tile: Tile): Uint8Array {
    return this.#inside.tree.tile(tile)
  }

  /** Hashes of the tree as it was at `size`. */
  hashes(size: number): HashReader {
    return this.#inside.tree.reader(size)
  }

  async rootAt(size: number): Promise<Hash> {
    return await this.#inside.tree.rootAt(size)
  }

  /** The notes of the checkpoints of exactly so many entries, read from the drive, their sums checked. */
  async notesOf(size: number): Promise<readonly Uint8Array[]> {
    const notes: Uint8Array[] = []
    for (const place of this.#inside.checkpoints.of(size)) notes.push(await this.read(place))
    return notes
  }

  /** Indexes of entries below `size` that anchor an audit chain, the newest first, so far as they are still here. */
  *auditHeads(size: number): Generator<number> {
    const { auditHeads } = this.#inside
    for (let row = auditHeads.length - 1; row >= 0; row -= 1) {
      const index = auditHeads.at(row)
      if (index < this.minimumIndex) return
      if (index < size) yield index
    }
  }

  facts(): LogFacts {
    const { unready, isStalled } = this.#inside.journal
    const segments = this.#inside.journal.segments()
    const bytes = segments.reduce((sum, { size }) => sum + size, 0)
    return { unready, isStalled, segments: segments.length, bytes }
  }

  protected override async release(): Promise<void> {
    await this.#inside.journal.close()
  }

  #placeOf(index: number): RecordPlace {
    const place = this.#inside.entries.at(index)
    if (place === undefined) throw pruned(`Entry ${index}`, this.minimumIndex)
    return place
  }
}

/** The only way to write to a log. */
export class LogWriter {
  readonly #inside: Inside
  readonly #reach: CrashPointHook

  constructor(inside: Inside, reach: CrashPointHook) {
    this.#inside = inside
    this.#reach = reach
  }

  get size(): number {
    return this.#inside.tree.size
  }

  /** The root over everything that is durable. */
  root(): Hash {
    return this.#inside.tree.root()
  }

  /**
   * Appends entries, with what belongs to them before each. Once this resolves they are durable and in the tree;
   * `leaves` are their hashes, in order.
   */
  async append(drafts: readonly Draft[], leaves: readonly Hash[]): Promise<readonly PlacedRecord[]> {
    const records = await this.#write(drafts, { lazy: true }, 'entries-written')
    const { tree, entries, auditHeads } = this.#inside
    for (const { kind, place } of records) {
      if (!isLeaf(kind)) continue
      if (kind === KIND.audit_head) auditHeads.push(entries.length)
      entries.push(place)
    }
    for (const hash of leaves) tree.append(hash)
    return records
  }

  /** Makes a checkpoint of the log durable. It may use the reserve: the entries it is of are in the log already. */
  async checkpoint(draft: Draft): Promise<void> {
    const [record] = await this.#write([draft], { lazy: true, freesSpace: true }, 'checkpoint-written')
    if (record !== undefined) this.#inside.checkpoints.push(numberOf(record.id), record.place)
  }

  async #write(drafts: readonly Draft[], options: SubmitOptions, point: CrashPoint) {
    const submission = this.#inside.journal.submit(drafts, options)
    await submission.written()
    await this.#reach(point)
    return await submission.durable()
  }
}

/** A segment of the log and the first entry in it. */
export interface SegmentStart {
  readonly segment: number
  readonly index: number
  readonly bytes: number
}

/** The only way to take something out of a log. */
export class LogTrimmer {
  readonly #inside: Inside

  constructor(inside: Inside) {
    this.#inside = inside
  }

  /** Segments with entries, the oldest first. */
  starts(): SegmentStart[] {
    const { entries, journal, tree } = this.#inside
    const bytesOf = new Map(journal.segments().map(({ number, size }) => [number, size]))
    const starts: SegmentStart[] = []
    for (let index = this.#inside.base?.header.minimum_index ?? 0; index < tree.size; index += 1) {
      const segment = entries.at(index)?.segment
      if (segment === undefined || segment === starts.at(-1)?.segment) continue
      starts.push({ segment, index, bytes: bytesOf.get(segment) ?? 0 })
    }
    return starts
  }

  /** Entries below the base's minimum are not here any more, in one step; the base is durable. */
  adopt(base: Base): void {
    const from = this.#inside.base?.header.minimum_index ?? 0
    for (let index = from; index < base.header.minimum_index; index += 1) this.#inside.entries.remove(index)
    this.#inside.base = base
  }

  /** Removes the segments that lie below the base, and bases before it. Goes on where an earlier attempt stopped. */
  async removeBelow(): Promise<number> {
    const { base, entries, journal, disk, directory } = this.#inside
    if (base === undefined) return 0
    const first = entries.at(base.header.minimum_index)?.segment ?? 0
    const victims = journal.segments().filter(({ number }) => number < first && number !== journal.activeNumber)
    await journal.settleRemovals()
    for (const segment of victims.sort((a, b) => a.number - b.number)) await journal.removeSegment(segment)
    for (const name of await baseNames(disk, directory)) {
      if (`${directory}/${name}` !== base.path) await disk.unlink(`${directory}/${name}`)
    }
    await disk.syncDirectory(directory)
    return victims.length
  }
}

async function lastCheckpoint(journal: Journal): Promise<RecordPlace | undefined> {
  let last: RecordPlace | undefined
  for await (const event of journal.replay())
    if (event.tag === 'record' && event.kind === KIND.checkpoint) last = event.place
  return last
}

function isSamePlace(a: RecordPlace, b: RecordPlace): boolean {
  return a.segment === b.segment && a.offset === b.offset
}

async function baseNames(disk: Disk, directory: string): Promise<string[]> {
  const entries = await disk.list(directory)
  return entries.map(({ name }) => name).filter((name) => minimumIndexOf(name) !== undefined)
}

/** The newest base; each is complete before it has its name. */
async function findBase(disk: Disk, directory: string, tree: LogTree): Promise<Base | undefined> {
  const name = (await baseNames(disk, directory)).sort().at(-1)
  return name === undefined ? undefined : await readBase(disk, `${directory}/${name}`, (hash) => tree.append(hash))
}

async function readKept(disk: Disk, { path, artifacts }: Base, version: number): Promise<Uint8Array | undefined> {
  const kept = artifacts.get(version)
  if (kept === undefined) return undefined
  await using file = await disk.open(path, { mode: 'read' })
  const record = new Uint8Array(kept.length)
  if ((await file.read(kept.offset, record)) !== kept.length) throw damagedBase(path)
  return record
}

/** The signers of each set that was installed below the base. */
async function signerSetsIn(disk: Disk, base: Base): Promise<(readonly Signer[])[]> {
  const sets: (readonly Signer[])[] = []
  for (const version of base.header.signer_sets) {
    const record = await readKept(disk, base, version)
    if (record === undefined) throw damagedBase(base.path)
    const artifact = JSON.parse(new TextDecoder().decode(readArtifactRecord(record).artifact)) as Artifact
    sets.push(signerSetOf(artifact.payload)?.signers ?? [])
  }
  return sets
}
