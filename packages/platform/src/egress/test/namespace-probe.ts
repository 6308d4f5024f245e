/**
 * Runs inside the namespace. Listens on every port of interest on every address there is, asks for each forbidden
 * target in every way, and reports who was connected to.
 */
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { Deadline, isKind, MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import type { Lookup } from '../checked-connector.ts'
import { nodeLookup } from '../checked-connector.ts'
import { GuardedTransport } from '../guarded-transport.ts'
import { UrlPolicy } from '../url-policy.ts'
import { FORBIDDEN_ADDRESSES, PUBLIC_ADDRESS, PUBLIC_ADDRESS_V6, SPELLINGS } from './forbidden-targets.ts'
import { selfSigned } from './self-signed.ts'

export interface ProbeReport {
  /** Connections each forbidden address took from a client without a guard: the listeners do listen. */
  readonly unguarded: Readonly<Record<string, number>>
  /** Connections to the public address, from where redirects and changed names lead inside. */
  readonly publicConnections: number
  /** Connections to anything but the public address while the guard was asked for each target. */
  readonly forbidden: Readonly<Record<string, number>>
  /** What became of each target. */
  readonly outcomes: Readonly<Record<string, string>>
  readonly leftOver: readonly unknown[]
}

const PUBLIC_NAME = 'public.example'
const PORTS = [80, 443, 3128, 8443]
const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
const identity = selfSigned([PUBLIC_NAME], [PUBLIC_ADDRESS])

/** By the address that was connected to. */
let connections: Record<string, number> = {}
const redirects = new Map<string, string>()

function noted(socket: Socket): void {
  const address = socket.localAddress ?? 'unknown'
  connections[address] = (connections[address] ?? 0) + 1
  socket.on('error', () => {})
}

const secure = createTlsServer(identity, (request, response) => {
  const location = redirects.get(request.url ?? '')
  // As bytes: a header takes no characters beyond Latin-1, and a hostile server does not care.
  const raw = location === undefined ? {} : { location: Buffer.from(location).toString('latin1') }
  response.writeHead(location === undefined ? 200 : 302, { connection: 'close', ...raw })
  response.end('public')
})
const servers = PORTS.map((port) => {
  const server =
    port === 443
      ? secure
      : createTcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret'))
  server.on('connection', noted)
  server.listen(port, '::')
  return server
})
for (const server of servers) if (!server.listening) await once(server, 'listening')

/** The state of a world with no guard: each listener is there to be found. */
async function connectUnguarded(): Promise<Record<string, number>> {
  connections = {}
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', ...FORBIDDEN_ADDRESSES]) {
    const socket = connect({ host, port: 443 })
    await once(socket, 'connect')
    socket.destroy()
    await once(socket, 'close')
  }
  return connections
}

const outcomes: Record<string, string> = {}

async function attempt(
  label: string,
  text: string,
  allow: readonly string[],
  lookup: Lookup,
  dev = false,
): Promise<void> {
  let transport: GuardedTransport | undefined
  try {
    const policy = new UrlPolicy({ allow, devAllowLoopbackHttp: dev })
    transport = new GuardedTransport(runtime, { lookup, policy: () => policy, ca: identity.cert })
    const deadline = Deadline.after(runtime.clock, 3000)
    const response = await transport.request({ method: 'GET', url: new URL(text), headers: {}, deadline })
    response.body.cancel()
    outcomes[label] = `answered ${response.status}`
  } catch (error) {
    outcomes[label] = isKind(error, 'RejectPolicy')
      ? 'refused'
      : error instanceof Error
        ? `failed: ${error.message}`
        : 'failed'
  } finally {
    await transport?.close()
  }
}

const answering = (...answers: readonly (readonly string[])[]): Lookup => {
  let asked = 0
  return { addresses: async () => await Promise.resolve(answers[Math.min(asked++, answers.length - 1)] ?? []) }
}

/** The host is in the list in the form a URL gives it, as a careless operator would have put it there. */
function careless(host: string): string[] {
  const url = URL.parse(`https://${host}/`)
  return url === null || url.hostname.endsWith('.') ? [] : [url.hostname, `${url.hostname}:80`, `${url.hostname}:8443`]
}

async function spellings(): Promise<void> {
  const open = answering([PUBLIC_ADDRESS])
  for (const host of SPELLINGS) {
    await attempt(`not allowed ${host}`, `https://${host}/`, [PUBLIC_NAME], open)
    await attempt(`allowed ${host}`, `https://${host}/`, careless(host), nodeLookup)
    await attempt(`port ${host}`, `https://${host}:8443/`, careless(host), nodeLookup)
    await attempt(`http ${host}`, `http://${host}/`, careless(host), nodeLookup)
    await attempt(`userinfo ${host}`, `https://${PUBLIC_NAME}@${host}/`, [PUBLIC_NAME, ...careless(host)], open)
    await attempt(`userinfo and port ${host}`, `https://${PUBLIC_NAME}:443@${host}/`, [PUBLIC_NAME], open)
  }
}

async function names(): Promise<void> {
  for (const address of ['127.0.0.1', '::1', '0.0.0.0', '::ffff:127.0.0.1', ...FORBIDDEN_ADDRESSES]) {
    const url = `https://${PUBLIC_NAME}/`
    await attempt(`resolves to ${address}`, url, [PUBLIC_NAME], answering([address]))
    await attempt(`resolves to public and ${address}`, url, [PUBLIC_NAME], answering([PUBLIC_ADDRESS, address]))
  }
}

/** A redirect leads back inside, or the name answers differently the second time. */
async function detours(): Promise<void> {
  const atHome = answering([PUBLIC_ADDRESS])
  const safe: Lookup = {
    addresses: async (host, options) => await (host === PUBLIC_NAME ? atHome : nodeLookup).addresses(host, options),
  }
  for (const [index, host] of SPELLINGS.entries()) {
    const path = `/redirect/${index}`
    redirects.set(path, `https://${host}/`)
    await attempt(`redirect to ${host}`, `https://${PUBLIC_NAME}${path}`, [PUBLIC_NAME, ...careless(host)], safe)
  }
  for (const address of FORBIDDEN_ADDRESSES) {
    redirects.set('/rebind', `https://${PUBLIC_NAME}/after`)
    const turning = answering([PUBLIC_ADDRESS], [address])
    await attempt(`rebinds to ${address}`, `https://${PUBLIC_NAME}/rebind`, [PUBLIC_NAME], turning)
  }
}

const unguarded = await connectUnguarded()
connections = {}
await spellings()
await names()
await detours()
const publicConnections = connections[`::ffff:${PUBLIC_ADDRESS}`] ?? 0
const forbidden = Object.fromEntries(
  Object.entries(connections).filter(([address]) => !address.endsWith(PUBLIC_ADDRESS) && address !== PUBLIC_ADDRESS_V6),
)
await attempt('public name', `https://${PUBLIC_NAME}/`, [PUBLIC_NAME], answering([PUBLIC_ADDRESS]))
await attempt('public name over IPv6', `https://${PUBLIC_NAME}/`, [PUBLIC_NAME], answering([PUBLIC_ADDRESS_V6]))
await attempt('public address', `https://${PUBLIC_ADDRESS}/`, [PUBLIC_ADDRESS], answering([]))

for (const server of servers) server.close()
secure.closeAllConnections()
const report: ProbeReport = {
  unguarded,
  publicConnections,
  forbidden,
  outcomes,
  leftOver: [...runtime.topology.snapshot(), ...Array.from({ length: runtime.clock.pending() }, () => 'timer')],
}
process.stdout.write(JSON.stringify(report))
