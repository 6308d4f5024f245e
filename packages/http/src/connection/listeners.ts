/**
 * The listeners of a service: which its configuration names, and how they move to new addresses.
 *
 *     rebind ─▶ open the new ones ─┬─ finish ───▶ old ones serve on for a moment, then close
 *                      │           └─ roll back ─▶ new ones close, old ones never noticed
 *                      └─ one cannot be opened ──▶ the same, and the reason is thrown
 */
import { chmod, lstat, mkdir, readFile, stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { createSecureContext } from 'node:tls'
import { CairnError } from '@cairn/kernel'
import type { Rebinding } from '@cairn/platform'
import type { IngressConfig, ListenConfig } from '../pipeline/config.ts'
import {
  type Listen,
  type ListenAddress,
  type Listener,
  type ListenerOptions,
  type ListenSpec,
  parseBindAddress,
  refuseInsecurePublic,
  type TlsFiles,
} from './listener.ts'

/** Returns the listeners that the configuration names, the service's own address first. */
export async function listenSpecs(config: ListenConfig): Promise<readonly ListenSpec[]> {
  const { bind_addr, metrics_addr, uds, insecure_public: insecurePublic } = config
  const tls = await readTls(config.tls)
  const tcp = (text: string) => ({ kind: 'tcp', ...parseBindAddress(text), tls }) as const
  const specs: ListenSpec[] = [{ address: tcp(bind_addr), listenerKind: 'service', insecurePublic }]
  if (metrics_addr !== undefined) specs.push({ address: tcp(metrics_addr), listenerKind: 'metrics', insecurePublic })
  if (uds.path !== undefined)
    specs.push({ address: { kind: 'unix', path: uds.path }, listenerKind: 'service', insecurePublic })
  return specs
}

async function readTls({ cert_path, key_path }: ListenConfig['tls']): Promise<TlsFiles | undefined> {
  if (cert_path === undefined && key_path === undefined) return undefined
  if (cert_path === undefined || key_path === undefined)
    throw new CairnError('Malformed', 'TLS needs both tls.cert_path and tls.key_path.')
  const { mode } = await stat(key_path)
  if ((mode & 0o077) !== 0)
    throw new CairnError('RejectPolicy', `${key_path} can be read by others; close it to them (chmod 600).`)
  return { cert: await readFile(cert_path, 'utf8'), key: await readFile(key_path, 'utf8') }
}

/** The hosts of the addresses themselves: who asks for `10.0.0.7:7071` and reaches us there, means us. */
export function boundHosts(specs: readonly ListenSpec[]): string[] {
  return specs.flatMap(({ address }) => {
    if (address.kind === 'unix' || address.host === '0.0.0.0' || address.host === '::') return []
    return [address.host.includes(':') ? `[${address.host}]` : address.host]
  })
}

/**
 * Checks the listeners without opening any. Throws what opening them would: an address beyond this machine without TLS,
 * or a certificate or key that cannot be used.
 */
export async function checkListen(config: ListenConfig): Promise<void> {
  for (const { address, insecurePublic } of await listenSpecs(config)) {
    refuseInsecurePublic(address, insecurePublic)
    if (address.kind === 'unix' || address.tls === undefined) continue
    try {
      createSecureContext(address.tls)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new CairnError('Malformed', `tls.cert_path and tls.key_path cannot be used: ${why}.`, {
        code: 'config',
        cause,
      })
    }
  }
}

export class Listeners {
  readonly #listen: Listen
  readonly #shared: Omit<ListenerOptions, keyof ListenSpec | 'config'>
  #config: IngressConfig
  #open: readonly Listener[] = []

  constructor(listen: Listen, { config, ...shared }: Omit<ListenerOptions, keyof ListenSpec>) {
    this.#listen = listen
    this.#shared = shared
    this.#config = config
  }

  get urls(): readonly string[] {
    return this.#open.map(({ url }) => url)
  }

  get openConnections(): number {
    return this.#open.reduce((sum, { openConnections }) => sum + openConnections, 0)
  }

  reconfigure(config: IngressConfig): void {
    this.#config = config
    for (const listener of this.#open) listener.reconfigure(config)
  }

  /** Opens what is asked for and not open yet. One of the two ends of the result must be called. */
  async rebind(specs: readonly ListenSpec[], graceMs: number): Promise<Rebinding> {
    const opened: Listener[] = []
    const next: Listener[] = []
    const rollBack = async (): Promise<void> => {
      await Promise.all(opened.map(async (listener) => await listener.close()))
    }
    try {
      for (const spec of specs) {
        const same = this.#open.find(({ address }) => isSame(address, spec.address))
        const listener = same ?? (await this.#listen({ ...this.#shared, ...spec, config: this.#config }))
        if (same === undefined) opened.push(listener)
        next.push(listener)
      }
    } catch (error) {
      await rollBack()
      throw error
    }
    return { rollBack, finish: async () => await this.#replace(next, specs, graceMs) }
  }

  /** The certificates of these, for the listeners that are open at the same addresses. */
  renewTls(specs: readonly ListenSpec[]): void {
    for (const { address } of specs) {
      if (address.kind === 'unix' || address.tls === undefined) continue
      this.#open.find((listener) => isSame(listener.address, address))?.renewTls(address.tls)
    }
  }

  async close(): Promise<void> {
    const open = this.#open
    this.#open = []
    await Promise.all(open.map(async (listener) => await listener.close()))
  }

  async #replace(next: readonly Listener[], specs: readonly ListenSpec[], graceMs: number): Promise<void> {
    const retired = this.#open.filter((listener) => !next.includes(listener))
    this.#open = next
    this.renewTls(specs)
    await Promise.all(
      retired.map(async (listener) => {
        await listener.leave(graceMs)
        await listener.close()
      }),
    )
  }
}

/** Whether one socket can serve both; another certificate does not need another socket. */
function isSame(one: ListenAddress, other: ListenAddress): boolean {
  if (one.kind === 'unix') return other.kind === 'unix' && one.path === other.path
  if (other.kind === 'unix' || (one.tls === undefined) !== (other.tls === undefined)) return false
  return one.host === other.host && one.port === other.port
}

// A socket file only its owner can reach.

/** Makes the directory (0700) and removes what a process that died left behind; refuses to take over a live socket. */
export async function prepareSocketPath(path: string): Promise<void> {
  const directory = dirname(path)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { mode } = await stat(directory)
  if ((mode & 0o077) !== 0)
    throw new CairnError(
      'RejectPolicy',
      `${directory} must be closed to others (chmod 700) before a socket goes there.`,
    )
  if (!(await isSocket(path))) return
  if (await isAnswered(path)) throw new CairnError('Conflict', `Another process listens on ${path}; stop it first.`)
  await unlink(path)
}

/** Closes the file itself to others, once it is there. */
export async function closeToOthers(path: string): Promise<void> {
  await chmod(path, 0o600)
}

async function isSocket(path: string): Promise<boolean> {
  try {
    if ((await lstat(path)).isSocket()) return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
  throw new CairnError('Conflict', `${path} exists and is not a socket; choose another path.`)
}

async function isAnswered(path: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}
