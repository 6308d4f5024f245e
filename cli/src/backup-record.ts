/** When the last backup of a data directory was made, written into it by whoever made it. */
import { readFile } from 'node:fs/promises'

export const BACKUP_RECORD = 'backup.json'

export interface BackupRecord {
  /** Unix milliseconds. */
  readonly completed_at: number
  readonly path: string
  readonly bytes: number
}

/** The record; nothing if there is none that can be read. */
export async function readBackupRecord(data: string): Promise<BackupRecord | undefined> {
  let fields: unknown
  try {
    fields = JSON.parse(await readFile(`${data}/${BACKUP_RECORD}`, 'utf8'))
  } catch {
    return undefined
  }
  if (typeof fields !== 'object' || fields === null) return undefined
  const { completed_at, path, bytes } = fields as Partial<Record<keyof BackupRecord, unknown>>
  if (typeof completed_at !== 'number' || typeof path !== 'string' || typeof bytes !== 'number') return undefined
  return { completed_at, path, bytes }
}
