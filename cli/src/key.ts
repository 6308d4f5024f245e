/** `cairn key new [FILE]`: a signer of names. Standard output is its public half, as a signer set lists it. */
import { mkdir, open, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { CairnError, SystemRandom } from '@cairn/kernel'
import { encodeSignerKey, parseSigner, parseSignerKey, type Signer, type SignerKey } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { addressOf, fromBase64url, toBase64url } from '@cairn/wire'
import { type CommandContext, type CommandHandler, dataPath } from './command.ts'
import { isThere, readWhole } from './local-files.ts'

// A signer's key on this machine. Only the command line ever reads it, and only to sign.

type Algorithm = Signer['algo']
type KeyFileContext = Pick<CommandContext, 'given' | 'terminal'>

const SECRET_MODE = 0o600
const OTHERS = 0o077

/** The public half of a seed, base64url. */
export function publicKeyOf(algo: Algorithm, seed: Uint8Array): string {
  return toBase64url(algo === 'ed25519' ? systemCrypto.ed25519PublicKey(seed) : systemCrypto.mlDsa44PublicKey(seed))
}

/** Enough of a public key to tell it from others. */
export function fingerprint(key: string): string {
  return addressOf(fromBase64url(key)).slice('b3:'.length, 'b3:'.length + 16)
}

export function signWith({ signer, seed }: SignerKey, message: Uint8Array): Uint8Array {
  return signer.algo === 'ed25519'
    ? systemCrypto.ed25519Signer(seed)(message)
    : systemCrypto.mlDsa44Signer(seed)(message)
}

/** Where a new key goes unless a file is named: the user's own configuration, never the working directory. */
export function ownKeyPath(environment: Readonly<Record<string, string | undefined>>): string {
  const home = environment['XDG_CONFIG_HOME'] ?? ''
  const config = isAbsolute(home) ? home : join(environment['HOME'] ?? homedir(), '.config')
  return join(config, 'cairn', 'signer.key')
}

/** The key a command signs with: `--key`, else that of the node's data directory, else the user's own. */
export async function signingKeyPath({ given, terminal }: KeyFileContext): Promise<string> {
  const named = given.text('key')
  if (named !== undefined) return named
  const ofNode = join(dataPath(given, terminal.environment), 'registry', 'signer.key')
  return (await isThere(ofNode)) ? ofNode : ownKeyPath(terminal.environment)
}

/** Writes the key for its owner alone, durably. Whatever is there already stays as it is. */
export async function writeKeyFile(path: string, key: SignerKey): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await using file = await open(path, 'wx', SECRET_MODE)
    await file.writeFile(encodeSignerKey(key))
    await file.sync()
    await using directory = await open(dirname(path), 'r')
    await directory.sync()
  } catch (cause) {
    if (hasCode(cause, 'EEXIST')) {
      const detail = `${path} is there already and stays as it is: a key that is overwritten is gone for ever.`
      throw new CairnError('Conflict', detail, { code: 'key_exists', cause })
    }
    throw new CairnError('Malformed', `${path} cannot be written: ${messageOf(cause)}.`, { code: 'unwritable', cause })
  }
}

interface ReadKey {
  readonly key: SignerKey
  readonly warnings: readonly string[]
}

/** The key in a file; a public half that does not follow from the secret one is a damaged file. */
export async function readKeyFile(path: string): Promise<ReadKey> {
  const key = parseKey(path, await keyBytes(path))
  const { algo, key: publicKey } = key.signer
  if (publicKeyOf(algo, key.seed) !== publicKey) throw damaged(path)
  const isOpen = process.platform !== 'win32' && ((await stat(path)).mode & OTHERS) !== 0
  return { key, warnings: isOpen ? [`others on this machine may read ${path}: chmod 600 ${path}`] : [] }
}

async function keyBytes(path: string): Promise<Uint8Array> {
  if (await isThere(path)) return await readWhole(path)
  throw new CairnError('NotFound', `There is no key at ${path}. Name one with --key.`, { code: 'no_key' })
}

function parseKey(path: string, bytes: Uint8Array): SignerKey {
  try {
    return parseSignerKey(bytes)
  } catch (cause) {
    throw damaged(path, cause)
  }
}

function damaged(path: string, cause?: unknown): CairnError {
  const detail = `${path} is not the key file of a signer, or it is damaged; restore it from a backup.`
  return new CairnError('Integrity', detail, { code: 'key_damaged', cause })
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const SEED_BYTES = 32
const ID_DIGITS = 12

export const create: CommandHandler = async ({ given, terminal }) => {
  const path = given.operands[0] ?? ownKeyPath(terminal.environment)
  const algo = given.text('algo') === 'ml-dsa-44' ? 'ml-dsa-44' : 'ed25519'
  const seed = new SystemRandom().bytes(SEED_BYTES)
  const key = publicKeyOf(algo, seed)
  const signer = parseSigner({ id: given.text('id') ?? idOf(key), algo, key })
  await writeKeyFile(path, { signer, seed })
  return {
    result: { ...signer, path },
    data: `${JSON.stringify(signer)}\n`,
    message: `signer ${signer.id} (${algo}), its private key in ${path}; the line above goes into a signer set`,
  }
}

/** For somebody who has no name to give: what the key itself is. */
function idOf(key: string): string {
  return `key-${addressOf(fromBase64url(key)).slice('b3:'.length, 'b3:'.length + ID_DIGITS)}`
}
