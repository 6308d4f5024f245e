/** Where to listen, and the listener there: the machine's is `node-listener.ts`, the simulator brings its own. */
import { CairnError, type Runtime } from '@cairn/kernel'
import type { ListenerKind } from '@cairn/transport'
import type { IngressConfig } from '../pipeline/config.ts'
import type { Ingress } from '../pipeline/ingress.ts'
import { isLoopback } from '../request/client-address.ts'

export interface TlsFiles {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export type ListenAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly tls?: TlsFiles | undefined }
  | { readonly kind: 'unix'; readonly path: string }

/** Parses `127.0.0.1:7071` or `[::1]:7071`. A name other than localhost is refused: it could resolve to anything. */
export function parseBindAddress(text: string): { host: string; port: number } {
  const [, six, four, digits] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+|localhost)):(\d{1,5})$/i.exec(text) ?? []
  const host = six ?? four
  const port = Number(digits)
  if (host === undefined || port > 65_535)
    throw new CairnError('Malformed', `${JSON.stringify(text)} is not an address to listen on; write 127.0.0.1:7071.`)
  return { host: host.toLowerCase() === 'localhost' ? '127.0.0.1' : host, port }
}

/** Refuses plain HTTP beyond this machine unless it is allowed: any host on the way reads and changes what is sent. */
export function refuseInsecurePublic(address: ListenAddress, isAllowed: boolean): void {
  if (address.kind === 'unix' || address.tls !== undefined || isAllowed || isLoopback(address.host)) return
  const detail = `${address.host} is reachable from other machines and has no TLS; set tls.cert_path and tls.key_path, or insecure_public.`
  throw new CairnError('RejectPolicy', detail, { code: 'insecure_public' })
}

export interface ListenSpec {
  readonly address: ListenAddress
  readonly listenerKind: ListenerKind
  /** Beyond loopback without TLS is what the operator wants. */
  readonly insecurePublic: boolean
}

export interface ListenerOptions extends ListenSpec {
  readonly runtime: Runtime
  readonly ingress: Ingress
  readonly config: IngressConfig
  /**
   * A port of 127.0.0.1 is that of ::1 as well: `localhost` may be either, and the owner of the other would be taken for
   * us.
   */
  readonly bothLoopbacks?: boolean
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
