/**
 * A network between a client and a server of this machine that behaves as badly as it is told.
 *
 *     client ── TCP ──▶ proxy ── weather ──▶ server          each way: late, slow, or silent
 *                         ├─ stall: what comes is held back, both ends think the other is there
 *                         ├─ half-open: the server's end goes, the client is never told
 *                         ├─ reset: the connection is torn
 *                         └─ answer: these bytes instead of the server's, and the end
 *
 * Weather holds for connections that are open as well as for those to come; lost packets are a stall, since TCP repeats
 * what is lost.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export type Weather =
  | { readonly tag: 'fair' }
  | { readonly tag: 'late'; readonly latencyMs: number }
  | { readonly tag: 'slow'; readonly bytesPerSecond: number }
  | { readonly tag: 'stall' }
  | { readonly tag: 'half-open' }
  | { readonly tag: 'reset' }
  /** To whatever is asked from now on. */
  | { readonly tag: 'answer'; readonly text: string }

/** What a pause of a slow link is about: smaller pieces would only cost more timers. */
const SLICE_MS = 20

export class ChaosProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #upstreamPort: number
  readonly #links = new Set<Link>()
  #weather: Weather = { tag: 'fair' }
  #accepted = 0

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client))
  }

  /** In front of a port of this machine. */
  static async open(upstreamPort: number): Promise<ChaosProxy> {
    const proxy = new ChaosProxy(upstreamPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.port}/`)
  }

  /** Connections that were ever made, and those whose client has not left. */
  get connections(): { readonly accepted: number; readonly open: number } {
    return { accepted: this.#accepted, open: [...this.#links].filter(({ hasLeft }) => !hasLeft).length }
  }

  /** Bytes that came back from the server, over all connections that are open. */
  get bytesBack(): number {
    return this.#links.values().reduce((sum, { bytesBack }) => sum + bytesBack, 0)
  }

  set weather(weather: Weather) {
    this.#weather = weather
    for (const link of this.#links) link.changed()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links) link.tear()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(client: Socket): void {
    this.#accepted += 1
    const link = new Link(
      client,
      connect({ port: this.#upstreamPort, host: '127.0.0.1', allowHalfOpen: true }),
      () => this.#weather,
    )
    this.#links.add(link)
    client.once('close', () => {
      this.#links.delete(link)
    })
    link.changed()
  }
}

/** One connection through the proxy: two sockets, and what is on its way between them. */
class Link {
  bytesBack = 0
  readonly #client: Socket
  readonly #upstream: Socket
  readonly #weather: () => Weather
  #change = Promise.withResolvers<void>()

  constructor(client: Socket, upstream: Socket, weather: () => Weather) {
    this.#client = client
    this.#upstream = upstream
    this.#weather = weather
    // Whoever is told of a broken end is the other end.
    client.on('error', () => {
      upstream.destroy()
    })
    upstream.on('error', () => {
      client.destroy()
    })
    client.once('close', () => {
      upstream.destroy()
    })
    upstream.once('close', () => {
      if (this.#weather().tag !== 'half-open') client.destroySoon()
    })
    for (const carried of [this.#carry(client, upstream, 'there'), this.#carry(upstream, client, 'back')])
      carried.catch(() => {
        if (this.#weather().tag !== 'half-open') this.tear()
      })
  }

  /** The weather is another now. */
  changed(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
    const { tag } = this.#weather()
    if (tag === 'reset') this.tear()
    if (tag === 'half-open') this.#upstream.destroy()
  }

  tear(): void {
    this.#client.resetAndDestroy()
    this.#upstream.resetAndDestroy()
  }

  /** The client has said all it will. */
  get hasLeft(): boolean {
    return this.#client.readableEnded || this.#client.closed
  }

  async #carry(from: Socket, to: Socket, way: 'there' | 'back'): Promise<void> {
    let line = Promise.resolve()
    // One way may end long before the other.
    for await (const piece of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (way === 'back') this.bytesBack += piece.length
      line = line.then(async () => await this.#pass(piece, to, way))
      line.catch(() => undefined)
      // An answer is held up where it is; a question is taken in, so that its end is seen whatever the weather.
      if (way === 'back') await line
    }
    await line
    await this.#untilMoving()
    to.end()
  }

  async #pass(piece: Buffer, to: Socket, way: 'there' | 'back'): Promise<void> {
    await this.#untilMoving()
    const weather = this.#weather()
    if (weather.tag === 'late') await wait(weather.latencyMs)
    if (weather.tag === 'answer' && way === 'there') {
      this.#client.end(weather.text)
      this.#upstream.destroy()
      return
    }
    if (weather.tag === 'slow') await this.#trickle(piece, to, weather.bytesPerSecond)
    else await write(to, piece)
  }

  /** In slices, so that a change of weather is felt in the middle of a piece. */
  async #trickle(piece: Buffer, to: Socket, bytesPerSecond: number): Promise<void> {
    const slice = Math.max(1, Math.floor((bytesPerSecond * SLICE_MS) / 1000))
    for (let at = 0; at < piece.length; at += slice) {
      if (this.#weather().tag === 'slow') await wait(SLICE_MS)
      await this.#untilMoving()
      await write(to, piece.subarray(at, at + slice))
    }
  }

  async #untilMoving(): Promise<void> {
    while (this.#weather().tag === 'stall') await this.#change.promise
  }
}

async function write(to: Socket, bytes: Uint8Array): Promise<void> {
  if (to.destroyed || to.write(bytes)) return
  await once(to, 'drain')
}
