/**
 * Opens the directory in which a node keeps everything it must not forget.
 *
 *     .cairn/              0700
 *       .gitignore         `*`: keys and data never end up in a commit
 *       lock.db            held while a node runs here; by one of several processes, while it opens or changes keys
 *       lock-<part>.db     held by the process that runs this part, where each has one of its own
 *       keys/<name>        secrets, 0600
 *       format             written last: from then on every first secret must be there
 *       admin.token        written by the node, once it can mint one
 *       storage/ …         one directory for each service, its own
 *
 * The first start may be cut off anywhere; the next one finds no `format` and goes through the same
 * steps again, each of which leaves what is already there. With a disk in memory the very same steps
 * happen in RAM: that is amnesia.
 */
import { isAbsolute, join } from 'node:path'
import { CairnError, Closeable, Deadline, isKind, type Runtime, sleep } from '@cairn/kernel'
import type { Crypto } from '../crypto.ts'
import type { DiskLock } from '../disk/disk.ts'
import { makeDirectories, readSmallFile, replaceSmallFile } from '../disk/durable-file.ts'
import type { Platform } from '../platform.ts'

// A secret on disk: one line, with a checksum, so that a flipped bit is an error and not another identity.

export interface RootKey {
  /** Follows from the key, so that a root given from outside has the same one on every start. */
  readonly kid: string
  readonly key: Uint8Array
}

const ROOT_KEY_BYTES = 32
const KID_LENGTH = 16

/** A new root for tokens; or, where `given` is set (`CAIRN_ROOT_KEY`, 64 hex digits), that one. */
export function makeRootKey({ random, crypto }: Pick<Platform, 'random' | 'crypto'>, given?: string): RootKey {
  if (given !== undefined && !/^[0-9a-f]{64}$/i.test(given))
    throw new CairnError('Malformed', 'CAIRN_ROOT_KEY must be 64 hex digits, as `openssl rand -hex 32` prints them.')
  const key = given === undefined ? random.bytes(ROOT_KEY_BYTES) : Buffer.from(given, 'hex')
  const digest = crypto.sha256(Buffer.concat([Buffer.from('cairn root key id\n'), key]))
  return { kid: Buffer.from(digest).toString('hex').slice(0, KID_LENGTH), key }
}

type SecretFileDependencies = Pick<Platform, 'disk' | 'crypto'>

const LABEL = 'cairn-secret/1'
const CHECKSUM_BYTES = 8

/** The secret `keys/<name>` below `path`; nothing if there is none. */
export async function readSecret(
  { disk, crypto }: SecretFileDependencies,
  path: string,
  name: string,
): Promise<Uint8Array | undefined> {
  const line = await readSmallFile(disk, `${path}/keys/${name}`)
  return line === undefined ? undefined : decodeSecret(crypto, name, line)
}

/** Writes the secret, for the owner alone and durably before it resolves. The directory `keys` must be there. */
export async function writeSecret(
  { disk, crypto }: SecretFileDependencies,
  path: string,
  name: string,
  secret: Uint8Array,
): Promise<Uint8Array> {
  await replaceSmallFile(disk, `${path}/keys/${name}`, encodeSecret(crypto, secret))
  return secret
}

function encodeSecret(crypto: Crypto, secret: Uint8Array): Uint8Array {
  return Buffer.from(`${LABEL} ${checksum(crypto, secret)} ${Buffer.from(secret).toString('base64url')}\n`)
}

function decodeSecret(crypto: Crypto, name: string, line: Uint8Array): Uint8Array {
  const [label, sum, text, ...rest] = Buffer.from(line).toString('latin1').trimEnd().split(' ')
  const secret = Buffer.from(text ?? '', 'base64url')
  if (label === LABEL && rest.length === 0 && sum === checksum(crypto, secret)) return secret
  throw new CairnError('Integrity', `The key file ${name} is damaged; restore it from a backup of the data directory.`)
}

function checksum(crypto: Crypto, secret: Uint8Array): string {
  return Buffer.from(crypto.sha256(secret).subarray(0, CHECKSUM_BYTES)).toString('hex')
}

/**
 * Returns the directory for what outlives any one data directory: `CAIRN_STATE`, else `cairn` in `XDG_STATE_HOME`, else
 * in `~/.local/state`. Undefined where the environment names none of them, as for a service without a home.
 */
export function stateDirectory(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const { CAIRN_STATE: own = '', XDG_STATE_HOME: states = '', HOME: home = '' } = environment
  if (own !== '') return own
  if (isAbsolute(states)) return join(states, 'cairn')
  return isAbsolute(home) ? join(home, '.local', 'state', 'cairn') : undefined
}

/** What it takes of the platform. */
type DataDirectoryDependencies = Runtime & Pick<Platform, 'disk' | 'crypto'>

export interface DataDirectoryOptions {
  readonly path: string
  /** The secrets every node has, and how the first start makes each. */
  readonly secrets: Readonly<Record<string, () => Uint8Array>>
  /** What of the directory is this process's; other processes may have the rest. All of it unless given. */
  readonly parts?: readonly string[]
  /** What to do about a secret that is missing, where a backup is not the only way. */
  readonly remedies?: Readonly<Record<string, string>>
  /** Secrets to make anew although the directory has been started before: the operator gave up the old ones. */
  readonly remake?: readonly string[]
}

const FORMAT = 1
/** How long another process of the same node may take to open the directory or to change a key. */
const TURN_MS = 5000
const TURN_POLL_MS = 20
const PART_LOCK = /^lock-[a-z]+\.db$/
const FORMAT_LINE = /^cairn-data (\d{1,9})\n$/

/** What an unfinished first start can leave behind. Any other name means that the directory is not ours. */
const FIRST_START_NAMES: readonly string[] = ['.gitignore', '.gitignore.new', 'format.new', 'keys', 'lock.db']

/**
 * Opens the directory, after completing it if need be. No other process can open its parts until it is closed or the
 * process ends.
 */
export async function openDataDirectory(
  machine: DataDirectoryDependencies,
  options: DataDirectoryOptions,
): Promise<DataDirectory> {
  const { path, parts } = options
  if (!(await hasFormat(machine, path))) {
    await makeDirectories(machine.disk, path)
    await refuseForeign(machine, path)
  }
  const lock = parts === undefined ? await takeLock(machine, path) : await takeTurn(machine, path)
  const held: DiskLock[] = []
  try {
    // Checked again under the lock: another process may have completed it meanwhile.
    const isNew = !(await hasFormat(machine, path))
    if (isNew) await beginFirstStart(machine, path)
    const secrets = new Map<string, Uint8Array>()
    for (const [name, make] of Object.entries(options.secrets)) {
      const isGivenUp = options.remake?.includes(name) === true
      const there = isGivenUp ? undefined : await readSecret(machine, path, name)
      if (there === undefined && !isNew && !isGivenUp) throw secretLost(path, name, options.remedies?.[name])
      secrets.set(name, there ?? (await writeSecret(machine, path, name, make())))
    }
    if (isNew) await finishFirstStart(machine, path)
    for (const name of await partLocks(machine, path, parts)) held.push(await takeLock(machine, path, name))
    if (parts === undefined) held.push(lock)
    else await lock.close()
    return new DataDirectory(machine, path, held, secrets, parts !== undefined)
  } catch (error) {
    for (const each of [lock, ...held]) await each.close()
    throw error
  }
}

/** Returns the lock files of these parts, or of every part there is for a caller that opens the whole. */
async function partLocks(
  { disk }: DataDirectoryDependencies,
  path: string,
  parts: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (parts !== undefined) return parts.map((part) => `lock-${part}.db`)
  return (await disk.list(path)).map(({ name }) => name).filter((name) => PART_LOCK.test(name))
}

export class DataDirectory extends Closeable {
  readonly path: string
  /** Other processes have parts of it, and may change its keys. */
  readonly isShared: boolean
  readonly #machine: DataDirectoryDependencies
  readonly #locks: readonly DiskLock[]
  readonly #secrets: Map<string, Uint8Array>

  constructor(
    machine: DataDirectoryDependencies,
    path: string,
    locks: readonly DiskLock[],
    secrets: Map<string, Uint8Array>,
    isShared: boolean,
  ) {
    super(machine, `data ${path}`)
    this.path = path
    this.isShared = isShared
    this.#machine = machine
    this.#locks = locks
    this.#secrets = secrets
  }

  /** Runs the change while no other process changes a key; what it reads with `latest` is then what it may replace. */
  async exclusively<T>(change: () => Promise<T>): Promise<T> {
    if (!this.isShared) return await change()
    await using _turn = await takeTurn(this.#machine, this.path)
    return await change()
  }

  /** Returns the secret as it is on disk now, where other processes may change it. */
  async latest(name: string): Promise<Uint8Array> {
    const there = this.isShared ? await readSecret(this.#machine, this.path, name) : undefined
    if (there !== undefined) this.#secrets.set(name, there)
    return this.secret(name)
  }

  /** Returns a secret that was named when the directory was opened. */
  secret(name: string): Uint8Array {
    const secret = this.#secrets.get(name)
    if (secret === undefined) throw new CairnError('Internal', `The secret ${name} was not named at opening.`)
    return secret
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
    for (const lock of this.#locks) await lock.close()
  }
}

/** Takes the lock of the whole; waits for another process that holds it for a moment. */
async function takeTurn(machine: DataDirectoryDependencies, path: string): Promise<DiskLock> {
  const deadline = Deadline.after(machine.clock, TURN_MS)
  for (;;) {
    try {
      return await takeLock(machine, path)
    } catch (error) {
      if (!isKind(error, 'Conflict') || deadline.expired) throw error
      await sleep(machine.clock, TURN_POLL_MS)
    }
  }
}

async function takeLock({ disk }: DataDirectoryDependencies, path: string, name = 'lock.db'): Promise<DiskLock> {
  try {
    return await disk.lock(`${path}/${name}`)
  } catch (error) {
    if (!isKind(error, 'Conflict') || error.code !== 'locked') throw error
    const detail = `Another cairn is running on ${path}; stop it with \`cairn stop\`, or choose another directory with --data.`
    throw new CairnError('Conflict', detail, { code: 'data_locked', cause: error })
  }
}

async function hasFormat({ disk }: DataDirectoryDependencies, path: string): Promise<boolean> {
  const line = await readSmallFile(disk, `${path}/format`)
  if (line === undefined) return false
  const format = FORMAT_LINE.exec(Buffer.from(line).toString('latin1'))?.[1]
  if (format === undefined)
    throw new CairnError('Integrity', `The file ${path}/format is damaged; restore it from a backup.`)
  if (Number(format) <= FORMAT) return true
  const detail = `${path} has the format ${format} of a newer cairn, and this one reads ${FORMAT}; start the newer one, or choose another directory with --data.`
  throw new CairnError('Conflict', detail, { code: 'data_format' })
}

/** Called before anything is written: a mistyped `--data` must not leave our files in a user's home. */
async function refuseForeign({ disk }: DataDirectoryDependencies, path: string): Promise<void> {
  const names = (await disk.list(path)).map(({ name }) => name)
  const strange = names.find((name) => !FIRST_START_NAMES.includes(name))
  if (strange === undefined || names.includes('format')) return
  const detail = `${path} is not a cairn data directory: it holds ${strange}. Choose an empty or a new directory with --data.`
  throw new CairnError('Conflict', detail, { code: 'data_foreign' })
}

async function beginFirstStart({ disk }: DataDirectoryDependencies, path: string): Promise<void> {
  if ((await readSmallFile(disk, `${path}/.gitignore`)) === undefined)
    await replaceSmallFile(disk, `${path}/.gitignore`, Buffer.from('*\n'))
  await disk.makeDirectory(`${path}/keys`)
  await disk.syncDirectory(path)
}

async function finishFirstStart({ disk }: DataDirectoryDependencies, path: string): Promise<void> {
  // A start that was killed may have left a key whose name is not durable yet; `format` must not be so before it.
  await disk.syncDirectory(`${path}/keys`)
  await replaceSmallFile(disk, `${path}/format`, Buffer.from(`cairn-data ${FORMAT}\n`))
}

function secretLost(path: string, name: string, remedy: string | undefined): CairnError {
  const also = remedy === undefined ? '' : ` ${remedy}`
  const detail = `The key file ${name} is missing; restore ${path}/keys/${name} from a backup of the data directory.${also}`
  return new CairnError('Integrity', detail, { code: 'key_missing' })
}
