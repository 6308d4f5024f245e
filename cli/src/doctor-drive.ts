/** The drive the data is on: how much room it has, and how long it takes to promise something. */
import { open, stat, statfs, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { spellBytes } from '@cairn/wire'
import type { Look, Scene } from './doctor-checks.ts'

/** Enough for a median that one slow sync does not move. */
const SYNCS = 15
const SYNC_BYTES = 4096
/** Every acknowledged write waits for one of these. */
const SYNC_SLOW_MS = 20
const FREE_SHARE_LOW = 0.05

export async function checkDrive({ data, clock, loaded }: Scene): Promise<Look> {
  const { freeBytes, totalBytes } = await roomAt(data)
  const reserveBytes = reserveOf(loaded) - (await heldOf(data))
  const room = `${spellBytes(freeBytes)} of ${spellBytes(totalBytes)} free`
  if (freeBytes < reserveBytes) {
    const says = `${room}, less than the ${spellBytes(reserveBytes)} kept in reserve: nothing new is stored`
    return { state: 'bad', says, remedy: 'df -h', error: { kind: 'StorageBusy', code: 'no_space' } }
  }
  const syncMs = await syncTime(data, () => clock.now())
  const speed =
    syncMs === undefined ? 'sync not measured before there is a data directory' : `sync takes ${spell(syncMs)}`
  if (syncMs !== undefined && syncMs > SYNC_SLOW_MS)
    return {
      state: 'warn',
      says: `${room}; ${speed}: at most ${Math.floor(1000 / syncMs)} rounds of writes a second`,
      remedy: 'npx cairn start --data DIR    # on a local solid-state drive',
    }
  if (freeBytes < totalBytes * FREE_SHARE_LOW) return { state: 'warn', says: `${room}; ${speed}`, remedy: 'df -h' }
  return { state: 'good', says: `${room}; ${speed}` }
}

function spell(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
}

function reserveOf(loaded: Scene['loaded']): number {
  if (loaded.tag === 'refused') return 0
  const { storage } = loaded.values as Readonly<Record<string, Readonly<Record<string, unknown>>>>
  const reserve = storage?.['reserve_bytes']
  return typeof reserve === 'number' ? reserve : 0
}

/** What of the reserve is in a file of its own, and so no longer free. */
async function heldOf(data: string): Promise<number> {
  try {
    return (await stat(`${data}/storage/journal/reserve`)).size
  } catch {
    return 0
  }
}

/** Of the directory, or of the nearest one above it that is there. */
async function roomAt(path: string): Promise<{ readonly freeBytes: number; readonly totalBytes: number }> {
  for (let at = resolve(path); ; at = dirname(at)) {
    try {
      const { bavail, blocks, bsize } = await statfs(at)
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
    } catch (error) {
      if (dirname(at) === at) throw error
    }
  }
}

/** The median of some appends, each synced; nothing where there is no directory to try it in. */
async function syncTime(data: string, now: () => number): Promise<number | undefined> {
  const path = `${data}/doctor.tmp`
  const times: number[] = []
  try {
    await using file = await open(path, 'w', 0o600)
    const bytes = Buffer.alloc(SYNC_BYTES, 1)
    for (let at = 0; at < SYNCS; at += 1) {
      const from = now()
      await file.write(bytes, 0, SYNC_BYTES, at * SYNC_BYTES)
      await file.datasync()
      times.push(now() - from)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  } finally {
    // It may never have been made; what went wrong before is what is told.
    await unlink(path).catch(() => undefined)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(SYNCS / 2)]
}
