/**
 * A whole file system as a table of numbered files and directories, so that a record of changes can be
 * played onto a copy of it again and again, each time with other changes left out.
 */
import { type DirectoryNode, type FileBytes, type FileNode, FileTree, type TreeNode } from '@cairn/platform/testing'

export type Inode =
  | { readonly tag: 'file'; readonly bytes: FileBytes }
  | { readonly tag: 'directory'; readonly entries: Map<string, number> }

export type InodeTable = Map<number, Inode>

const ROOT = 0

export function emptyTable(): InodeTable {
  return new Map([[ROOT, { tag: 'directory', entries: new Map() }]])
}

export function cloneTable(table: InodeTable): InodeTable {
  const copy: InodeTable = new Map()
  for (const [id, inode] of table) {
    if (inode.tag === 'file') copy.set(id, { tag: 'file', bytes: inode.bytes.clone() })
    else copy.set(id, { tag: 'directory', entries: new Map(inode.entries) })
  }
  return copy
}

/** Forgets what no name leads to any more. */
export function prune(table: InodeTable, ids: ReadonlyMap<TreeNode, number>): void {
  const reachable = new Set(ids.values())
  for (const id of table.keys()) if (!reachable.has(id)) table.delete(id)
}

/** Numbers every node that can be reached, and those given out later. */
export class Inodes {
  readonly #ids = new Map<TreeNode, number>()
  #next: number

  constructor(tree: FileTree, ids: ReadonlyMap<TreeNode, number>) {
    for (const [node, id] of ids) this.#ids.set(node, id)
    this.#ids.set(tree.root, ROOT)
    this.#next = Math.max(ROOT, ...this.#ids.values()) + 1
  }

  of(node: TreeNode): number {
    const known = this.#ids.get(node)
    if (known !== undefined) return known
    const id = this.#next
    this.#next += 1
    this.#ids.set(node, id)
    return id
  }
}

/** The table as a tree to work on, and which node has which number. What no name leads to is left behind. */
export function treeOf(table: InodeTable): { tree: FileTree; ids: ReadonlyMap<TreeNode, number> } {
  const ids = new Map<TreeNode, number>()
  const grow = (id: number): TreeNode => {
    const inode = table.get(id)
    const node: TreeNode = inode?.tag === 'file' ? fileNode(inode.bytes) : { tag: 'directory', entries: new Map() }
    ids.set(node, id)
    if (inode?.tag === 'directory' && node.tag === 'directory') {
      for (const [name, child] of inode.entries) node.entries.set(name, grow(child))
    }
    return node
  }
  const root = grow(ROOT)
  return { tree: new FileTree(root.tag === 'directory' ? root : emptyDirectory()), ids }
}

function fileNode(bytes: FileBytes): FileNode {
  return { tag: 'file', bytes: bytes.clone(), named: true }
}

function emptyDirectory(): DirectoryNode {
  return { tag: 'directory', entries: new Map() }
}
