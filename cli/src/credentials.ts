/**
 * Which token is shown to which server.
 *
 *     FILE of --token-file  ─▶ the server of the command: through a socket, on this machine, or over TLS
 *     admin.token of --data ─▶ the sockets of that directory, and the ports of the node that listens on them
 *
 * A server that is shown a token can use it, so the token of a data directory never goes to a place that only a command
 * line or an answer names. Reads that need no token are asked without one first; it is shown only after a 401.
 */
import { realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { dirname, resolve } from 'node:path'
import { CairnError } from '@cairn/kernel'
import { unixSocketPath } from '@cairn/transport'
import { type CommandContext, dataPath, tokenPath } from './command.ts'

type CredentialContext = Pick<CommandContext, 'given' | 'terminal'>

/** Codes of the errors below: the server was shown no token, so it cannot have refused one. */
export const NOT_SHOWN: readonly string[] = ['no_token', 'token_of_another_node', 'token_in_clear_text']

export class Credentials {
  /** Where the token is. */
  readonly path: string
  readonly #data: string
  /** `--token-file` names it: it is for this command, wherever the command goes. */
  readonly #isNamed: boolean
  readonly #ownUrls: () => Promise<readonly string[]>
  #found: Promise<readonly string[]> | undefined

  /** `ownUrls` asks the node of the data directory, through its socket, where it and its services listen. */
  constructor({ given, terminal }: CredentialContext, ownUrls: () => Promise<readonly string[]>) {
    this.path = tokenPath(given, terminal.environment)
    this.#data = dataPath(given, terminal.environment)
    this.#isNamed = given.has('token-file')
    this.#ownUrls = ownUrls
  }

  /** The token to show to the server at `base`; throws with one of `NOT_SHOWN` if there is none for it. */
  async bearerFor(base: URL): Promise<string> {
    const token = await readToken(this.path)
    if (this.#isNamed) refuseClearText(base)
    else await this.#refuseAnother(base)
    return token
  }

  async #refuseAnother(base: URL): Promise<void> {
    const socket = unixSocketPath(base)
    if (socket !== undefined) {
      if (realOf(dirname(resolve(socket))) === realOf(resolve(this.#data))) return
      throw this.#another(socket)
    }
    this.#found ??= this.#ownUrls()
    const own = (await this.#found).flatMap((text) => URL.parse(text) ?? [])
    if (own.some((url) => isSamePort(url, base))) return
    // Another process may listen on the same port of ::1, which localhost can mean as well.
    const meant = own.find((url) => base.hostname === 'localhost' && url.port === base.port)
    throw this.#another(base.origin, meant === undefined ? '' : ` That node is at ${reachable(meant.href)}.`)
  }

  #another(place: string, hint = ''): CairnError {
    const detail = `The token in ${this.path} is for the node of ${this.#data} and is not shown to ${place}.${hint} Name a token for that server with --token-file.`
    return new CairnError('Unauthorized', detail, { code: 'token_of_another_node' })
  }
}

/** Beyond this machine, a token without TLS is read by everything on the way. */
function refuseClearText(base: URL): void {
  if (base.protocol !== 'http:' || isThisMachine(base)) return
  const detail = `A token is not sent to ${base.origin} in clear text; it takes https://, or a port of this machine.`
  throw new CairnError('RejectPolicy', detail, { code: 'token_in_clear_text' })
}

export function isThisMachine({ hostname }: URL): boolean {
  return hostname === 'localhost' || isLoopbackAddress(hostname)
}

const ANY_HOST: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }

/** Where to connect to what listens at `url`: on every address means on this machine as well. */
export function reachable(url: string): string {
  const parsed = URL.parse(url)
  const host = parsed === null ? undefined : ANY_HOST[parsed.hostname]
  if (parsed === null || host === undefined) return url
  parsed.hostname = host
  return parsed.origin
}

/** Whether a connection to `base` reaches what listens at `own` and never leaves this machine. */
function isSamePort(own: URL, base: URL): boolean {
  if (own.protocol !== base.protocol || own.port !== base.port) return false
  const listening = ANY_HOST[own.hostname] ?? own.hostname
  return listening === base.hostname && (isLoopbackAddress(base.hostname) || isOwnAddress(base.hostname))
}

function isLoopbackAddress(hostname: string): boolean {
  return hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}

/** The kernel delivers what is sent to an address of this machine without a wire. */
function isOwnAddress(hostname: string): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return Object.values(networkInterfaces()).some((rows) => rows?.some((row) => row.address === address))
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** The bearer in a file; its only line. */
export async function readToken(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const isAbsent = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    const detail = isAbsent ? `There is no token at ${path}.` : `The token at ${path} cannot be read.`
    throw new CairnError('Unauthorized', `${detail} Name one with --token-file, or the node's directory with --data.`, {
      code: 'no_token',
      cause,
    })
  }
}
