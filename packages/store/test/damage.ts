/** Damages files as drives do: bits flip, ends are cut, stretches are zeroed, a file goes. */
import { crc32 } from 'node:zlib'
import type { Random } from '@cairn/kernel'
import { type Address, addressFromDigest } from '@cairn/wire'
import type { StoreMachine } from '../src/drive/drive.ts'
import {
  ENTRY_BYTES,
  entryFlags,
  entryKind,
  entryLength,
  entryLsn,
  entryOffset,
  writeEntry,
} from '../src/index/entry-lists.ts'
import {
  BLOCK_BYTES,
  BlockSums,
  BlockWriter,
  decodeFoot,
  encodeFoot,
  entryBlocks,
  FOOT_BYTES,
  itemAt,
  linkBlocks,
} from '../src/index/side-file-core.ts'

export async function readFile({ disk }: StoreMachine, path: string): Promise<Uint8Array> {
  await using file = await disk.open(path, { mode: 'read' })
  const bytes = new Uint8Array(await file.size())
  await file.read(0, bytes)
  return bytes
}

export async function writeFile({ disk }: StoreMachine, path: string, bytes: Uint8Array): Promise<void> {
  await disk.unlink(path)
  await using file = await disk.open(path, { mode: 'create' })
  await file.append([bytes])
}

/** One of the things that happen to files. */
function damaged(bytes: Uint8Array, random: Random): Uint8Array | undefined {
  const draw = Math.floor(random.next() * 7)
  const changed = bytes.slice()
  const some = (below: number): number => Math.floor(random.next() * below)
  const flip = (count: number): Uint8Array => {
    for (let left = count; left > 0; left -= 1) {
      const at = some(changed.length)
      changed[at] = (changed[at] ?? 0) ^ (1 << some(8))
    }
    return changed
  }
  if (draw === 0) return flip(1)
  if (draw === 1) return flip(2 + some(399))
  if (draw === 2) return changed.subarray(0, some(bytes.length))
  if (draw === 3) return changed.fill(0, 0, some(bytes.length) + 1)
  if (draw === 4) {
    const from = some(bytes.length)
    return changed.fill(0, from, from + some(bytes.length) + 1)
  }
  // A block of it in the place of another.
  if (draw === 5 && bytes.length >= 2 * BLOCK_BYTES + FOOT_BYTES) {
    changed.copyWithin(0, BLOCK_BYTES, 2 * BLOCK_BYTES)
    return changed
  }
  return undefined
}

export async function damageSideFile(machine: StoreMachine, path: string, random: Random): Promise<void> {
  const bytes = damaged(await readFile(machine, path), random)
  if (bytes === undefined) await machine.disk.unlink(path)
  else await writeFile(machine, path, bytes)
}

export interface LyingEntry {
  readonly id: Address
  readonly kind: number
  readonly flags: number
  readonly offset: number
  readonly length: number
  readonly lsn: number
}

/** Rewrites the entries of a side file with every sum as it should be: what no check of the file can notice. */
export async function lieInSideFile(
  machine: StoreMachine,
  path: string,
  lie: (entry: LyingEntry) => LyingEntry | undefined,
): Promise<void> {
  const bytes = await readFile(machine, path)
  const sum = (data: Uint8Array, before?: number): number => crc32(data, before)
  const foot = decodeFoot(sum, bytes.subarray(-FOOT_BYTES), bytes.length)
  if (foot === undefined) throw new Error(`${path} is no side file.`)
  const sums = new BlockSums(sum, foot)
  const writer = new BlockWriter(sums, 'entries', 0)
  const into = new Uint8Array(ENTRY_BYTES)
  for (let block = 0; block < entryBlocks(foot); block += 1) {
    const from = bytes.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)
    for (let item = 0; item < (sums.check(from, 'entries', block) ?? 0); item += 1) {
      const at = itemAt('entries', item)
      const id = from.slice(at, at + 32)
      const told = lie({
        id: addressFromDigest(id),
        kind: entryKind(from, at),
        flags: entryFlags(from, at),
        offset: entryOffset(from, at),
        length: entryLength(from, at),
        lsn: entryLsn(from, at),
      })
      if (told === undefined) continue
      writeEntry(into, 0, id, told)
      writer.add(into, 0)
    }
  }
  const blocks = writer.take(true)
  const links = new BlockWriter(sums, 'links', writer.nextNumber)
  for (let block = entryBlocks(foot); block < entryBlocks(foot) + linkBlocks(foot); block += 1) {
    const from = bytes.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)
    for (let item = 0; item < (sums.check(from, 'links', block) ?? 0); item += 1) links.add(from, itemAt('links', item))
  }
  const whole = [...blocks, ...links.take(true), encodeFoot(sum, { ...foot, entries: writer.items })]
  await writeFile(machine, path, Buffer.concat(whole))
}
