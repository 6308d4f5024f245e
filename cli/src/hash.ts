/** `cairn hash PATH…`: the addresses that files and directories would have. Needs no node. */
import { CairnError } from '@cairn/kernel'
import type { DirectoryReader, ReadableEntry } from '@cairn/sdk'
import { type Address, addressOf, DEFAULT_CHUNK_BYTES, encodeTree, ManifestBuilder, type TreeEntry } from '@cairn/wire'
import type { CommandHandler } from './command.ts'
import { fileSource, localDirectory, type Skipped, targetStatOf } from './local-files.ts'
import { linksOf } from './put.ts'

interface HashedObject {
  readonly id: Address
  readonly size: number
}

/** Takes each directory that was hashed, those below before the one they are in; `path` from the root, without slash. */
export type SeeTree = (path: string, entries: readonly TreeEntry[], id: Address) => void

export async function hashFile(path: string): Promise<HashedObject> {
  return await hashPieces(fileSource(path)())
}

/** The tree that `put` would store, directory by directory. */
export async function hashTree(
  reader: DirectoryReader,
  see: SeeTree = () => undefined,
  at = '',
): Promise<HashedObject> {
  const entries: TreeEntry[] = []
  for await (const entry of reader.entries()) entries.push(await hashEntry(entry, see, at))
  const bytes = encodeTree(entries)
  const id = addressOf(bytes)
  see(at, entries, id)
  return { id, size: bytes.length }
}

async function hashEntry(entry: ReadableEntry, see: SeeTree, at: string): Promise<TreeEntry> {
  const { name } = entry
  switch (entry.kind) {
    case 'link':
      return { kind: 'link', name, target: entry.target }
    case 'tree':
      return { kind: 'tree', name, ...(await hashTree(entry.directory, see, at === '' ? name : `${at}/${name}`)) }
    case 'file': {
      if (typeof entry.open !== 'function') throw new CairnError('Internal', `${name} is no file of this machine.`)
      const hashed = await hashPieces(entry.open())
      return { kind: 'file', name, ...hashed, ...(entry.executable === true ? { executable: true } : {}) }
    }
  }
}

async function hashPieces(pieces: AsyncIterable<Uint8Array>): Promise<HashedObject> {
  const builder = new ManifestBuilder()
  const chunk = new Uint8Array(DEFAULT_CHUNK_BYTES)
  let filled = 0
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const take = Math.min(chunk.length - filled, piece.length - at)
      chunk.set(piece.subarray(at, at + take), filled)
      filled += take
      at += take
      if (filled < chunk.length) continue
      builder.add(chunk)
      filled = 0
    }
  }
  if (filled > 0) builder.add(chunk.subarray(0, filled))
  const { id, size } = builder.finish()
  return { id, size }
}

export const hash: CommandHandler = async ({ given, terminal }) => {
  const skipped: Skipped[] = []
  const objects: { path: string; kind: 'file' | 'tree'; address: Address }[] = []
  for (const path of given.operands) {
    if (path === '-') {
      objects.push({ path, kind: 'file', address: (await hashPieces(terminal.readBytes())).id })
    } else if ((await targetStatOf(path)).isDirectory()) {
      const { id } = await hashTree(localDirectory(path, { links: linksOf(given), skipped }))
      objects.push({ path, kind: 'tree', address: id })
    } else {
      objects.push({ path, kind: 'file', address: (await hashFile(path)).id })
    }
  }
  const outcome = {
    result: { objects, skipped: skipped.map(({ path }) => path) },
    data: objects.map(({ address }) => `${address}\n`).join(''),
  }
  if (skipped.length === 0) return outcome
  return { ...outcome, error: leftOut('Not everything was hashed', skipped) }
}

/** What a command says of a directory that a tree cannot hold whole. */
export function leftOut(what: string, skipped: readonly Skipped[]): CairnError {
  const lines = skipped.map(({ path, why }) => `${path}: left out, ${why}`)
  return new CairnError('Conflict', `${what}:\n${lines.join('\n')}`, { code: 'partial' })
}
