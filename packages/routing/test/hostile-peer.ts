/**
 * A peer of the DHT that keeps to none of our bounds: it speaks the protocols by itself, frame by frame.
 *
 *     kad       uvarint length │ protobuf { 1: type, 2: key, 9: { 1: peer id, 2: multiaddr } }      over and over
 *     provider  whatever a test sends, asked or answering
 */
import { SystemClock, sleep } from '@cairn/kernel'
import { multiaddr } from '@multiformats/multiaddr'
import { DialPolicy } from '../src/dial-policy.ts'
import { type KadNode, startKadNode } from '../src/kad-node.ts'
import { KAD_PROTOCOL } from '../src/kad-table.ts'
import { PROVIDER_PROTOCOL } from '../src/provider-protocol.ts'
import { PeerMetrics, seedOf } from './peer.ts'

const ADD_PROVIDER = 2
/** The code and the length of a SHA-256 in a multihash. */
const SHA256 = Uint8Array.of(0x12, 0x20)
/** Fewer than the library accepts of an unknown peer. */
const STREAMS = 8
/** Together about a thousand a second: more than the other side, which lives in the same process, works off. */
const PACE_MS = 8
const CLOCK = new SystemClock()
const VARIANT = 0
const BYTES = 2

type Stream = Awaited<ReturnType<KadNode['dialProtocol']>>

export class HostilePeer implements AsyncDisposable {
  readonly #node: KadNode
  readonly #target: string

  private constructor(node: KadNode, target: string) {
    this.#node = node
    this.#target = target
  }

  static async start(number: number, target: string): Promise<HostilePeer> {
    const reach = new DialPolicy({ allowLoopback: true })
    const options = { seed: seedOf(number), listen: ['/ip4/127.0.0.1/tcp/0'], bootstrap: [], protocol: KAD_PROTOCOL }
    const transport = { transport: 'tcp', server: true, bucketSize: 20 } as const
    const node = await startKadNode(
      { ...options, ...transport },
      {
        clock: CLOCK,
        metrics: new PeerMetrics(),
        reach: () => reach,
      },
    )
    return new HostilePeer(node, target)
  }

  get id(): string {
    return this.#node.peerId.toString()
  }

  /**
   * Tells the target, over several streams, that we provide one unknown key after the other, until that is enough. Opens
   * streams again that are cut off. Returns how many keys it sent.
   */
  async floodPointers(isEnough: () => boolean, signal: AbortSignal): Promise<number> {
    let told = 0
    const flood = async (): Promise<void> => {
      while (!isEnough()) {
        try {
          const stream = await this.#open(KAD_PROTOCOL, signal)
          for (; !isEnough() && stream.status === 'open'; told += 1) {
            if (!stream.send(this.#pointerAt(keyNumber(told)))) await stream.onDrain({ signal })
            await sleep(CLOCK, PACE_MS)
          }
          await stream.close({ signal })
        } catch {
          // A flooded target may well cut us off.
        }
      }
    }
    await Promise.all(Array.from({ length: STREAMS }, flood))
    return told
  }

  /** Asks for records with a request that is none. */
  async askNonsense(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const stream = await this.#open(PROVIDER_PROTOCOL, signal)
    stream.send(bytes)
    for await (const _piece of stream);
  }

  /** Says that it provides what the key of the DHT stands for, and answers a request for its record with these bytes. */
  async lieAbout(key: Uint8Array, answer: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#node.handle(PROVIDER_PROTOCOL, (stream) => {
      stream.send(answer)
    })
    const stream = await this.#open(KAD_PROTOCOL, signal)
    stream.send(this.#pointerAt(key))
    await stream.close({ signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node.stop()
  }

  async #open(protocol: string, signal: AbortSignal): Promise<Stream> {
    return await this.#node.dialProtocol(multiaddr(this.#target), protocol, { signal })
  }

  #pointerAt(key: Uint8Array): Uint8Array {
    const [address] = this.#node.getMultiaddrs()
    const place = address?.bytes ?? new Uint8Array()
    const peer = [...field(1, this.#node.peerId.toMultihash().bytes), ...field(2, place)]
    const message = [(1 << 3) | VARIANT, ADD_PROVIDER, ...field(2, key), ...field(9, Uint8Array.from(peer))]
    return Uint8Array.from([...varint(message.length), ...message])
  }
}

function keyNumber(number: number): Uint8Array {
  const key = new Uint8Array(34).fill(0xab)
  key.set(SHA256)
  new DataView(key.buffer).setUint32(2, number)
  return key
}

function field(number: number, bytes: Uint8Array): number[] {
  return [(number << 3) | BYTES, ...varint(bytes.length), ...bytes]
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]
}
