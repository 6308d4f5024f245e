import type { Disk } from '@cairn/platform'
import { makeDirectories } from '@cairn/platform'

/** Makes the file, and the directories above it, hold exactly these bytes, durably. */
export async function writeWhole(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  await makeDirectories(disk, path.slice(0, path.lastIndexOf('/')))
  await using file = await disk.open(path, { mode: 'append' })
  await file.truncate(0)
  await file.append([bytes])
  await file.sync()
  await disk.syncDirectory(path.slice(0, path.lastIndexOf('/')))
}
