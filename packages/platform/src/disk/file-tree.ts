/**
 * A file system in memory: directories, names and files, every step synchronous.
 *
 *     root ─┬─ "storage" ─┬─ "000001.seg" ──▶ file 3
 *           │             └─ "000002.seg" ──▶ file 5
 *           └─ "format" ──▶ file 2              a file lives on while it is open, named or not
 *
 * `MemoryDisk` and the simulator's disk are shells around it, so both err as the real one does.
 */

import type { DiskEntry, OpenOptions } from './disk.ts'
import { diskFailure } from './disk-error.ts'
import { FileBytes } from './file-bytes.ts'

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
export interface Place {
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

  place(path: string): Place {
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
