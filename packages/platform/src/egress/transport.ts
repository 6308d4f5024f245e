/** Requests going out, and the names they need. */
import type { Deadline } from '@cairn/kernel'

export interface OutgoingRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>
  /** Covers connect, headers and body. */
  readonly deadline: Deadline
  readonly signal?: AbortSignal | undefined
}

export interface IncomingResponse {
  readonly status: number
  /** Lower-case names; repeated fields joined as HTTP allows, `set-cookie` excepted (dropped). */
  readonly headers: Readonly<Record<string, string>>
  /** Must be read to its end or canceled, else the connection is not reused. */
  readonly body: AsyncIterable<Uint8Array> & { cancel(): void }
}

export interface Transport {
  /** Sends to a target we were configured with. Timeouts and resets come back as `Timeout` and `Canceled`, never hang. */
  request(request: OutgoingRequest): Promise<IncomingResponse>
  close(): Promise<void>
}

export interface Lookup {
  /** Every address of the host, IPv4 and IPv6. */
  addresses(host: string, options?: { readonly signal?: AbortSignal }): Promise<readonly string[]>
}
