/**
 * What lies beside the records of a journal is damaged, vanishes, or is an older copy: what it says is in the records too.
 *
 *     data/…/journal/  0000000001.seg │ records: everything that was told
 *                      0000000001.idx │ where each is            ◀── rots, is cut, goes, comes back as it was
 *                      synced.0  .1   │ how far it is durable    ◀──
 */
import type { Random } from '@cairn/kernel'
import type { Drive } from '../../virtual/disk/drive.ts'
import { DATA } from '../settings.ts'
import type { Fault } from './fault.ts'

const SIDE_FILES = /\/journal\/(?:\d+\.idx|synced\.[01])$/
const BITS_MAX = 40
/** Between the older copies and the restart that finds them. */
const OLDER_MS_MIN = 100
const OLDER_MS_MORE = 1500

/** Bits of some of them flip where they lie, while the node runs; its next start reads them at the latest. */
export const rottenIndex: Fault = (cluster, name, random) => {
  const { machine } = cluster.node(name)
  const files = sideFiles(machine.drive).filter((path) => machine.drive.size(path) > 0)
  if (files.length === 0) return undefined
  for (const path of someOf(files, random)) flip(machine.drive, path, random)
  const lasting = cluster.striking('rotten-index', [name])
  return async () => {
    if (machine.isUp) machine.kill()
    await cluster.bringUp(name)
    lasting[Symbol.dispose]()
  }
}

/** A node ends, and begins on side files that are cut, gone, or what they were a while ago. */
export const lostIndex: Fault = async (cluster, name, random) => {
  const { machine } = cluster.node(name)
  const { drive } = machine
  const older = new Map(sideFiles(drive).map((path) => [path, drive.content(path)]))
  const { lives } = machine
  await cluster.world.sleep(OLDER_MS_MIN + random.next() * OLDER_MS_MORE)
  const isItsOwnEnd = !machine.isUp || machine.lives !== lives
  if (!isItsOwnEnd) {
    if (random.next() < 0.5) await cluster.bringDown(name)
    else machine.kill()
  }
  if (machine.isUp) return undefined
  const files = new Set([...sideFiles(drive), ...older.keys()])
  for (const path of someOf([...files].sort(), random)) lose(drive, path, older.get(path), random)
  const lasting = cluster.striking('lost-index', [name])
  await cluster.bringUp(name)
  return () => lasting[Symbol.dispose]()
}

function sideFiles(drive: Drive): string[] {
  return drive.has(DATA) ? drive.files(DATA).filter((path) => SIDE_FILES.test(path)) : []
}

/** All of them, or each with even chances; never none. */
function someOf(files: readonly string[], random: Random): readonly string[] {
  if (random.next() < 0.3) return files
  const chosen = files.filter(() => random.next() < 0.5)
  return chosen.length > 0 ? chosen : files.slice(0, 1)
}

function flip(drive: Drive, path: string, random: Random): void {
  const bits = 1 + Math.floor(random.next() * BITS_MAX)
  for (let flipped = 0; flipped < bits; flipped += 1)
    drive.damage(path, Math.floor(random.next() * drive.size(path) * 8))
}

function lose(drive: Drive, path: string, older: Uint8Array | undefined, random: Random): void {
  const dice = random.next()
  if (dice < 1 / 3 && older !== undefined) drive.put(path, older)
  else if (drive.has(path) && dice < 2 / 3)
    drive.put(path, drive.content(path).subarray(0, random.next() * drive.size(path)))
  else if (drive.has(path)) drive.remove(path)
}
