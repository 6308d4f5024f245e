/**
 * What a directory lists, in a file beside the proof of its name, so that a comparison of a copy can say which files
 * differ. It needs no trust: a line for each directory, its tree in base64url, and a tree is believed for its address.
 */
import { CairnError, isKind } from '@cairn/kernel'
import type { Cairn } from '@cairn/sdk'
import {
  type Address,
  addressOf,
  decodeTree,
  encodeTree,
  fromBase64url,
  type TreeEntry,
  toBase64url,
} from '@cairn/wire'
import type { CommandContext } from './command.ts'
import { isThere, readWhole, writeFileWhole } from './local-files.ts'
import { withStorage } from './storage.ts'

export function treesBeside(proofPath: string): string {
  return `${proofPath}.trees`
}

/** Every tree below the address, each once; none where it is of a file. */
export async function writeTrees(context: CommandContext, address: Address, path: string): Promise<void> {
  await withStorage(context, async (cairn, signal) => {
    await writeFileWhole(path, linesOf(cairn, address, signal))
  })
}

async function* linesOf(cairn: Cairn, root: Address, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const seen = new Set<Address>()
  const waiting = [root]
  for (let address = waiting.pop(); address !== undefined; address = waiting.pop()) {
    if (seen.has(address)) continue
    seen.add(address)
    let entries: readonly TreeEntry[]
    try {
      entries = await cairn.readTree(address, { signal })
    } catch (error) {
      if (address === root && isKind(error, 'Malformed') && error.code === 'not_a_tree') return
      throw error
    }
    yield new TextEncoder().encode(`${toBase64url(encodeTree(entries))}\n`)
    for (const entry of entries) if (entry.kind === 'tree') waiting.push(entry.id)
  }
}

/** Reads trees from the file beside the proof; undefined where there is none. */
export async function treesFrom(path: string): Promise<((address: Address) => readonly TreeEntry[]) | undefined> {
  if (!(await isThere(path))) return undefined
  const trees = new Map<Address, Uint8Array>()
  for (const line of new TextDecoder().decode(await readWhole(path)).split('\n')) {
    if (line === '') continue
    const bytes = treeIn(path, line)
    trees.set(addressOf(bytes), bytes)
  }
  return (address) => {
    const bytes = trees.get(address)
    if (bytes !== undefined) return decodeTree(bytes)
    throw new CairnError('NotFound', `${path} does not have the directory ${address}; get it again.`, {
      code: 'no_tree',
    })
  }
}

function treeIn(path: string, line: string): Uint8Array {
  try {
    return fromBase64url(line)
  } catch (cause) {
    throw new CairnError('Integrity', `${path} is damaged: a line of it is not base64url. Get it again.`, {
      code: 'trees_damaged',
      cause,
    })
  }
}
