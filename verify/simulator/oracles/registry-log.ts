/** The log of the registry as a stranger reads it: all of it, every entry judged, the root of every size computed. */
import assert from 'node:assert/strict'
import { decodeLeaf, type Item, LogReplay, type MadeVersion, type TrustFile } from '@cairn/names'
import type { Crypto } from '@cairn/platform'
import {
  decodeEntryBundle,
  Frontier,
  leafHash,
  openCheckpoint,
  parseCheckpoint,
  parseNote,
  TILE_WIDTH,
  tilePath,
} from '@cairn/tlog'
import { toHex } from '@cairn/wire'
import type { Answer } from '../answer.ts'

export interface LoggedVersion extends MadeVersion {
  readonly proposal: string
  readonly items: readonly Item[]
}

export interface ReadLog {
  /** From version 1 on. */
  readonly versions: readonly LoggedVersion[]
  /** By size, in hexadecimal. */
  readonly roots: readonly string[]
}

export interface SeenCheckpoint {
  readonly size: number
  readonly root: string
}

export type Get = (path: string) => Promise<Answer>

/** What a signed note says, if the log signed it. */
export function checkpointIn(note: Uint8Array, { origin, logKeys }: TrustFile, crypto: Crypto): SeenCheckpoint {
  const { checkpoint } = openCheckpoint(note, { origin, logKeys, cosignerKeys: [] }, crypto)
  return { size: checkpoint.size, root: toHex(checkpoint.root) }
}

/** Every entry up to the checkpoint, unjudged. */
export async function readEntries(get: Get): Promise<Uint8Array[]> {
  const { size } = parseCheckpoint(parseNote((await get('/log/checkpoint')).body).text)
  return await entriesOf(get, size)
}

/** Reads the log up to its checkpoint; throws at the first entry that could not have been made by its rules. */
export async function readLog(get: Get, trust: TrustFile, crypto: Crypto): Promise<ReadLog> {
  const { size, root } = checkpointIn((await get('/log/checkpoint')).body, trust, crypto)
  const read = await replay(await entriesOf(get, size), trust, crypto)
  assert.equal(read.roots[size], root, `the entries of the log are not those of its checkpoint of size ${size}`)
  return read
}

async function entriesOf(get: Get, size: number): Promise<Uint8Array[]> {
  const entries: Uint8Array[] = []
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    const width = Math.min(TILE_WIDTH, size - index * TILE_WIDTH)
    const { body } = await get(`/log/${tilePath({ level: 'entries', index, width })}`)
    entries.push(...decodeEntryBundle(body, width))
  }
  return entries
}

async function replay(
  entries: readonly Uint8Array[],
  { origin, genesis }: TrustFile,
  crypto: Crypto,
): Promise<ReadLog> {
  const log = new LogReplay(origin, crypto, async (version) => await Promise.reject(noPayload(version)))
  const frontier = new Frontier()
  const roots = [toHex(frontier.root())]
  const versions: LoggedVersion[] = []
  const proposed = new Map<string, readonly Item[]>()
  for (const [index, entry] of entries.entries()) {
    await log.take(index, entry)
    frontier.append(leafHash(entry))
    roots.push(toHex(frontier.root()))
    const leaf = decodeLeaf(entry)
    if (leaf.type === 'proposal') proposed.set(leaf.proposal.proposal_id, leaf.payload?.items ?? [])
    if (leaf.type !== 'commit' || log.made === undefined) continue
    versions.push({ ...log.made, proposal: leaf.proposal_id, items: proposed.get(leaf.proposal_id) ?? [] })
  }
  assert.equal(log.genesis, genesis, 'the log begins as it was trusted to')
  return { versions, roots }
}

function noPayload(version: number): Error {
  return new Error(`The payload of version ${version} is not in the log, and nobody proposed one that large.`)
}
