/**
 * Ports for tests and tools that must know a port before something listens on it.
 *
 *     10000 ─────────────── 32000 │ 32768 ─── 60999: the system gives these to outgoing connections, and to port 0
 *       └ a block held by this process
 *
 * A port of the system's own choice, closed again, may become that of a neighbour's connection at any time. One from
 * below that range is only taken by a program that asks for it, and processes that choose here see each other's blocks: a
 * block is held as sockets of the abstract namespace, which end with their process, however it ends.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { SystemRandom } from '@cairn/kernel'

const FIRST = 10_000
const LAST = 32_000
/** Where Linux, unless told otherwise, begins with the ports of connections. */
const EPHEMERAL_FIRST = 32_768
/** Where nodes listen that a person or a script starts beside the tests. */
const TAKEN_BY_HAND: readonly number[] = [17_070, 27_070]
const TAKEN_BY_HAND_COUNT = 10

/** The first of so many ports in a row that nothing listens on and that no other test process is given. */
export async function freePorts(count: number): Promise<number> {
  const last = Math.min(LAST, lastOutside(ephemeralRange())) - count
  const random = new SystemRandom()
  for (;;) {
    const base = FIRST + Math.floor(random.next() * (last - FIRST))
    const isByHand = TAKEN_BY_HAND.some((port) => base < port + TAKEN_BY_HAND_COUNT && port < base + count)
    if (!isByHand && (await hold(base, count)) && (await areFree(base, count))) return base
  }
}

/** Where the range begins early, what lies in it must do. */
function lastOutside(ephemeralFirst: number): number {
  return ephemeralFirst > 2 * FIRST ? ephemeralFirst : LAST
}

function ephemeralRange(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10)
  } catch {
    return EPHEMERAL_FIRST
  }
}

/** For as long as this process lives; false where another one has one of them. */
async function hold(base: number, count: number): Promise<boolean> {
  // Only Linux has names for sockets that are no files and end with their process.
  if (process.platform !== 'linux') return true
  const names = Array.from({ length: count }, (_, at) => ({ path: `\0cairn-test-port-${base + at}` }))
  const holders = await listenOnAll(names)
  if (holders === undefined) return false
  for (const holder of holders) holder.unref()
  return true
}

async function areFree(base: number, count: number): Promise<boolean> {
  const ports = Array.from({ length: count }, (_, at) => base + at)
  const addresses = ports.flatMap((port) => [
    { port, host: '127.0.0.1' },
    { port, host: '::1' },
  ])
  const servers = await listenOnAll(addresses)
  if (servers === undefined) return false
  await Promise.all(servers.map(closed))
  return true
}

/** All, or none if one of them is taken. */
async function listenOnAll(places: readonly ListenOptions[]): Promise<readonly Server[] | undefined> {
  const servers: Server[] = []
  for (const place of places) {
    const server = createServer()
    try {
      await once(server.listen(place), 'listening')
      servers.push(server)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // A machine without IPv6 has no such port that could be taken.
      if (place.host === '::1' && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) continue
      await Promise.all(servers.map(closed))
      if (code === 'EADDRINUSE' || code === 'EACCES') return undefined
      throw error
    }
  }
  return servers
}

async function closed(server: Server): Promise<void> {
  const gone = once(server, 'close')
  server.close()
  await gone
}
