/**
 * What differs between two directories, from their trees alone: what is the same on both sides is never fetched.
 *
 *     both trees, proved ─▶ entries by name ─▶ same address? nothing · directories? look into both · else a change
 */
import { CairnError, isKind } from '@cairn/kernel'
import type { Address, TreeEntry } from '@cairn/wire'
import type { TreeOptions } from './tree.ts'

export interface TreeChange {
  /** From the root, without a leading slash; empty where an address is no directory. */
  readonly path: string
  /** Undefined where there was nothing. */
  readonly before: TreeEntry | undefined
  /** Undefined where there is nothing. */
  readonly after: TreeEntry | undefined
}

export type DiffOptions = Pick<TreeOptions, 'signal'> & {
  /** Entries that are looked at, of both sides together (default 1 000 000). */
  readonly entriesMax?: number
}

const ENTRIES_MAX = 1_000_000
const DEPTH_MAX = 128

/** What a directory lists; `Malformed` with the code `not_a_tree` where the address is of none. */
export type ReadTree = (address: Address) => readonly TreeEntry[] | Promise<readonly TreeEntry[]>

/** Files and links that were added, removed or changed, by path; each side may be absent. */
export async function diffTrees(
  read: ReadTree,
  before: Address | undefined,
  after: Address | undefined,
  options: Pick<DiffOptions, 'entriesMax'> = {},
): Promise<readonly TreeChange[]> {
  const diff = new TreeDiff(read, options)
  if (before !== after) await diff.compare('', await diff.root(before), await diff.root(after), 0)
  return diff.changes
}

type Side = readonly TreeEntry[] | undefined

class TreeDiff {
  readonly changes: TreeChange[] = []
  readonly #read: ReadTree
  readonly #options: Pick<DiffOptions, 'entriesMax'>
  #entries = 0

  constructor(read: ReadTree, options: Pick<DiffOptions, 'entriesMax'>) {
    this.#read = read
    this.#options = options
  }

  /** What the address lists; as a directory of one nameless file where it is none. */
  async root(address: Address | undefined): Promise<Side> {
    if (address === undefined) return undefined
    try {
      return await this.#read(address)
    } catch (error) {
      if (!isKind(error, 'Malformed') || error.code !== 'not_a_tree') throw error
      return [{ name: '', kind: 'file', id: address, size: 0 }]
    }
  }

  async compare(at: string, before: Side, after: Side, depth: number): Promise<void> {
    if (depth > DEPTH_MAX) throw new CairnError('TooLarge', `Directories are nested more than ${DEPTH_MAX} deep.`)
    this.#entries += (before?.length ?? 0) + (after?.length ?? 0)
    const entriesMax = this.#options.entriesMax ?? ENTRIES_MAX
    if (this.#entries > entriesMax)
      throw new CairnError('TooLarge', `These directories have more than ${entriesMax} entries; compare their parts.`)
    const own = new Map((before ?? []).map((entry) => [entry.name, entry]))
    const other = new Map((after ?? []).map((entry) => [entry.name, entry]))
    for (const name of [...new Set([...own.keys(), ...other.keys()])].sort()) {
      const path = at === '' ? name : `${at}/${name}`
      await this.#entry(path, own.get(name), other.get(name), depth)
    }
  }

  async #entry(path: string, before: TreeEntry | undefined, after: TreeEntry | undefined, depth: number) {
    if (isSame(before, after)) return
    const [from, to] = [fileOf(before), fileOf(after)]
    if (from !== undefined || to !== undefined) this.changes.push({ path, before: from, after: to })
    const [old, next] = [await this.#below(before), await this.#below(after)]
    if (old !== undefined || next !== undefined) await this.compare(path, old, next, depth + 1)
  }

  async #below(entry: TreeEntry | undefined): Promise<Side> {
    return entry?.kind === 'tree' ? await this.#read(entry.id) : undefined
  }
}

function isSame(before: TreeEntry | undefined, after: TreeEntry | undefined): boolean {
  if (before === undefined || after === undefined || before.kind !== after.kind) return false
  if (before.kind === 'link') return after.kind === 'link' && before.target === after.target
  if (after.kind === 'link' || before.id !== after.id) return false
  const isExecutable = (entry: TreeEntry): boolean => entry.kind === 'file' && entry.executable === true
  return isExecutable(before) === isExecutable(after)
}

/** The entry where it is no directory: those show by what is in them. */
function fileOf(entry: TreeEntry | undefined): TreeEntry | undefined {
  return entry?.kind === 'tree' ? undefined : entry
}
