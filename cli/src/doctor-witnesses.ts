/** What `cairn doctor` looks at so that nothing vanishes unnoticed: keys, journals, and what is known outside. */
import { constants } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CairnError } from '@cairn/kernel'
import { parseTrust } from '@cairn/names'
import { KEY_FILES, signedRecordPath } from '@cairn/node'
import { jsonIn, stateDirectory } from '@cairn/platform'
import { spellCount } from '@cairn/wire'
import type { Look, Scene } from './doctor.ts'

const INTEGRITY = { kind: 'Integrity', code: 'missing' } as const
const SEGMENT_DIGITS = 10

/** Every key that was made with the data directory is still there. */
export async function checkKeys({ data, flag }: Scene): Promise<Look> {
  if (!(await isThere(`${data}/format`))) return { state: 'good', says: 'none yet; the first start makes them' }
  const missing: string[] = []
  for (const name of KEY_FILES) if (!(await isThere(`${data}/keys/${name}`))) missing.push(`keys/${name}`)
  if (missing.length > 0) {
    const remedy = missing.includes('keys/node-identity')
      ? 'npx cairn backup restore BACKUP --data DIR'
      : `npx cairn token reset${flag}    # or restore the file from a backup`
    return { state: 'bad', says: `missing: ${missing.join(', ')}`, remedy, error: INTEGRITY }
  }
  const signs = await isThere(`${data}/registry/trust.json`)
  if (!signs || (await isThere(`${data}/registry/keys/log-key`))) return { state: 'good', says: 'all there' }
  const says = 'those of the registry are missing: it only reads'
  return { state: 'warn', says, remedy: 'npx cairn registry adopt --help' }
}

/** Whether what the log has signed is known outside of the data directory. */
export async function checkOutside({ data, environment }: Scene): Promise<Look> {
  const origin = await originOf(data)
  if (origin === undefined) return { state: 'good', says: 'nothing was signed yet' }
  const state = stateDirectory(environment)
  const risk = 'an older copy of the data directory that is put back would not be told from it'
  if (state === undefined) {
    const says = `neither CAIRN_STATE, XDG_STATE_HOME nor HOME is set: ${risk}`
    return { state: 'warn', says, remedy: 'CAIRN_STATE=DIR npx cairn start' }
  }
  const path = signedRecordPath(state, origin)
  const record = jsonIn(await readOrNothing(path))
  if (!isRecord(record)) return { state: 'warn', says: `${path} is not there: ${risk}`, remedy: `ls -ld ${state}` }
  if (!(await isWritable(dirname(path))))
    return { state: 'warn', says: `${dirname(path)} cannot be written: ${risk}`, remedy: `ls -ld ${dirname(path)}` }
  const entries = spellCount(record.size, 'entry').replace(/entrys$/, 'entries')
  const isElsewhere = resolve(record.directory) !== resolve(join(data, 'registry'))
  const hint = isElsewhere ? `; last signed in ${record.directory}` : ''
  return { state: 'good', says: `${entries} signed, known outside of the data directory${hint}` }
}

/** With the node down: whether the journal of interop is as long as its witness says. A running node says so itself. */
export async function checkJournals({ data, status, flag }: Scene): Promise<Look> {
  if (!(status instanceof CairnError))
    return { state: 'good', says: 'held against their witnesses by the running node' }
  const durable = durableIn(jsonIn(await readOrNothing(`${data}/interop/witness`)))
  if (durable === undefined) return { state: 'good', says: 'nothing to hold them against yet' }
  const [segment, bytes] = durable
  const name = `${String(segment).padStart(SEGMENT_DIGITS, '0')}.seg`
  const size = await sizeOf(`${data}/interop/journal/${name}`)
  if (size >= bytes) return { state: 'good', says: 'as long as they are known to have been' }
  const says = `interop/journal/${name} has ${size} bytes and had at least ${bytes}`
  return { state: 'bad', says, remedy: `npx cairn interop adopt${flag}    # if no backup has it`, error: INTEGRITY }
}

async function originOf(data: string): Promise<string | undefined> {
  try {
    return parseTrust(await readOrNothing(`${data}/registry/trust.json`)).origin
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is { readonly size: number; readonly directory: string } {
  if (typeof value !== 'object' || value === null || !('size' in value) || !('directory' in value)) return false
  return typeof value.size === 'number' && typeof value.directory === 'string'
}

function durableIn(value: unknown): readonly [number, number] | undefined {
  if (typeof value !== 'object' || value === null || !('durable' in value) || !Array.isArray(value.durable))
    return undefined
  const [segment, bytes] = value.durable.map(Number)
  return segment === undefined || bytes === undefined ? undefined : [segment, bytes]
}

async function readOrNothing(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch {
    return new Uint8Array(0)
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size
  } catch {
    return 0
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch {
    return false
  }
}

async function isWritable(path: string): Promise<boolean> {
  try {
    await access(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
