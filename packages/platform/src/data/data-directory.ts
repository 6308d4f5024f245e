/**
 * Where a node keeps everything it must not forget.
 *
 *     .cairn/              0700
 *       .gitignore         `*`: keys and data never end up in a commit
 *       lock.db            held while a node runs here
 *       keys/<name>        secrets, 0600
 *       format             written last: from then on every first secret must be there
 *       admin.token        written by the node, once it can mint one
 *       storage/ …         one directory for each service, its own
 *
 * The first start may be cut off anywhere; the next one finds no `format` and goes through the same
 * steps again, each of which leaves what is already there. With a disk in memory the very same steps
 * happen in RAM: that is amnesia.
 */
import { CairnError, Closeable, isKind, type Runtime } from '@cairn/kernel'
import type { DiskLock } from '../disk/disk.ts'
import { makeDirectories, readSmallFile, replaceSmallFile } from '../disk/durable-file.ts'
import type { Platform } from '../platform.ts'
import { readSecret, writeSecret } from './secret-file.ts'

/** What it takes of the platform. */
type Machine = Runtime & Pick<Platform, 'disk' | 'crypto'>

export interface DataDirectoryOptions {
  readonly path: string
  /** The secrets every node has, and how the first start makes each. */
  readonly secrets: Readonly<Record<string, () => Uint8Array>>
}

const FORMAT = 1
const FORMAT_LINE = /^cairn-data (\d{1,9})\n$/

/** What an unfinished first start can leave behind. Anything else is somebody's own directory. */
const FIRST_START_NAMES: readonly string[] = ['.gitignore', '.gitignore.new', 'format.new', 'keys', 'lock.db']

/** Opens the directory, made complete first if need be. Nobody else can open it until it is closed or the process ends. */
export async function openDataDirectory(machine: Machine, options: DataDirectoryOptions): Promise<DataDirectory> {
  const { path } = options
  if (!(await hasFormat(machine, path))) {
    await makeDirectories(machine.disk, path)
    await refuseForeign(machine, path)
  }
  const lock = await takeLock(machine, path)
  try {
    // Once more, now that nobody else can be in the middle of it.
    const isNew = !(await hasFormat(machine, path))
    if (isNew) await beginFirstStart(machine, path)
    const secrets = new Map<string, Uint8Array>()
    for (const [name, make] of Object.entries(options.secrets)) {
      const there = await readSecret(machine, path, name)
      if (there === undefined && !isNew) throw secretLost(name)
      secrets.set(name, there ?? (await writeSecret(machine, path, name, make())))
    }
    if (isNew) await finishFirstStart(machine, path)
    return new DataDirectory(machine, path, lock, secrets)
  } catch (error) {
    await lock.close()
    throw error
  }
}

export class DataDirectory extends Closeable {
  readonly path: string
  readonly #machine: Machine
  readonly #lock: DiskLock
  readonly #secrets: Map<string, Uint8Array>

  constructor(machine: Machine, path: string, lock: DiskLock, secrets: Map<string, Uint8Array>) {
    super(machine, `data ${path}`)
    this.path = path
    this.#machine = machine
    this.#lock = lock
    this.#secrets = secrets
  }

  /** A secret that was asked for when the directory was opened. */
  secret(name: string): Uint8Array {
    const secret = this.#secrets.get(name)
    if (secret === undefined) throw new CairnError('Internal', `Nobody asked for the secret ${name}.`)
    return secret
  }

  /** A secret only some nodes have: read, or made and durable before this resolves. */
  async ownSecret(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    const there = this.#secrets.get(name) ?? (await readSecret(this.#machine, this.path, name))
    return there ?? (await this.replaceSecret(name, make()))
  }

  /** Replaces a secret, as a rotation does; the old one is gone once this resolves. */
  async replaceSecret(name: string, secret: Uint8Array): Promise<Uint8Array> {
    await writeSecret(this.#machine, this.path, name, secret)
    this.#secrets.set(name, secret)
    return secret
  }

  /** Leaves the administrator's token where the command line finds it. */
  async writeAdminToken(token: string): Promise<void> {
    await replaceSmallFile(this.#machine.disk, `${this.path}/admin.token`, Buffer.from(`${token}\n`))
  }

  protected override async release(): Promise<void> {
    await this.#lock.close()
  }
}

async function takeLock({ disk }: Machine, path: string): Promise<DiskLock> {
  try {
    return await disk.lock(`${path}/lock.db`)
  } catch (error) {
    if (!isKind(error, 'Conflict') || error.code !== 'locked') throw error
    const detail = `Another cairn is running on ${path}; stop it with \`cairn stop\`, or choose another directory with --data.`
    throw new CairnError('Conflict', detail, { code: 'data_locked', cause: error })
  }
}

async function hasFormat({ disk }: Machine, path: string): Promise<boolean> {
  const line = await readSmallFile(disk, `${path}/format`)
  if (line === undefined) return false
  const format = FORMAT_LINE.exec(Buffer.from(line).toString('latin1'))?.[1]
  if (format === undefined)
    throw new CairnError('Integrity', `The file ${path}/format is damaged; restore it from a backup.`)
  if (Number(format) <= FORMAT) return true
  const detail = `${path} has the format ${format} of a newer cairn, and this one reads ${FORMAT}; start the newer one, or choose another directory with --data.`
  throw new CairnError('Conflict', detail, { code: 'data_format' })
}

/** Before anything is written: a mistyped `--data` must not leave our files in somebody's home. */
async function refuseForeign({ disk }: Machine, path: string): Promise<void> {
  const names = (await disk.list(path)).map(({ name }) => name)
  const strange = names.find((name) => !FIRST_START_NAMES.includes(name))
  if (strange === undefined || names.includes('format')) return
  const detail = `${path} is not a cairn data directory: it holds ${strange}. Choose an empty or a new directory with --data.`
  throw new CairnError('Conflict', detail, { code: 'data_foreign' })
}

async function beginFirstStart({ disk }: Machine, path: string): Promise<void> {
  if ((await readSmallFile(disk, `${path}/.gitignore`)) === undefined)
    await replaceSmallFile(disk, `${path}/.gitignore`, Buffer.from('*\n'))
  await disk.makeDirectory(`${path}/keys`)
  await disk.syncDirectory(path)
}

async function finishFirstStart({ disk }: Machine, path: string): Promise<void> {
  // A start that was killed may have left a key whose name is not durable yet; `format` must not be so before it.
  await disk.syncDirectory(`${path}/keys`)
  await replaceSmallFile(disk, `${path}/format`, Buffer.from(`cairn-data ${FORMAT}\n`))
}

function secretLost(name: string): CairnError {
  return new CairnError('Integrity', `The key file ${name} is missing; restore it from a backup of the data directory.`)
}
