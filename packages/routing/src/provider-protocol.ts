/**
 * `/cairn/provider/1`: a peer's own signed records about one object.
 *
 *     asker ── 32 bytes of digest ────────────────▶ answerer
 *     asker ◀── 4 bytes of length │ CBOR list of records ┘      at most 8 records, 64 KiB; empty if it has none
 *     asker ── end ───────────────────────────────▶ answerer ends too
 *
 * The table of the DHT holds pointers to peers, nothing else; what a pointer is worth is in the signed record, and
 * that comes from the peer itself. Lengths are said, not told by the end of the stream: libp2p's streams may report
 * the end before the last bytes, and an end that came before the first listener not at all.
 */
import { CairnError, type Clock, type Metrics, TokenBucket } from '@cairn/kernel'
import { type Address, addressFromDigest, decodeCbor, digestOf, encodeCbor } from '@cairn/wire'
import { RECORD_BYTES_MAX } from './record.ts'

export const PROVIDER_PROTOCOL = '/cairn/provider/1'

const DIGEST_BYTES = 32
const LENGTH_BYTES = 4
const RECORDS_PER_ANSWER = 8
const ANSWER_BYTES_MAX = 4 * RECORD_BYTES_MAX
/** What one peer may ask; an index that looks up a page of objects at one holder stays below. */
const REQUESTS_PER_PEER = { rate: 50, burst: 100 }

/** The part of a libp2p stream this protocol needs. */
export interface ByteStream extends AsyncIterable<Uint8Array | { subarray(): Uint8Array }> {
  send(data: Uint8Array): boolean
  close(options?: { readonly signal?: AbortSignal }): Promise<void>
  abort(error: Error): void
}

/** Asks over an open stream; the records come unverified. Throws what the signal says when it fires. */
export async function askForRecords(stream: ByteStream, cid: Address, signal: AbortSignal): Promise<Uint8Array[]> {
  return await untilAborted(stream, signal, async () => {
    stream.send(digestOf(cid))
    const answer = await readAnswer(stream)
    await stream.close({ signal })
    return recordsIn(answer)
  })
}

export interface AnswererOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  /** Our records about an object, the own ones first. */
  readonly records: (cid: Address, signal: AbortSignal) => Promise<readonly Uint8Array[]>
}

/** The answering side: who asks too often is cut off, who asks for nothing sensible too. */
export class ProviderAnswerer {
  readonly #options: AnswererOptions
  /** One for each connected peer; `forget` when it is gone. */
  readonly #budgets = new Map<string, TokenBucket>()

  constructor(options: AnswererOptions) {
    this.#options = options
  }

  /** Answers one request, or cuts the stream; never throws. */
  async answer(stream: ByteStream, peer: string, signal: AbortSignal): Promise<void> {
    const { metrics } = this.#options
    if (!this.#budgetOf(peer).tryTake()) {
      metrics.count('provider_requests_total', { result: 'rate_limited' })
      stream.abort(new CairnError('Busy', 'This peer asks too often.'))
      return
    }
    try {
      const found = await untilAborted(stream, signal, async () => await this.#respond(stream, signal))
      metrics.count('provider_requests_total', { result: found ? 'found' : 'none' })
    } catch (error) {
      metrics.count('provider_requests_total', { result: 'failed' })
      stream.abort(error instanceof Error ? error : new Error(String(error)))
    }
  }

  forget(peer: string): void {
    this.#budgets.delete(peer)
  }

  async #respond(stream: ByteStream, signal: AbortSignal): Promise<boolean> {
    let request = new Uint8Array()
    let found = false
    for await (const piece of stream) {
      const isWhole = request.length === DIGEST_BYTES
      request = joined(request, piece.subarray())
      if (isWhole || request.length > DIGEST_BYTES) throw tooMuch(DIGEST_BYTES)
      if (request.length < DIGEST_BYTES) continue
      const records = await this.#options.records(addressFromDigest(request), signal)
      found = records.length > 0
      stream.send(encodeAnswer(records))
    }
    await stream.close({ signal })
    return found
  }

  #budgetOf(peer: string): TokenBucket {
    const known = this.#budgets.get(peer)
    if (known !== undefined) return known
    const budget = new TokenBucket(this.#options.clock, REQUESTS_PER_PEER)
    this.#budgets.set(peer, budget)
    return budget
  }
}

/** As many of the records as an answer holds, after their length. */
function encodeAnswer(records: readonly Uint8Array[]): Uint8Array {
  for (let count = Math.min(records.length, RECORDS_PER_ANSWER); ; count -= 1) {
    const list = encodeCbor(records.slice(0, count))
    if (list.length > ANSWER_BYTES_MAX) continue
    const length = new Uint8Array(LENGTH_BYTES)
    new DataView(length.buffer).setUint32(0, list.length)
    return joined(length, list)
  }
}

async function readAnswer(stream: ByteStream): Promise<Uint8Array> {
  let answer = new Uint8Array()
  for await (const piece of stream) {
    answer = joined(answer, piece.subarray())
    if (answer.length < LENGTH_BYTES) continue
    const length = LENGTH_BYTES + new DataView(answer.buffer).getUint32(0)
    if (length > LENGTH_BYTES + ANSWER_BYTES_MAX || answer.length > length) throw tooMuch(ANSWER_BYTES_MAX)
    if (answer.length === length) return answer.subarray(LENGTH_BYTES)
  }
  throw new CairnError('Timeout', 'The peer ended before its answer was whole.', {
    code: 'connection_lost',
    status: 502,
  })
}

function recordsIn(answer: Uint8Array): Uint8Array[] {
  const list = decodeCbor(answer)
  const isRecord = (item: unknown): item is Uint8Array => item instanceof Uint8Array
  if (!Array.isArray(list) || list.length > RECORDS_PER_ANSWER || !list.every(isRecord)) {
    throw new CairnError('Malformed', `The peer's answer is not a list of at most ${RECORDS_PER_ANSWER} records.`)
  }
  return list
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

function tooMuch(bytesMax: number): CairnError {
  return new CairnError('TooLarge', `The peer sent more than ${bytesMax} bytes.`)
}

/** A stream knows no signals while it is read; cutting it ends the reading. */
async function untilAborted<T>(stream: ByteStream, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const onAbort = (): void => stream.abort(new CairnError('Canceled', 'The time for this answer ran out.'))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    if (signal.aborted) onAbort()
    return await work()
  } catch (error) {
    stream.abort(error instanceof Error ? error : new Error(String(error)))
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
