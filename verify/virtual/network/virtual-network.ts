/**
 * HTTP between machines without a socket: a request is a packet there, its answer packets back.
 *
 *     transport.request ── packet ──▶ listener of the host and port ── packet: status, headers ──▶ resolved
 *            │                                                      └─ packets: body, in order ──▶ body
 *            └─ deadline, abort: rejected, and a packet tells the server that the client is gone
 *
 * An answer that is small, and all there, is one packet.
 *
 * A packet that is lost is not sent again: the caller waits until its deadline, as over a dead wire. A
 * request whose packet is doubled reaches the listener twice, as from an impatient proxy; the first
 * answer counts.
 */
import { CairnError } from '@cairn/kernel'
import type { Lookup } from '@cairn/platform'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import type { Life } from '../life.ts'
import { Exchange, Stream } from './exchange.ts'
import type { Links } from './links.ts'
import { gather, partsOf, type VirtualListener, type VirtualRequest, type VirtualResponse } from './message.ts'

interface Listening {
  readonly life: Life
  readonly listener: VirtualListener
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

export class VirtualNetwork {
  readonly links: Links
  readonly #addresses = new Map<string, string>()
  readonly #lives = new Map<string, Life>()
  readonly #listeners = new Map<string, Listening>()

  constructor(links: Links) {
    this.links = links
  }

  /** Puts a machine on the network; it keeps its address from one life to the next. */
  join(life: Life): void {
    const number = this.#addresses.size + 1
    if (!this.#addresses.has(life.machine)) this.#addresses.set(life.machine, `10.0.${number >> 8}.${number & 255}`)
    this.#lives.set(life.machine, life)
  }

  addressOf(machine: string): string {
    return this.#addresses.get(machine) ?? ''
  }

  /** Answers requests to this port of the machine, until the returned function is called or the machine goes down. */
  listen(life: Life, port: number, listener: VirtualListener): () => void {
    const place = `${life.machine}:${port}`
    if (this.#listeners.get(place)?.life.alive === true)
      throw new CairnError('Conflict', `The port ${port} is in use.`, { code: 'port_in_use' })
    const listening = { life, listener }
    this.#listeners.set(place, listening)
    return () => {
      if (this.#listeners.get(place) === listening) this.#listeners.delete(place)
    }
  }

  transport(life: Life): Transport {
    return {
      request: async (request) => await this.#request(life, request),
      close: async () => await Promise.resolve(),
    }
  }

  lookup(life: Life): Lookup {
    const resolve = (host: string): readonly string[] => {
      const address = this.#addresses.get(host)
      if (address === undefined) throw refused()
      return [address]
    }
    return {
      addresses: async (host) =>
        await life.call({ name: 'lookup', detail: host, latencyMs: life.latency(1), end: () => resolve(host) }),
    }
  }

  async #request(client: Life, request: OutgoingRequest): Promise<IncomingResponse> {
    const { url, method } = request
    const target = `${url.pathname}${url.search}`
    const sent = await gather(request.body)
    await client.call({
      name: 'transport.request',
      detail: `${method} ${url.host}${target}`,
      data: sent === undefined ? [] : [sent],
      latencyMs: 0,
      end: () => undefined,
    })
    const server = this.#machineAt(client, url.hostname)
    const gone = new AbortController()
    const exchange = new Exchange(client, request, () => {
      this.links.send(client.machine, server, 'client gone', () => gone.abort())
    })
    const headers = ['host', url.host, ...lengthOf(request), ...Object.entries(request.headers).flat()]
    const port = portOf(url)
    const what = `request ${method} :${port} ${target} with ${sent?.length ?? 0} bytes`
    this.links.send(client.machine, server, what, () => {
      const body = sent === undefined ? undefined : partsOf(sent)
      const peerAddress = this.addressOf(client.machine)
      // Each time it arrives it is a connection of its own.
      const left = new AbortController()
      if (gone.signal.aborted) left.abort()
      else gone.signal.addEventListener('abort', () => left.abort(), { once: true })
      const stream = new Stream(client, () => {
        this.links.send(client.machine, server, 'client gone', () => left.abort())
      })
      const arrived = { method, target, headers, body, peerAddress, signal: left.signal }
      this.#arrive(exchange, stream, server, port, arrived)
    })
    return await exchange.response
  }

  /** The request reached the machine. One that is down says nothing; one that is up but does not listen refuses. */
  #arrive(exchange: Exchange, stream: Stream, server: string, port: number, request: VirtualRequest): void {
    const listening = this.#listeners.get(`${server}:${port}`)
    const breakOff = (what: string, error: CairnError): void => {
      this.#sendNext(server, exchange, stream, what, () => exchange.fail(error))
    }
    if (listening?.life.alive !== true) {
      if (this.#lives.get(server)?.alive === true) breakOff('refused', refused())
      return
    }
    Promise.try(listening.listener, request)
      .then(async (response) => {
        const asked = { what: `${request.method} :${port}`, gone: request.signal }
        await this.#answer(exchange, stream, listening.life, response, asked)
      })
      .catch((error: unknown) => {
        if (listening.life.alive) breakOff(`reset ${String(error)}`, reset())
      })
  }

  async #answer(
    exchange: Exchange,
    stream: Stream,
    server: Life,
    { status, headers, body }: VirtualResponse,
    { what: asked, gone }: { readonly what: string; readonly gone: AbortSignal },
  ): Promise<void> {
    const send = (what: string, arrive: () => void): void => {
      if (server.alive) this.#sendNext(server.machine, exchange, stream, what, arrive)
    }
    if (body === undefined || isSmall(body)) {
      const bytes = Buffer.from(body ?? '')
      return send(`answer ${status} to ${asked} with ${bytes.length} bytes`, () => {
        exchange.answered(status, headers)
        exchange.body.complete(bytes)
      })
    }
    send(`response ${status} to ${asked}`, () => exchange.answered(status, headers))
    if (body instanceof Uint8Array) {
      const bytes = body.slice()
      return send(`body ${bytes.length} bytes, the last`, () => exchange.body.complete(bytes))
    }
    for await (const part of partsOf(body)) {
      // The sender may use its buffer again as soon as it is asked for more.
      const bytes = part.slice()
      const permit = await stream.window.acquire({ signal: gone })
      send(`body ${bytes.length} bytes`, () => exchange.body.arrive(bytes, permit))
    }
    send('end of body', () => exchange.body.complete())
  }

  /** The next packet of an answer; it does not overtake those before. */
  #sendNext(server: string, exchange: Exchange, stream: Stream, what: string, arrive: () => void): void {
    const arriving = stream.next(() => {
      if (exchange.takes(stream)) arrive()
      else stream.leave()
    })
    const { dueAt } = this.links.send(server, exchange.client.machine, what, arriving, stream.dueAt)
    stream.dueAt = dueAt
  }

  #machineAt(client: Life, host: string): string {
    if (LOOPBACK.includes(host)) return client.machine
    for (const [machine, address] of this.#addresses) if (host === machine || host === address) return machine
    return host
  }
}

/** What goes over a wire at once, headers aside. */
const PACKET_BYTES = 1400

function isSmall(body: NonNullable<VirtualResponse['body']>): body is string | Uint8Array {
  return (typeof body === 'string' || body instanceof Uint8Array) && body.length <= PACKET_BYTES
}

/** A client that has the whole body says how long it is. */
function lengthOf({ body, headers }: OutgoingRequest): readonly string[] {
  const isSaid = Object.keys(headers).some((name) => name.toLowerCase() === 'content-length')
  return body instanceof Uint8Array && !isSaid ? ['content-length', String(body.length)] : []
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** The errors are those of the real transport, so that what is idempotent is tried again. */
function refused(): CairnError {
  return new CairnError('Timeout', 'The target cannot be reached.', { code: 'unreachable', status: 502 })
}

function reset(): CairnError {
  const detail = 'The target closed the connection before the answer was complete.'
  return new CairnError('Timeout', detail, { code: 'connection_lost', status: 502 })
}
