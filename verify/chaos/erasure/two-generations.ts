/**
 * One object in two encodings: some drives were away while it was coded anew, and come back with the older one.
 *
 *     drives   0 1 2 │ 3 4 5 6 7 8 9 10 11
 *     6+3      ──────┴──── on nine of them
 *     4+5        away │ ─── on these nine ───      then all are back, five of the nine go, and it is repaired
 */
import { isKind } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import { CHUNK_SIZE, type ErasureModules, ShardScene } from '../../../services/storage/test/shard-drives.ts'
import { noise } from '../../virtual/noise.ts'

const AWAY = [0, 1, 2]
const GOING = [3, 4, 5, 6, 7]

/** What is wrong with it; nothing if all is well. */
export type GenerationFault = 'unreadable' | 'wrong bytes' | 'another generation' | 'not repaired'

export async function twoGenerations(modules?: ErasureModules): Promise<GenerationFault | undefined> {
  const scene = await ShardScene.open(12, modules)
  try {
    return await play(scene)
  } finally {
    await scene.world.runUntilIdle()
    await scene.close()
  }
}

async function play(scene: ShardScene): Promise<GenerationFault | undefined> {
  const bytes = noise(13 * CHUNK_SIZE + 100, 21)
  const { address } = await scene.put(bytes, { k: 6, m: 3 })
  const older = await generationsOf(scene, address)
  scene.lose(AWAY)
  await scene.put(bytes, { k: 4, m: 5 })
  const newer = Math.max(...(await generationsOf(scene, address)))
  if (older.has(newer)) return 'another generation'
  await scene.sweep()
  for (const lost of [[], AWAY, GOING]) {
    scene.lose(lost)
    const fault = await readFault(scene, address, bytes)
    if (fault !== undefined) return fault
  }
  const survey = await attempt(async () => await scene.repairAll(address))
  if (survey === undefined) return 'not repaired'
  for (const [at, drive] of scene.drives.entries()) {
    if (!AWAY.includes(at)) continue
    const facts = await scene.world.run(drive.stat(address))
    if (facts?.stripes?.generation !== newer) return 'another generation'
  }
  return await readFault(scene, address, bytes)
}

async function generationsOf(scene: ShardScene, object: Address): Promise<Set<number>> {
  const there = scene.drives.filter(({ isLost }) => !isLost)
  const facts = await scene.world.run(Promise.all(there.map(async (drive) => await drive.stat(object))))
  return new Set(facts.flatMap((each) => each?.stripes?.generation ?? []))
}

async function readFault(scene: ShardScene, object: Address, bytes: Buffer): Promise<GenerationFault | undefined> {
  const read = await attempt(async () => await scene.read(object))
  if (read === undefined) return 'unreadable'
  return read.equals(bytes) ? undefined : 'wrong bytes'
}

/** Nothing if what is stored does not make sense. */
async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isKind(error, 'Integrity') || isKind(error, 'NotFound')) return undefined
    throw error
  }
}
