/** A bare TCP connection: for what no HTTP client would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export class RawSocket implements AsyncDisposable {
  readonly #socket: Socket
  #received = Buffer.alloc(0)
  #isOver = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (part: Buffer) => {
      this.#received = Buffer.concat([this.#received, part])
    })
    // A reset is an end like any other; who waits sees `isOver`.
    socket.on('error', () => {})
    for (const event of ['end', 'close'])
      socket.on(event, () => {
        this.#isOver = true
      })
  }

  static async open(url: string): Promise<RawSocket> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const raw = new RawSocket(socket)
    await once(socket, 'connect')
    return raw
  }

  /** All that has come so far, a character for each byte. */
  get received(): string {
    return this.#received.toString('latin1')
  }

  /** The other side has ended or reset it. */
  get isOver(): boolean {
    return this.#isOver
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Ends our half. */
  end(): void {
    this.#socket.end()
  }

  /** Stops reading, as a client does that hangs. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Goes away without a word. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  /** What has come once it is enough, or the other side has ended. */
  async until(isEnough: (received: string) => boolean): Promise<string> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!this.#isOver && !isEnough(this.received)) return
        for (const event of ['data', 'end', 'close']) this.#socket.off(event, look)
        resolve()
      }
      for (const event of ['data', 'end', 'close']) this.#socket.on(event, look)
      look()
    })
    return this.received
  }

  /** Everything until the other side ends. */
  async untilOver(): Promise<string> {
    return await this.until(() => false)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket.destroyed) return
    const closed = once(this.#socket, 'close')
    this.#socket.destroy()
    await closed
  }
}
