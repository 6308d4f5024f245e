/**
 * Connections that go only where the policy allows, whatever the name says today.
 *
 *     name ─▶ every address ─▶ each allowed? ─▶ connect to one of them ─▶ is it the one? ─▶ TLS for the name
 *               (one lookup)      else none          (no second lookup)      (before a byte is sent)
 *
 * The name is looked up once and the socket is given an address, so an answer that changes between check and use
 * has nothing to change.
 */
import { lookup } from 'node:dns/promises'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { CairnError, Cancel, type Clock, Deadline, isKind } from '@cairn/kernel'
import { abortable } from '@cairn/transport'
import type { buildConnector } from 'undici'
import { transportError } from './transport-error.ts'
import { classifyAddress, sameAddress, type UrlPolicy } from './url-policy.ts'

/** The names that requests going out need. */
export interface Lookup {
  /** Every address of the host, IPv4 and IPv6. */
  addresses(host: string, options?: { readonly signal?: AbortSignal }): Promise<readonly string[]>
}

/** The system's resolver, hosts file included. */
export const nodeLookup: Lookup = {
  async addresses(host, { signal = new AbortController().signal } = {}) {
    try {
      const found = await abortable(signal, lookup(host, { all: true, order: 'verbatim' }))
      return found.map(({ address }) => address)
    } catch (error) {
      throw transportError(error, host, signal)
    }
  },
}

export interface CheckedConnectorOptions {
  readonly clock: Clock
  readonly lookup: Lookup
  readonly policy: () => UrlPolicy
  /** Fires when the transport closes. */
  readonly closing: AbortSignal
  /** A connection was not there in time. */
  readonly onTimeout: () => void
  /** Certificates trusted instead of the system's; for tests. */
  readonly ca?: string
}

/** For lookup, connect and TLS together. */
const CONNECT_TIMEOUT_MS = 5_000

export function checkedConnector(options: CheckedConnectorOptions): buildConnector.connector {
  return (target, callback) => {
    connectChecked(options, target).then(
      (socket) => callback(null, socket),
      (error: unknown) => {
        if (isKind(error, 'Timeout') && error.code === 'timeout') options.onTimeout()
        callback(error instanceof Error ? error : new Error(String(error)), null)
      },
    )
  }
}

async function connectChecked(
  { clock, lookup, policy, closing, ca }: CheckedConnectorOptions,
  target: buildConnector.Options,
): Promise<Socket> {
  const deadline = Deadline.after(clock, CONNECT_TIMEOUT_MS)
  using cancel = new Cancel({ signals: [closing], deadline, operation: `connecting to ${target.hostname}` })
  const { signal } = cancel
  const isLiteral = classifyAddress(target.hostname) !== 'invalid'
  const addresses = isLiteral
    ? [target.hostname]
    : await abortable(signal, lookup.addresses(target.hostname, { signal }))
  const rules = policy()
  for (const address of addresses) rules.checkAddress(address, target.protocol)
  const socket = await connectFirst(addresses, Number(target.port) || defaultPort(target.protocol), signal)
  try {
    checkRemote(socket, addresses, rules, target.protocol)
    if (target.protocol !== 'https:') return socket
    return await abortable(signal, secured(socket, target, ca))
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function defaultPort(protocol: string): number {
  return protocol === 'https:' ? 443 : 80
}

/** The first address that answers; the error of the last when none does. */
async function connectFirst(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  let failure: unknown = new CairnError('Timeout', 'The name has no address.', { code: 'unreachable', status: 502 })
  for (const address of addresses) {
    try {
      return await connected(address, port, signal)
    } catch (error) {
      if (signal.aborted) throw error
      failure = error
    }
  }
  throw failure
}

async function connected(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({ host, port, noDelay: true, keepAlive: true, autoSelectFamily: false })
  const open = new Promise<Socket>((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
  try {
    return await abortable(signal, open)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** The kernel says whom we reached; it must be one we checked, and still allowed. */
function checkRemote(socket: Socket, addresses: readonly string[], rules: UrlPolicy, protocol: string): void {
  const remote = socket.remoteAddress ?? ''
  if (!addresses.some((address) => sameAddress(address, remote))) {
    throw new CairnError('RejectPolicy', `The connection went to ${remote}, which was not asked for.`, {
      code: 'not_allowed',
    })
  }
  rules.checkAddress(remote, protocol)
}

async function secured(
  socket: Socket,
  { servername, hostname }: buildConnector.Options,
  ca: string | undefined,
): Promise<TLSSocket> {
  const trusted = ca === undefined ? {} : { ca }
  const secure = connectTls({
    socket,
    host: hostname,
    servername: servername ?? '',
    ALPNProtocols: ['http/1.1'],
    ...trusted,
  })
  return await new Promise<TLSSocket>((resolve, reject) => {
    secure.once('secureConnect', () => resolve(secure))
    secure.once('error', reject)
  })
}
