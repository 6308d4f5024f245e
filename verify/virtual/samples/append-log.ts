/** The smallest durable thing there is: a log of lines. `forgets` leaves out one of the syncs it needs. */
import type { Disk } from '@cairn/platform'

export type Forgets = 'nothing' | 'the sync of the file' | 'the sync of the directory'

export async function appendLines(disk: Disk, forgets: Forgets, promise: (line: string) => void): Promise<void> {
  await using file = await disk.open('log', { mode: 'create' })
  if (forgets !== 'the sync of the directory') await disk.syncDirectory('.')
  for (const line of ['first', 'second', 'third']) {
    await file.append([Buffer.from(`${line}\n`)])
    if (forgets !== 'the sync of the file') await file.sync()
    promise(line)
  }
}

export async function readLines(disk: Disk): Promise<string[]> {
  if (!(await disk.list('.')).some(({ name }) => name === 'log')) return []
  await using file = await disk.open('log', { mode: 'read' })
  const bytes = new Uint8Array(await file.size())
  await file.read(0, bytes)
  return Buffer.from(bytes).toString().split('\n').slice(0, -1)
}
