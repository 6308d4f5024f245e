/**
 * A file system in memory: directories, names and the bytes of files, every step synchronous.
 *
 *     root ─┬─ "storage" ─┬─ "000001.seg" ──▶ file 3
 *           │             └─ "000002.seg" ──▶ file 5
 *           └─ "format" ──▶ file 2              a file lives on while it is open, named or not
 *
 * `MemoryDisk` and the simulator's disk are shells around it, so both err as the real one does.
 */
import { type DiskEntry, diskFailure, type OpenOptions } from './disk.ts'

/*
 * The bytes of one file.
 *
 *     block 0        block 1      block 2
 *     [64 KiB  ]     (hole)       [ 3 KiB used, 4 KiB allocated ]      length = 2 × 64 KiB + 3 KiB
 *
 * Growing never copies more than one block, a hole costs nothing, and a small file is small.
 */

const BLOCK_BYTES = 64 * 1024
const BLOCK_BYTES_MIN = 256

export class FileBytes {
  #blocks: (Uint8Array | undefined)[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Writes at `position`; a gap after the old end reads as zeros. */
  write(position: number, bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      const at = position + done
      const within = at % BLOCK_BYTES
      const part = bytes.subarray(done, done + BLOCK_BYTES - within)
      this.#room((at - within) / BLOCK_BYTES, within + part.length).set(part, within)
      done += part.length
    }
    this.#length = Math.max(this.#length, position + bytes.length)
  }

  /** Copies from `position` into `into`; returns how many bytes there were. */
  read(position: number, into: Uint8Array): number {
    const count = Math.max(0, Math.min(into.length, this.#length - position))
    for (let done = 0; done < count; ) {
      const at = position + done
      const within = at % BLOCK_BYTES
      const part = Math.min(count - done, BLOCK_BYTES - within)
      const stored = this.#blocks[(at - within) / BLOCK_BYTES]?.subarray(within, within + part)
      into.fill(0, done, done + part)
      if (stored !== undefined) into.set(stored, done)
      done += part
    }
    return count
  }

  /** Makes the file this long: what is cut is gone, what is added reads as zeros. */
  resize(length: number): void {
    if (length < this.#length) {
      const last = Math.floor(length / BLOCK_BYTES)
      this.#blocks.length = Math.min(this.#blocks.length, last + 1)
      this.#blocks[last]?.fill(0, length % BLOCK_BYTES)
    }
    this.#length = length
  }

  /** A copy that shares nothing. */
  clone(): FileBytes {
    const copy = new FileBytes()
    copy.#blocks = this.#blocks.map((block) => block?.slice())
    copy.#length = this.#length
    return copy
  }

  #room(index: number, bytes: number): Uint8Array {
    const block = this.#blocks[index]
    if (block !== undefined && block.length >= bytes) return block
    let size = BLOCK_BYTES_MIN
    while (size < bytes) size *= 2
    const larger = new Uint8Array(size)
    if (block !== undefined) larger.set(block)
    this.#blocks[index] = larger
    return larger
  }
}

export interface FileNode {
  readonly tag: 'file'
  readonly bytes: FileBytes
  /** False once no name leads to it. */
  named: boolean
}

export interface DirectoryNode {
  readonly tag: 'directory'
  readonly entries: Map<string, TreeNode>
}

export type TreeNode = FileNode | DirectoryNode

/** Where a path leads: the directory, the last name, and what is there now. */
export interface TreePlace {
  readonly directory: DirectoryNode
  readonly name: string
  readonly node: TreeNode | undefined
}

export class FileTree {
  readonly root: DirectoryNode
  #usedBytes = 0

  constructor(root: DirectoryNode = newDirectory()) {
    this.root = root
    for (const file of filesOf(root)) this.#usedBytes += file.bytes.length
  }

  /** The bytes of every file that has a name. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  place(path: string): TreePlace {
    const names = namesOf(path)
    const name = names.pop()
    if (name === undefined) throw diskFailure('EISDIR', path)
    const directory = this.#walk(names, path)
    return { directory, name, node: directory.entries.get(name) }
  }

  directory(path: string): DirectoryNode {
    return this.#walk(namesOf(path), path)
  }

  open(path: string, mode: OpenOptions['mode']): FileNode {
    const { directory, name, node } = this.place(path)
    if (node === undefined) {
      if (mode === 'read') throw diskFailure('ENOENT', path)
      const file: FileNode = { tag: 'file', bytes: new FileBytes(), named: true }
      directory.entries.set(name, file)
      return file
    }
    if (mode === 'create') throw diskFailure('EEXIST', path)
    if (node.tag === 'directory') throw diskFailure('EISDIR', path)
    return node
  }

  write(file: FileNode, position: number, bytes: Uint8Array): void {
    const before = file.bytes.length
    file.bytes.write(position, bytes)
    this.#grew(file, before)
  }

  resize(file: FileNode, length: number): void {
    const before = file.bytes.length
    file.bytes.resize(length)
    this.#grew(file, before)
  }

  rename(from: string, to: string): void {
    const source = this.place(from)
    if (source.node === undefined) throw diskFailure('ENOENT', from)
    const target = this.place(to)
    if (target.node === source.node) return
    if (target.node?.tag === 'directory') throw diskFailure('EISDIR', to)
    if (target.node !== undefined) this.#unname(target.node)
    source.directory.entries.delete(source.name)
    target.directory.entries.set(target.name, source.node)
  }

  unlink(path: string): void {
    const { directory, name, node } = this.place(path)
    if (node === undefined) throw diskFailure('ENOENT', path)
    if (node.tag === 'directory') throw diskFailure('EISDIR', path)
    this.#unname(node)
    directory.entries.delete(name)
  }

  makeDirectory(path: string): void {
    if (namesOf(path).length === 0) return
    const { directory, name, node } = this.place(path)
    if (node?.tag === 'file') throw diskFailure('EEXIST', path)
    if (node === undefined) directory.entries.set(name, newDirectory())
  }

  list(path: string): DiskEntry[] {
    const entries = [...this.directory(path).entries]
    return entries.map(([name, { tag }]) => ({ name, kind: tag })).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #walk(names: readonly string[], path: string): DirectoryNode {
    let directory = this.root
    for (const name of names) {
      const node = directory.entries.get(name)
      if (node === undefined) throw diskFailure('ENOENT', path)
      if (node.tag === 'file') throw diskFailure('ENOTDIR', path)
      directory = node
    }
    return directory
  }

  #grew(file: FileNode, before: number): void {
    if (file.named) this.#usedBytes += file.bytes.length - before
  }

  #unname(file: FileNode): void {
    file.named = false
    this.#usedBytes -= file.bytes.length
  }
}

function newDirectory(): DirectoryNode {
  return { tag: 'directory', entries: new Map() }
}

/** `./a//b/` is `a`, `b`. */
function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

function* filesOf(directory: DirectoryNode): Iterable<FileNode> {
  for (const node of directory.entries.values()) {
    if (node.tag === 'file') yield node
    else yield* filesOf(node)
  }
}
