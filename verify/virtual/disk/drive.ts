/**
 * The part of a machine that survives: what the code sees (`tree`), and how it came to be (`base` and
 * `record`), from which the states after a power cut are made.
 */
import type { Random } from '@cairn/kernel'
import type { DiskEntry, DiskSpace, OpenOptions } from '@cairn/platform'
import { diskFailure, type FileNode, type FileTree, type TreeNode } from '@cairn/platform/testing'
import { type CrashImage, crashImages, drawFates, type ImageOptions } from './crash-images.ts'
import { type DiskEvent, pendingChanges, replay } from './disk-record.ts'
import { cloneTable, emptyTable, Inodes, type InodeTable, prune, treeOf } from './inode-table.ts'

export interface DriveOptions {
  /** What is on it; nothing, if absent. */
  readonly table?: InodeTable
  readonly capacityBytes?: number
  /** What the system calls it. Without one there is no other program that could take its room. */
  readonly device?: string
}

const CAPACITY_BYTES = 2 ** 40

export class Drive {
  /** Paths locked by the life that runs now. */
  readonly locks = new Set<string>()
  /** May be changed at any time: a disk fills up, and is freed. */
  capacityBytes: number
  readonly #device: string | undefined
  readonly #base: InodeTable
  #record: DiskEvent[] = []
  /** Where in the record the writes begin that are still under way. */
  readonly #writing = new Map<FileNode, Set<number>>()
  #tree: FileTree
  #inodes: Inodes

  constructor({ table = emptyTable(), capacityBytes = CAPACITY_BYTES, device }: DriveOptions = {}) {
    this.capacityBytes = capacityBytes
    this.#device = device
    this.#base = cloneTable(table)
    const { tree, ids } = treeOf(this.#base)
    this.#tree = tree
    this.#inodes = new Inodes(tree, ids)
  }

  get space(): DiskSpace {
    const totalBytes = this.capacityBytes
    const freeBytes = Math.max(0, totalBytes - this.#tree.usedBytes)
    return { totalBytes, freeBytes, ...(this.#device === undefined ? {} : { device: this.#device }) }
  }

  open(path: string, mode: OpenOptions['mode']): FileNode {
    const existed = this.#tree.place(path).node !== undefined
    const node = this.#tree.open(path, mode)
    if (!existed) this.#recordLink(path, node)
    return node
  }

  write(file: FileNode, position: number, bytes: Uint8Array): void {
    this.#tree.write(file, position, bytes)
    this.#record.push({ tag: 'write', file: this.#inodes.of(file), position, bytes: new Uint8Array(bytes) })
  }

  /** A write of the file that takes its time: a sync that begins before it ended covers nothing of it. Returns how it ends. */
  beginWrite(file: FileNode, position: number, bytes: Uint8Array): () => void {
    const at = this.recorded
    const underWay = this.#writing.get(file) ?? new Set()
    this.#writing.set(file, underWay.add(at))
    this.write(file, position, bytes)
    return () => void underWay.delete(at)
  }

  resize(file: FileNode, length: number): void {
    this.#tree.resize(file, length)
    this.#record.push({ tag: 'resize', file: this.#inodes.of(file), length })
  }

  rename(from: string, to: string): void {
    const source = this.#tree.place(from)
    const target = this.#tree.place(to)
    this.#tree.rename(from, to)
    if (source.node === undefined || source.node === target.node) return
    this.#record.push({
      tag: 'rename',
      from: { directory: this.#inodes.of(source.directory), name: source.name },
      to: { directory: this.#inodes.of(target.directory), name: target.name },
      node: this.#inodes.of(source.node),
    })
  }

  unlink(path: string): void {
    const { directory, name, node } = this.#tree.place(path)
    this.#tree.unlink(path)
    if (node === undefined) return
    this.#record.push({ tag: 'unlink', directory: this.#inodes.of(directory), name, node: this.#inodes.of(node) })
  }

  makeDirectory(path: string): void {
    const before = this.#find(path)
    this.#tree.makeDirectory(path)
    if (before === undefined) this.#recordLink(path, this.#tree.directory(path))
  }

  directory(path: string): TreeNode {
    return this.#tree.directory(path)
  }

  list(path: string): DiskEntry[] {
    return this.#tree.list(path)
  }

  /** The paths of all files, in all directories. */
  files(from = '.'): string[] {
    return this.list(from).flatMap(({ name, kind }) => {
      const path = from === '.' ? name : `${from}/${name}`
      return kind === 'directory' ? this.files(path) : path
    })
  }

  /** Whether there is something of this name. */
  has(path: string): boolean {
    return this.#find(path) !== undefined
  }

  /** Bytes of a file; 0 for what is none. */
  size(path: string): number {
    const node = this.#find(path)
    return node?.tag === 'file' ? node.bytes.length : 0
  }

  /** Where the record stands: a sync that begins now covers what is before. */
  get recorded(): number {
    return this.#record.length
  }

  /** How much of the record a sync of the file that begins now covers: nothing from a write on that is still under way. */
  covered(file: FileNode): number {
    return Math.min(this.recorded, ...(this.#writing.get(file) ?? []))
  }

  synced(node: TreeNode, upTo: number): void {
    this.#record.push({ tag: 'sync', of: this.#inodes.of(node), upTo })
  }

  syncFailed(node: TreeNode, upTo: number): void {
    this.#record.push({ tag: 'sync-failed', of: this.#inodes.of(node), upTo })
  }

  /** Notes a promise made to somebody, so that a crash image knows what must be in it. */
  mark(label: string): void {
    this.#record.push({ tag: 'mark', label })
  }

  /** Flips one bit where it lies, as a bad sector does. */
  damage(path: string, bit: number): void {
    const { node } = this.#tree.place(path)
    if (node?.tag !== 'file') throw diskFailure('ENOENT', path)
    const byte = new Uint8Array(1)
    node.bytes.read(bit >> 3, byte)
    const flipped = Uint8Array.of((byte[0] ?? 0) ^ (1 << (bit & 7)))
    this.write(node, bit >> 3, flipped)
    this.synced(node, this.recorded)
  }

  /** The bytes of a file; none of what is none. */
  content(path: string): Uint8Array {
    const node = this.#find(path)
    if (node?.tag !== 'file') return new Uint8Array(0)
    const bytes = new Uint8Array(node.bytes.length)
    node.bytes.read(0, bytes)
    return bytes
  }

  /** Another program puts a file there, durably, in the place of what is there. Between two lives. */
  put(path: string, bytes: Uint8Array): void {
    if (this.has(path)) this.unlink(path)
    const { directory } = this.#tree.place(path)
    const node = this.open(path, 'create')
    this.write(node, 0, bytes)
    this.synced(node, this.recorded)
    this.synced(directory, this.recorded)
  }

  /** Another program removes a file, durably. Between two lives. */
  remove(path: string): void {
    const { directory } = this.#tree.place(path)
    this.unlink(path)
    this.synced(directory, this.recorded)
  }

  /** The power goes: what was not durable is kept, lost or torn as the dice fall. Returns what happened, for the trace. */
  crash(random: Random): string {
    const pending = pendingChanges(this.#record, this.#record.length)
    const fates = drawFates(pending, random)
    replay(this.#base, this.#record, this.#record.length, fates)
    const { tree, ids } = treeOf(this.#base)
    prune(this.#base, ids)
    this.#tree = tree
    this.#inodes = new Inodes(tree, ids)
    this.#record = []
    this.processEnded()
    return pending.map(({ change, at }) => `${change.tag} ${fates.get(at)?.tag}`).join(', ')
  }

  /** Nothing of it holds a lock any more, and what it was writing has been written. */
  processEnded(): void {
    this.locks.clear()
    this.#writing.clear()
  }

  /** Every state a crash could leave, had it come after any event since the drive was last at rest. */
  images(options: ImageOptions): Generator<CrashImage> {
    return crashImages(this.#base, this.#record, options)
  }

  #recordLink(path: string, node: TreeNode): void {
    const { directory, name } = this.#tree.place(path)
    this.#record.push({
      tag: 'link',
      directory: this.#inodes.of(directory),
      name,
      node: this.#inodes.of(node),
      kind: node.tag,
    })
  }

  #find(path: string): TreeNode | undefined {
    try {
      return this.#tree.place(path).node
    } catch {
      return undefined
    }
  }
}
