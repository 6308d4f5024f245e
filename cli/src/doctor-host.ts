/** The drive the data is on: how much room it has, and how long it takes to promise something. */
import { open, readFile, stat, statfs, unlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { CairnError } from '@cairn/kernel'
import { spellBytes } from '@cairn/wire'
import type { Look, Scene } from './doctor.ts'

// How many files and connections the node may have open at once, and how many its configuration may ask for.

/** Beside connections: segments of journals, indexes, the log, sockets of its own. */
const OWN_FILES = 512
/** With less than this a few idle clients take what is needed to answer any. */
const FILES_MIN = 1024

/** Of the running node, else of this process: the runtime raises the soft limit to the hard one when it starts. */
export async function checkFiles({ loaded, status }: Scene): Promise<Look> {
  const pid = status instanceof CairnError ? 'self' : String(status.pid)
  const limit = (await hardLimit(pid)) ?? (await hardLimit('self'))
  if (limit === undefined) return { state: 'good', says: 'how many may be open is not told by this system' }
  if (limit === Infinity) return { state: 'good', says: 'as many as it takes may be open' }
  const wanted = connectionsIn(loaded) + OWN_FILES
  const says = `${limit} may be open; connections and files may come to ${wanted}`
  const remedy = `ulimit -Hn ${wanted}    # or LimitNOFILE=${wanted} in the unit of systemd`
  if (limit < FILES_MIN) {
    return { state: 'bad', says, remedy, error: { kind: 'StorageBusy', code: 'file_limit' } }
  }
  return limit < wanted ? { state: 'warn', says, remedy } : { state: 'good', says }
}

async function hardLimit(pid: string): Promise<number | undefined> {
  try {
    const [, hard] = /^Max open files +\S+ +(\S+)/m.exec(await readFile(`/proc/${pid}/limits`, 'utf8')) ?? []
    return hard === 'unlimited' ? Infinity : hard === undefined ? undefined : Number(hard)
  } catch {
    return undefined
  }
}

/** Every port has a bound of its own. */
function connectionsIn(loaded: Scene['loaded']): number {
  if (loaded.tag === 'refused') return 0
  const services = Object.values(loaded.values as Readonly<Record<string, unknown>>)
  return services.reduce<number>((total, service) => {
    const { ingress } = service as { readonly ingress?: { readonly max_connections?: unknown } }
    const most = ingress?.max_connections
    return total + (typeof most === 'number' ? most : 0)
  }, 0)
}

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
