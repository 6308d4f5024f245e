/** Very many connections of one address, each of which says nothing. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { SystemClock, sleep } from '@cairn/kernel'

const BATCH = 500
const CLOCK = new SystemClock()
const LOOK_EVERY_MS = 20
const TIMEOUT_MS = 30_000

export class Crowd implements AsyncDisposable {
  readonly #sockets: Socket[] = []

  /** Connects this often, some at a time, and calls `between` now and then. */
  static async at(url: string, from: string, count: number, between: () => Promise<void>): Promise<Crowd> {
    const crowd = new Crowd()
    const { hostname, port } = new URL(url)
    for (let connected = 0; connected < count; connected += BATCH) {
      const batch = Array.from({ length: BATCH }, async () => {
        const socket = connect({ host: hostname, port: Number(port), localAddress: from })
        // Being cut off is what it came for.
        socket.on('error', () => undefined)
        crowd.#sockets.push(socket.resume())
        await once(socket, 'connect').catch(() => undefined)
      })
      await Promise.all(batch)
      if (connected % (4 * BATCH) === 0) await between()
    }
    return crowd
  }

  private constructor() {}

  /** Resolves when so many as is right have not been closed by the other side; that takes a moment. */
  async until(isRight: (open: number) => boolean): Promise<void> {
    for (let waited = 0; ; waited += LOOK_EVERY_MS) {
      const open = this.#sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length
      if (isRight(open)) return
      if (waited > TIMEOUT_MS) throw new Error(`${open} connections are still open.`)
      await sleep(CLOCK, LOOK_EVERY_MS)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#sockets
      .filter(({ destroyed }) => !destroyed)
      .map(async (socket): Promise<void> => {
        await once(socket, 'close')
      })
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(closed)
  }
}
