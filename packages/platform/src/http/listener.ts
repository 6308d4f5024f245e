/** Where requests come in. The machine's is `node-listener.ts`; the simulator brings its own. */
import type { Runtime } from '@cairn/kernel'
import type { IngressConfig } from './config.ts'
import type { Ingress } from './ingress.ts'
import type { ListenAddress, TlsFiles } from './listen-address.ts'
import type { Door } from './message.ts'

export interface ListenSpec {
  readonly address: ListenAddress
  readonly door: Door
  /** Beyond loopback without TLS is what the operator wants. */
  readonly insecurePublic: boolean
}

export interface ListenerOptions extends ListenSpec {
  readonly runtime: Runtime
  readonly ingress: Ingress
  readonly config: IngressConfig
}

export interface Listener {
  readonly address: ListenAddress
  /** Where clients reach it: `http://127.0.0.1:7071`, `unix:/path`. */
  readonly url: string
  readonly openConnections: number
  /** New limits, for what comes from now on. */
  reconfigure(config: IngressConfig): void
  /** A renewed certificate, for handshakes from now on. */
  renewTls(tls: TlsFiles): void
  /** Serves on while clients find the way to another listener; resolves when they have, or after `graceMs`. */
  leave(graceMs: number): Promise<void>
  /** Accepts no more, lets answers under way go out, and frees the address. */
  close(): Promise<void>
}

/** Opens a listener; resolves once it accepts. */
export type Listen = (options: ListenerOptions) => Promise<Listener>
