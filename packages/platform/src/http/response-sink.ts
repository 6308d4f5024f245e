/** Where an answer goes: a response of `node:http`, or a connection we write to ourselves. */
import type { ServerResponse } from 'node:http'
import { interimText } from './response-head.ts'

/** Whoever sends an answer. */
export interface Sender {
  sent(isAll: boolean): void
}

export interface ResponseSink {
  /** It is this answer's turn: what keeps it waiting is its own client. */
  readonly isOnTurn: boolean
  /** All of the answer is with the system. */
  readonly isFinished: boolean
  /** An answer before the final one, whose head must not have been written. */
  inform(status: number, headers: readonly string[]): void
  /** The head; throws if it cannot be sent. It leaves with the first bytes of the body. */
  writeHead(status: number, headers: readonly string[], added: readonly string[]): void
  /** The head at once, for a client that should not wait for the body to see it. */
  flushHead(): void
  /** `done` says whether the bytes are with the system; they must not change before. */
  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): void
  /** The rest, or all of it; the sender hears, now or soon, whether it is with the system, or waits for the client. */
  end(body: string | Uint8Array | undefined, sender: Sender): void
  destroy(): void
  /** Called once, when the answer is over, however it ended. */
  onClose(closed: () => void): void
}

/** The longest body that is cheaper to copy than to hand over beside its head. */
export const TEXT_BYTES = 8 * 1024

/** Bytes as the text whose characters they are. */
export function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1')
}

export class NodeResponse implements ResponseSink {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isOnTurn(): boolean {
    return this.#response.socket !== null
  }

  get isFinished(): boolean {
    return this.#response.writableFinished
  }

  inform(status: number, headers: readonly string[]): void {
    // Before its turn on the connection there is no socket: what it would say is no longer news by then.
    this.#response.socket?.write(interimText(status, headers), 'latin1')
  }

  writeHead(status: number, headers: readonly string[], added: readonly string[]): void {
    this.#response.writeHead(status, [...headers, ...added])
  }

  flushHead(): void {
    this.#response.flushHeaders()
  }

  write(bytes: string | Uint8Array, done?: (error?: Error | null) => void): void {
    this.#response.write(bytes, done)
  }

  end(body: string | Uint8Array | undefined, sender: Sender): void {
    // As one text with the head, a short body costs one plain write instead of a gathered one.
    if (body instanceof Uint8Array && body.length <= TEXT_BYTES) this.#response.end(textOf(body), 'latin1')
    else this.#response.end(body)
    sender.sent(this.#response.socket?.writableLength === 0)
  }

  destroy(): void {
    this.#response.destroy()
  }

  onClose(closed: () => void): void {
    this.#response.on('close', closed)
  }
}
