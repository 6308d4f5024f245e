/**
 * What outlives the segments that retention removed, as one file that replaces the one before it.
 *
 *     │ header line, JSON │ a hash for each entry below the minimum │ a row for each version below it │
 *     │ the state, a line for each item │ artifacts of versions that are alive or changed the signers │ BLAKE3 of it all │
 *
 * With it a pruned log still proves every entry it ever had, knows what every name means, and refuses what was
 * committed before.
 */
import { CairnError } from '@cairn/kernel'
import type { LiveItem } from '@cairn/names'
import { type Disk, type DiskFile, jsonIn } from '@cairn/platform'
import { addressFromDigest, canonicalJson, createBlake3, digestOf, equalBytes } from '@cairn/wire'
import { z } from 'zod'
import type { VersionSummary } from './ledger.ts'

const header = z.strictObject({
  format: z.literal('cairn.registry-base/1'),
  /** Entries below it are gone; as many hashes follow. */
  minimum_index: z.int().min(1),
  /** Versions below it lie below the minimum; as many rows follow. */
  versions: z.int().min(1),
  /** The version whose state follows, and its length in bytes. */
  state_version: z.int().min(0),
  state_root: z.string(),
  state_bytes: z.int().min(0),
  /** Versions below `versions` that installed a signer set. */
  signer_sets: z.array(z.int().min(0)),
  artifacts: z.int().min(1),
})

export type BaseHeader = z.output<typeof header>

/** A version below the minimum: what is told of it, and the proposal it came of. */
export interface BaseVersion {
  readonly facts: VersionSummary
  readonly proposalId: string
}

/** An item that stands, and the version that set it. */
export interface BaseItem {
  readonly version: number
  readonly item: LiveItem
}

const HASH_BYTES = 32
const NEWLINE = Uint8Array.of(0x0a)
const ROW_BYTES = 32 + 32 + 8 + 8 + 16
const ARTIFACT_HEAD_BYTES = 12
/** Written, read and hashed at a time: about a millisecond of work. */
const CHUNK_BYTES = 1024 * 1024
const HEADER_BYTES_MAX = 1024 * 1024

export function baseName(minimumIndex: number): string {
  return `base-${String(minimumIndex).padStart(16, '0')}`
}

export function minimumIndexOf(name: string): number | undefined {
  const digits = /^base-(\d{16})$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

export function encodeBaseVersion({ facts, proposalId }: BaseVersion): Uint8Array {
  const row = new Uint8Array(ROW_BYTES)
  const view = new DataView(row.buffer)
  row.set(digestOf(facts.hash))
  row.set(digestOf(facts.payload_b3), 32)
  view.setBigUint64(64, BigInt(facts.log_index))
  view.setBigUint64(72, BigInt(facts.committed_at))
  row.set(Buffer.from(proposalId.slice('p_'.length), 'hex'), 80)
  return row
}

function decodeBaseVersion(version: number, row: Uint8Array): BaseVersion {
  const view = new DataView(row.buffer, row.byteOffset, row.byteLength)
  const facts = {
    version,
    hash: addressFromDigest(row.slice(0, 32)),
    payload_b3: addressFromDigest(row.slice(32, 64)),
    log_index: Number(view.getBigUint64(64)),
    committed_at: Number(view.getBigUint64(72)),
  }
  return { facts, proposalId: `p_${Buffer.from(row.subarray(80)).toString('hex')}` }
}

/** Canonical, since the log names these lines by their hash: one state has one spelling. */
export function encodeBaseItem({ version, item }: BaseItem): Uint8Array {
  return Buffer.concat([canonicalJson({ version, item }), NEWLINE])
}

/** Writes a base piece by piece; it exists once `finish` has resolved, and not at all before. */
export class BaseWriter {
  readonly #disk: Disk
  readonly #directory: string
  readonly #name: string
  readonly #file: DiskFile
  readonly #hasher = createBlake3()
  #buffers: Uint8Array[] = []
  #bytes = 0

  private constructor(disk: Disk, directory: string, name: string, file: DiskFile) {
    this.#disk = disk
    this.#directory = directory
    this.#name = name
    this.#file = file
  }

  static async open(disk: Disk, directory: string, content: BaseHeader): Promise<BaseWriter> {
    const name = baseName(content.minimum_index)
    const file = await disk.open(`${directory}/${name}.new`, { mode: 'append' })
    await file.truncate(0)
    const writer = new BaseWriter(disk, directory, name, file)
    await writer.write(new TextEncoder().encode(`${JSON.stringify(content)}\n`))
    return writer
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#buffers.push(bytes)
    this.#bytes += bytes.length
    if (this.#bytes >= CHUNK_BYTES) await this.#flush()
  }

  async writeArtifact(version: number, record: Uint8Array): Promise<void> {
    const head = new Uint8Array(ARTIFACT_HEAD_BYTES)
    const view = new DataView(head.buffer)
    view.setBigUint64(0, BigInt(version))
    view.setUint32(8, record.length)
    await this.write(head)
    await this.write(record)
  }

  async finish(): Promise<void> {
    await this.#flush()
    await this.#file.append([this.#hasher.digest()])
    await this.#file.sync()
    await this.#file.close()
    await this.#disk.rename(`${this.#directory}/${this.#name}.new`, `${this.#directory}/${this.#name}`)
    await this.#disk.syncDirectory(this.#directory)
  }

  /** Gives up: what was written is overwritten by the next attempt. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#file.close()])
  }

  async #flush(): Promise<void> {
    const buffers = this.#buffers
    this.#buffers = []
    this.#bytes = 0
    for (const buffer of buffers) this.#hasher.update(buffer)
    if (buffers.length > 0) await this.#file.append(buffers)
  }
}

/** A base that was found and read whole. */
export interface Base {
  readonly path: string
  readonly header: BaseHeader
  readonly versions: readonly BaseVersion[]
  readonly items: readonly BaseItem[]
  /** Where in the file the kept artifacts are, by version. */
  readonly artifacts: ReadonlyMap<number, { readonly offset: number; readonly length: number }>
}

/** Reads a base; `onHash` hears the hash of every entry below the minimum, in order. Throws `Integrity` if it is damaged. */
export async function readBase(disk: Disk, path: string, onHash: (hash: Uint8Array) => void): Promise<Base> {
  await using file = await disk.open(path, { mode: 'read' })
  const cursor = new Cursor(file, (await file.size()) - HASH_BYTES)
  const parsed = header.safeParse(jsonIn(await cursor.line(HEADER_BYTES_MAX)))
  if (!parsed.success) throw damagedBase(path)
  const content = parsed.data
  for (let index = 0; index < content.minimum_index; index += 1) onHash(await cursor.take(HASH_BYTES))
  const versions: BaseVersion[] = []
  for (let version = 0; version < content.versions; version += 1)
    versions.push(decodeBaseVersion(version, await cursor.take(ROW_BYTES)))
  const items: BaseItem[] = []
  for (const end = cursor.position + content.state_bytes; cursor.position < end; )
    items.push(jsonIn(await cursor.line(HEADER_BYTES_MAX)) as BaseItem)
  const artifacts = new Map<number, { offset: number; length: number }>()
  for (let count = 0; count < content.artifacts; count += 1) {
    const head = await cursor.take(ARTIFACT_HEAD_BYTES)
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
    const [version, length] = [Number(view.getBigUint64(0)), view.getUint32(8)]
    artifacts.set(version, { offset: cursor.position, length })
    await cursor.take(length)
  }
  if (!(await cursor.isWhole())) throw damagedBase(path)
  return { path, header: content, versions, items, artifacts }
}

export function damagedBase(path: string): CairnError {
  const detail = `The file ${path}, which stands for the pruned part of the log, is damaged. Restore it from a backup.`
  return new CairnError('Integrity', detail, { code: 'LogDamaged' })
}

/** Reads a file from its beginning, and hashes what was read. */
class Cursor {
  readonly #file: DiskFile
  readonly #end: number
  readonly #hasher = createBlake3()
  #window = new Uint8Array(0)
  #at = 0
  #read = 0

  constructor(file: DiskFile, end: number) {
    this.#file = file
    this.#end = end
  }

  get position(): number {
    return this.#read - (this.#window.length - this.#at)
  }

  /** The next bytes; a view that is valid until the next call. */
  async take(count: number): Promise<Uint8Array> {
    if (this.#window.length - this.#at < count) await this.#fill(count)
    const bytes = this.#window.subarray(this.#at, this.#at + count)
    this.#at += count
    return bytes
  }

  async line(bytesMax: number): Promise<Uint8Array> {
    for (;;) {
      const end = this.#window.indexOf(0x0a, this.#at)
      if (end >= 0) return await this.take(end + 1 - this.#at)
      const there = this.#window.length - this.#at
      if (there >= bytesMax) throw damagedBase(this.#file.path)
      await this.#fill(there + 1)
    }
  }

  /** Whether everything was read, and is what was written. */
  async isWhole(): Promise<boolean> {
    if (this.position !== this.#end) return false
    const digest = new Uint8Array(HASH_BYTES)
    return (await this.#file.read(this.#end, digest)) === HASH_BYTES && equalBytes(digest, this.#hasher.digest())
  }

  async #fill(count: number): Promise<void> {
    const rest = this.#window.subarray(this.#at)
    const want = Math.min(Math.max(count - rest.length, CHUNK_BYTES), this.#end - this.#read)
    const window = new Uint8Array(rest.length + Math.max(0, want))
    window.set(rest)
    const fresh = window.subarray(rest.length)
    const filled = fresh.length === 0 ? 0 : await this.#file.read(this.#read, fresh)
    if (rest.length + filled < count) throw damagedBase(this.#file.path)
    this.#hasher.update(fresh.subarray(0, filled))
    this.#read += filled
    this.#window = window.subarray(0, rest.length + filled)
    this.#at = 0
  }
}
