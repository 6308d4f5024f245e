/**
 * All listeners of a service, and how they move.
 *
 *     rebind ─▶ open the new ones ─┬─ finish ───▶ old ones serve on for a moment, then close
 *                      │           └─ roll back ─▶ new ones close, old ones never noticed
 *                      └─ one cannot be opened ──▶ the same, and the reason is thrown
 */
import type { Rebinding } from '../config/store.ts'
import type { IngressConfig } from './config.ts'
import type { ListenAddress } from './listen-address.ts'
import type { Listen, Listener, ListenerOptions, ListenSpec } from './listener.ts'

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
