import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { SystemRandom } from '@cairn/kernel'

/** Far from the ports the system hands out by itself, so that nobody gets one of them meanwhile. */
const [FIRST, LAST] = [10_000, 30_000] as const

/** The first of so many ports in a row that nobody listens on now. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const base = FIRST + Math.floor(new SystemRandom().next() * (LAST - FIRST))
    if (await areFree(base, count)) return base
  }
}

async function areFree(base: number, count: number): Promise<boolean> {
  const servers: Server[] = []
  try {
    for (let port = base; port < base + count; port += 1) {
      const server = createServer().listen(port, '127.0.0.1')
      servers.push(server)
      await once(server, 'listening')
    }
    return true
  } catch {
    return false
  } finally {
    for (const server of servers) server.close()
  }
}
