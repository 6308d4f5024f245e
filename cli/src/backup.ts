/** `cairn backup create|restore`: a copy of everything that cannot be made again, and a node out of it. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { CairnError, KERNEL_METRICS, MemoryLog, MemoryMetrics, SystemClock, systemRuntime } from '@cairn/kernel'
import { backupBytes, backupSize, configSchemas, createBackup, Machine, restoreBackup, SERVICES } from '@cairn/node'
import { loadConfig, RealDisk, replaceSmallFile } from '@cairn/platform'
import { spellBytes, spellCount, spellSeconds } from '@cairn/wire'
import { type CommandContext, type CommandHandler, dataFlag, dataPath } from './command.ts'
import { sourcesOf } from './config.ts'
import { withNode } from './node-admin.ts'
import { Progress } from './progress.ts'

// When the last backup of a data directory was made, written into it by whoever made it.

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

/** How long the node waits for the next renewal before maintenance goes on. */
const HOLD_S = 60
const RENEW_MS = 15_000

/** Copies the data directory, consistently while the node runs; with a passphrase, private keys too. */
export const create: CommandHandler = async (context) => {
  const { given, terminal } = context
  const { clock, random } = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const data = dataPath(given, terminal.environment)
  const into = resolve(given.operands[0] ?? '')
  const passphrase = await passphraseOf(context)
  const drives = await drivesOf(context)
  const progress = new Progress(terminal, given, clock)
  const totalBytes = await backupBytes(data, drives)
  const report = await whileHeld(context, async (renew) => {
    let bytes = 0
    const onPiece = async (more: number): Promise<void> => {
      bytes += more
      progress.show({ bytes, totalBytes })
      await renew()
    }
    return await createBackup({ data, into, drives, passphrase, random, now: clock.wall(), onPiece })
  })
  progress.end({ bytes: report.bytes, totalBytes: report.bytes, files: report.files })
  await remember(data, { completed_at: clock.wall(), path: into, bytes: report.bytes })
  return {
    result: { path: into, ...report },
    data: `${into}\n`,
    message: `${spellCount(report.files, 'file')}, ${spellBytes(report.bytes)} in ${spellSeconds(progress.elapsedMs)}`,
    warnings:
      report.keys === 'none'
        ? ['private keys are not in it; --passphrase-file FILE seals them into it, or keep them elsewhere']
        : [],
    next: [`npx cairn backup restore ${into} --data DIR`],
  }
}

/** Makes a data directory out of a backup, and proves it before it gets its name. */
export const restore: CommandHandler = async (context) => {
  const { given, terminal } = context
  const from = resolve(given.operands[0] ?? '')
  const data = dataPath(given, terminal.environment)
  const passphrase = await passphraseOf(context)
  const progress = new Progress(terminal, given, new SystemClock())
  const totalBytes = await backupSize(from)
  let bytes = 0
  const onPiece = (more: number): void => {
    bytes += more
    progress.show({ bytes, totalBytes })
  }
  await using machine = new Machine({ level: 'error', format: 'json', memoryBytes: undefined })
  const report = await restoreBackup(machine, { from, data, passphrase, onPiece })
  progress.end({ bytes, totalBytes, files: report.files })
  const { absent } = report
  const drives = report.drives.map((drive) => JSON.stringify(drive)).join(', ')
  return {
    result: { data, ...report },
    data: `${data}\n`,
    message: `${spellCount(report.records, 'record')} and ${spellCount(report.objects, 'named object')} read and proved`,
    warnings: [
      ...(absent.length === 0
        ? []
        : [
            `${spellCount(absent.length, 'object')} that names mean were not in the backup: ${absent.slice(0, 3).join(' ')}`,
          ]),
      ...(report.damage.length === 0
        ? []
        : [
            `storage was damaged in ${spellCount(report.damage.length, 'place')} when it was copied; what names mean is whole`,
          ]),
      ...(report.keys === 'new'
        ? ['the node has new keys and a new identity; tokens of the old one are worth nothing here']
        : ['the node has the keys and the identity of the old one; never run both']),
      ...(drives === '' ? [] : [`set storage.drives = [${drives}] before it starts`]),
      report.keys === 'new'
        ? 'the registry only reads: its keys are not here, and nothing can sign for its log without them'
        : 'the registry only reads until it is adopted',
    ],
    next: [`npx cairn start${dataFlag(given)}`, ...(report.keys === 'new' ? [] : ['npx cairn registry adopt --help'])],
  }
}

async function passphraseOf({ given }: CommandContext): Promise<Uint8Array | undefined> {
  const path = given.text('passphrase-file')
  if (path === undefined) return undefined
  const passphrase = Buffer.from((await readFile(path, 'utf8')).replace(/\r?\n$/, ''))
  if (passphrase.length > 0) return passphrase
  throw new CairnError('Malformed', `The passphrase in ${path} is empty.`, { code: 'usage' })
}

/** Directories that storage uses beside the data directory. */
async function drivesOf(context: CommandContext): Promise<readonly string[]> {
  const loaded = await loadConfig(configSchemas(SERVICES), sourcesOf(context, context.given.text('config')))
  const { storage } = loaded.tag === 'loaded' ? (loaded.values as Readonly<Record<string, unknown>>) : {}
  const drives: unknown = typeof storage === 'object' && storage !== null && 'drives' in storage ? storage.drives : []
  if (!Array.isArray(drives)) return []
  return drives.map((drive: unknown) => {
    return typeof drive === 'object' && drive !== null && 'path' in drive ? String(drive.path) : String(drive)
  })
}

/** Runs `copy` while nothing is removed: the node sees to it, or, where none runs, none can start. */
async function whileHeld<T>(context: CommandContext, copy: (renew: () => Promise<void>) => Promise<T>): Promise<T> {
  return await withNode(context, async (node) => {
    const holder = `backup-${process.pid}`
    if (!(await node.isAlive())) return await whileLocked(context, copy)
    await node.holdBackupLock(holder, HOLD_S)
    let renewedAt = node.runtime.clock.now()
    const renew = async (): Promise<void> => {
      if (node.runtime.clock.now() - renewedAt < RENEW_MS) return
      renewedAt = node.runtime.clock.now()
      await node.holdBackupLock(holder, HOLD_S)
    }
    try {
      return await copy(renew)
    } finally {
      await node.releaseBackupLock(holder)
    }
  })
}

async function whileLocked<T>({ given, terminal }: CommandContext, copy: (renew: () => Promise<void>) => Promise<T>) {
  const disk = new RealDisk(systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS)))
  await using _lock = await disk.lock(`${dataPath(given, terminal.environment)}/lock.db`)
  return await copy(async () => {})
}

async function remember(data: string, record: BackupRecord): Promise<void> {
  const disk = new RealDisk(systemRuntime(new MemoryLog(), new MemoryMetrics(KERNEL_METRICS)))
  await replaceSmallFile(disk, `${data}/${BACKUP_RECORD}`, Buffer.from(`${JSON.stringify(record)}\n`))
}
