/**
 * Replay keys on the drive: one sorted file that never changes once it has its name.
 *
 *     │ block 4 KiB │ block │ … │ filter │ first of each block │ foot 64 │
 *        └ sum 4 │ number 4 │ items 2 │ zero 6 │ 185 × (hash 18, last hour 4)
 *
 * A lookup costs no read where the filter knows better, else one block. The filter and the firsts are in memory: about
 * ten bits a key while a run is small, and at most 4 MiB and a fiftieth of a byte a key where it is large.
 */
import { CairnError } from '@cairn/kernel'
import { type DiskFile, jsonIn, type Platform } from '@cairn/platform'
import { canonicalJson, compareBytes, fromBase64url, toBase64url } from '@cairn/wire'

export const HASH_BYTES = 18
export const HOUR_MS = 3_600_000
const ITEM_BYTES = HASH_BYTES + 4
const BLOCK_BYTES = 4096
const ITEMS_AT = 16
const ITEMS_PER_BLOCK = Math.floor((BLOCK_BYTES - ITEMS_AT) / ITEM_BYTES)
const FOOT_BYTES = 256
const FILTER_BITS_MAX = 32 * 1024 * 1024
const BITS_PER_KEY = 10
const PROBES_MAX = 7
/** Blocks that are written, or read by a merge, at once. */
const BATCH_BLOCKS = 32

/** Where runs are kept. */
export type KeyDrive = Pick<Platform, 'disk' | 'crypto' | 'random'>

/** A key as runs keep it. */
export interface KeyItem {
  readonly hash: Uint8Array
  /** The last hour in which it counts, in hours since 1970. */
  readonly hour: number
}

interface RunFoot {
  readonly format: 1
  /** 16 random bytes: sums begin with it, so no block of another run passes for one of this. */
  readonly nonce: string
  readonly items: number
  readonly blocks: number
  readonly filter_bytes: number
  readonly probes: number
  readonly first_hour: number
  readonly last_hour: number
  readonly index_sum: number
}

/** Takes items in order of their hash, and makes the file; it has a name once `finish` resolves, durably. */
export class KeyRunWriter {
  readonly #drive: KeyDrive
  readonly #path: string
  readonly #file: DiskFile
  readonly #nonce: Uint8Array
  readonly #filter: KeyFilter
  readonly #firsts: number[] = []
  #batch: Uint8Array[] = []
  #block = new Uint8Array(BLOCK_BYTES)
  #inBlock = 0
  #items = 0
  #firstHour = Number.POSITIVE_INFINITY
  #lastHour = 0

  private constructor(drive: KeyDrive, path: string, file: DiskFile, itemsMax: number) {
    this.#drive = drive
    this.#path = path
    this.#file = file
    this.#nonce = drive.random.bytes(16)
    this.#filter = KeyFilter.sized(itemsMax)
  }

  static async create(drive: KeyDrive, path: string, itemsMax: number): Promise<KeyRunWriter> {
    const file = await drive.disk.open(`${path}.tmp`, { mode: 'create' })
    return new KeyRunWriter(drive, path, file, itemsMax)
  }

  get items(): number {
    return this.#items
  }

  async add({ hash, hour }: KeyItem): Promise<void> {
    const at = ITEMS_AT + this.#inBlock * ITEM_BYTES
    if (this.#inBlock === 0) this.#firsts.push(prefixOf(hash, 0))
    this.#block.set(hash, at)
    new DataView(this.#block.buffer).setUint32(at + HASH_BYTES, hour)
    this.#filter.add(hash)
    this.#inBlock += 1
    this.#items += 1
    this.#firstHour = Math.min(this.#firstHour, hour)
    this.#lastHour = Math.max(this.#lastHour, hour)
    if (this.#inBlock === ITEMS_PER_BLOCK) await this.#endBlock()
  }

  /** Durable, under its name. */
  async finish(): Promise<void> {
    const { disk, crypto } = this.#drive
    if (this.#inBlock > 0) await this.#endBlock()
    await this.#writeBatch()
    const firsts = new Uint8Array(4 * this.#firsts.length)
    const view = new DataView(firsts.buffer)
    this.#firsts.forEach((first, block) => view.setUint32(4 * block, first))
    const { bytes: filter, probes } = this.#filter
    const foot: RunFoot = {
      format: 1,
      nonce: toBase64url(this.#nonce),
      items: this.#items,
      blocks: this.#firsts.length,
      filter_bytes: filter.length,
      probes,
      first_hour: this.#firstHour,
      last_hour: this.#lastHour,
      index_sum: crypto.crc32(firsts, crypto.crc32(filter)),
    }
    await this.#file.append([filter, firsts, encodeFoot(this.#drive, foot)])
    await this.#file.sync()
    await this.#file.close()
    await disk.rename(`${this.#path}.tmp`, this.#path)
    await disk.syncDirectory(this.#path.slice(0, this.#path.lastIndexOf('/')))
  }

  /** What was written so far goes. */
  async abandon(): Promise<void> {
    await this.#file.close()
    await this.#drive.disk.unlink(`${this.#path}.tmp`)
  }

  async #endBlock(): Promise<void> {
    const view = new DataView(this.#block.buffer)
    view.setUint32(4, this.#firsts.length - 1)
    view.setUint16(8, this.#inBlock)
    view.setUint32(0, blockSum(this.#drive, this.#nonce, this.#block))
    this.#batch.push(this.#block)
    this.#block = new Uint8Array(BLOCK_BYTES)
    this.#inBlock = 0
    if (this.#batch.length === BATCH_BLOCKS) await this.#writeBatch()
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    if (batch.length > 0) await this.#file.append(batch)
  }
}

export class KeyRun {
  readonly path: string
  readonly #drive: KeyDrive
  readonly #file: DiskFile
  readonly #foot: RunFoot
  readonly #nonce: Uint8Array
  readonly #filter: KeyFilter
  readonly #firsts: DataView
  /** Reads that are under way. */
  #users = 0
  #isRetired = false
  #gone: (() => void) | undefined

  private constructor(drive: KeyDrive, path: string, file: DiskFile, foot: RunFoot, index: Uint8Array) {
    this.#drive = drive
    this.path = path
    this.#file = file
    this.#foot = foot
    this.#nonce = fromBase64url(foot.nonce)
    this.#filter = new KeyFilter(index.subarray(0, foot.filter_bytes), foot.probes)
    this.#firsts = new DataView(index.buffer, index.byteOffset + foot.filter_bytes)
  }

  /** `Integrity` if it is not what was written, `NotFound` if it is not there. */
  static async open(drive: KeyDrive, path: string): Promise<KeyRun> {
    const file = await drive.disk.open(path, { mode: 'read' })
    try {
      const size = await file.size()
      const footBytes = new Uint8Array(FOOT_BYTES)
      const footRead = size < FOOT_BYTES ? 0 : await file.read(size - FOOT_BYTES, footBytes)
      const foot = footRead === FOOT_BYTES ? decodeFoot(drive, footBytes) : undefined
      if (foot === undefined) throw runDamaged(path)
      const { blocks, filter_bytes: filterBytes, index_sum: indexSum } = foot
      const index = new Uint8Array(filterBytes + 4 * blocks)
      if (size !== blocks * BLOCK_BYTES + index.length + FOOT_BYTES) throw runDamaged(path)
      const read = await file.read(blocks * BLOCK_BYTES, index)
      if (read !== index.length || drive.crypto.crc32(index) !== indexSum) throw runDamaged(path)
      return new KeyRun(drive, path, file, foot, index)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  get items(): number {
    return this.#foot.items
  }

  get lastHour(): number {
    return this.#foot.last_hour
  }

  get firstHour(): number {
    return this.#foot.first_hour
  }

  /** The last hour in which this key counts, if it is here. */
  async find(hash: Uint8Array): Promise<number | undefined> {
    if (!this.#filter.mayHave(hash)) return undefined
    this.#users += 1
    try {
      for (let block = this.#lastBlockFor(hash); block >= 0; block -= 1) {
        const found = findIn(await this.#readBlocks(block, 1), hash)
        if (found !== undefined) return found
        // Keys that begin alike may lie in several blocks.
        if (this.#firsts.getUint32(4 * block) !== prefixOf(hash, 0)) return undefined
      }
      return undefined
    } finally {
      this.#left()
    }
  }

  /** Everything in it, in order, many at a time. */
  async *batches(): AsyncGenerator<readonly KeyItem[]> {
    const { blocks } = this.#foot
    for (let block = 0; block < blocks; block += BATCH_BLOCKS) {
      yield itemsIn(await this.#readBlocks(block, Math.min(BATCH_BLOCKS, blocks - block)))
    }
  }

  /** Closed once nobody reads it any more. */
  async close(): Promise<void> {
    this.#isRetired = true
    if (this.#users > 0) {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      this.#gone = () => resolve(undefined)
      await promise
    }
    await this.#file.close()
  }

  #left(): void {
    this.#users -= 1
    if (this.#isRetired && this.#users === 0) this.#gone?.()
  }

  /** The last block that may begin at or before this key. */
  #lastBlockFor(hash: Uint8Array): number {
    const prefix = prefixOf(hash, 0)
    let [low, high] = [0, this.#foot.blocks]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#firsts.getUint32(4 * middle) <= prefix) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  async #readBlocks(first: number, count: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(count * BLOCK_BYTES)
    const read = await this.#file.read(first * BLOCK_BYTES, bytes)
    if (read !== bytes.length) throw runDamaged(this.path)
    for (let at = 0; at < count; at += 1) {
      const block = bytes.subarray(at * BLOCK_BYTES, (at + 1) * BLOCK_BYTES)
      const view = new DataView(block.buffer, block.byteOffset)
      const isRight =
        view.getUint32(4) === first + at && view.getUint32(0) === blockSum(this.#drive, this.#nonce, block)
      if (!isRight) throw runDamaged(this.path)
    }
    return bytes
  }
}

/** Bits that say of a key that it is not here; the hash is spread already, so it is only cut. */
class KeyFilter {
  readonly bytes: Uint8Array
  readonly probes: number

  constructor(bytes: Uint8Array, probes: number) {
    this.bytes = bytes
    this.probes = probes
  }

  static sized(items: number): KeyFilter {
    const bits = Math.max(64, Math.min(FILTER_BITS_MAX, items * BITS_PER_KEY))
    const probes = Math.max(1, Math.min(PROBES_MAX, Math.round((bits / Math.max(1, items)) * Math.LN2)))
    return new KeyFilter(new Uint8Array(Math.ceil(bits / 8)), probes)
  }

  add(hash: Uint8Array): void {
    for (let probe = 0; probe < this.probes; probe += 1) {
      const bit = this.#bit(hash, probe)
      this.bytes[bit >>> 3] = (this.bytes[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
  }

  mayHave(hash: Uint8Array): boolean {
    for (let probe = 0; probe < this.probes; probe += 1) {
      const bit = this.#bit(hash, probe)
      if (((this.bytes[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false
    }
    return true
  }

  #bit(hash: Uint8Array, probe: number): number {
    return (prefixOf(hash, 4) + probe * ((prefixOf(hash, 8) | 1) >>> 0)) % (8 * this.bytes.length)
  }
}

function prefixOf(hash: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [hash[at], hash[at + 1], hash[at + 2], hash[at + 3]]
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}

function itemsIn(blocks: Uint8Array): KeyItem[] {
  const view = new DataView(blocks.buffer, blocks.byteOffset)
  const items: KeyItem[] = []
  for (let block = 0; block < blocks.length; block += BLOCK_BYTES) {
    const count = view.getUint16(block + 8)
    for (let item = 0; item < count; item += 1) {
      const at = block + ITEMS_AT + item * ITEM_BYTES
      items.push({ hash: blocks.subarray(at, at + HASH_BYTES), hour: view.getUint32(at + HASH_BYTES) })
    }
  }
  return items
}

function findIn(block: Uint8Array, hash: Uint8Array): number | undefined {
  const view = new DataView(block.buffer, block.byteOffset)
  let [low, high] = [0, view.getUint16(8)]
  while (low < high) {
    const middle = (low + high) >>> 1
    const at = ITEMS_AT + middle * ITEM_BYTES
    const order = compareBytes(block.subarray(at, at + HASH_BYTES), hash)
    if (order === 0) return view.getUint32(at + HASH_BYTES)
    if (order < 0) low = middle + 1
    else high = middle
  }
  return undefined
}

function blockSum({ crypto }: KeyDrive, nonce: Uint8Array, block: Uint8Array): number {
  return crypto.crc32(block.subarray(4), crypto.crc32(nonce))
}

/** JSON in a room of fixed size, and its sum. */
function encodeFoot({ crypto }: KeyDrive, foot: RunFoot): Uint8Array {
  const bytes = new Uint8Array(FOOT_BYTES).fill(0x20)
  bytes.set(canonicalJson({ ...foot }), 4)
  new DataView(bytes.buffer).setUint32(0, crypto.crc32(bytes.subarray(4)))
  return bytes
}

/** The sum is of all that we write, so what has it has the right form. */
function decodeFoot({ crypto }: KeyDrive, bytes: Uint8Array): RunFoot | undefined {
  if (new DataView(bytes.buffer).getUint32(0) !== crypto.crc32(bytes.subarray(4))) return undefined
  return jsonIn(bytes.subarray(4)) as RunFoot
}

function runDamaged(path: string): CairnError {
  const detail = `The replay keys in ${path} are not what was written.`
  return new CairnError('Integrity', detail, { code: 'replay_keys_damaged' })
}
