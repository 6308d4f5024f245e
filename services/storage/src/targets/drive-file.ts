/**
 * Who a drive is, and which drives this node has had.
 *
 *     <drive>/drive.json         {uuid, store}                   goes with the drive, wherever it is mounted
 *     <service>/drives.json      store, and for each path: uuid, when it was last seen     stays with the node
 *
 * A path that once was a drive and has no `drive.json` now is a drive that is missing, not a new one: nothing is ever
 * made anew under its name. Times are wall times of this node; they only tell how long a drive was away.
 */
import { CairnError, toCairnError } from '@cairn/kernel'
import { makeDirectories, type Platform, readSmallJson, replaceSmallJson } from '@cairn/platform'
import { toHex } from '@cairn/wire'
import { z } from 'zod'

const uuid = z.string().regex(/^[0-9a-f]{32}$/)
const driveFile = z.strictObject({ uuid, store: uuid })
const driveList = z.strictObject({
  store: uuid,
  /** When this node last said that it runs. */
  alive_at: z.number(),
  drives: z.record(z.string(), z.strictObject({ uuid, seen_at: z.number() })),
})

export type DriveFile = z.output<typeof driveFile>
export type DriveList = z.output<typeof driveList>

type DriveFilePlatform = Pick<Platform, 'disk' | 'random' | 'clock'>

const LIST_NAME = 'drives.json'

export async function readDriveFile({ disk }: DriveFilePlatform, path: string): Promise<DriveFile | undefined> {
  return await readJson(disk, `${path}/drive.json`, driveFile)
}

/** The file of the drive at this path. One that nobody knows yet is made; one that is known and absent is an error. */
export async function identifyDrive(machine: DriveFilePlatform, path: string, list: DriveList): Promise<DriveFile> {
  const found = await readDriveFile(machine, path)
  if (found?.store === list.store) return found
  if (found !== undefined) throw unavailable(`The drive at ${path} belongs to another node; nothing on it is touched.`)
  const known = list.drives[path]
  if (known !== undefined)
    throw unavailable(
      `The drive ${known.uuid.slice(0, 8)} is not at ${path}; mount it again, or take it out of storage.drives.`,
    )
  const fresh = { uuid: toHex(machine.random.bytes(16)), store: list.store }
  await makeDirectories(machine.disk, path)
  await replaceSmallJson(machine.disk, `${path}/drive.json`, fresh)
  return fresh
}

/** The list of this node. A node that lost its own learns its store from the first drive that has one. */
export async function readDriveList(
  machine: DriveFilePlatform,
  directory: string,
  paths: readonly string[],
): Promise<DriveList> {
  const list = await readJson(machine.disk, `${directory}/${LIST_NAME}`, driveList)
  if (list !== undefined) return list
  let failure: CairnError | undefined
  for (const path of paths) {
    try {
      const found = await readDriveFile(machine, path)
      if (found !== undefined) return { store: found.store, alive_at: machine.clock.wall(), drives: {} }
    } catch (error) {
      // Another drive may tell. If none does, this one might have: it would be a stranger to a store made up now.
      failure ??= toCairnError(error)
    }
  }
  if (failure !== undefined) throw failure
  return { store: toHex(machine.random.bytes(16)), alive_at: machine.clock.wall(), drives: {} }
}

export async function writeDriveList({ disk }: DriveFilePlatform, directory: string, list: DriveList): Promise<void> {
  await replaceSmallJson(disk, `${directory}/${LIST_NAME}`, list)
}

function unavailable(detail: string): CairnError {
  return new CairnError('StorageBusy', detail, { code: 'drive_failed', retryAfterMs: 5000 })
}

async function readJson<S extends z.ZodType>(
  disk: DriveFilePlatform['disk'],
  path: string,
  schema: S,
): Promise<z.output<S> | undefined> {
  const read = await readSmallJson(disk, path, schema)
  if (read.tag === 'damaged')
    throw new CairnError('Integrity', `The file ${path} is damaged; restore it from a backup.`)
  return read.tag === 'read' ? read.value : undefined
}
