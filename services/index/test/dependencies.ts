/** A registry, a storage and an outside, as far as the index asks them. */
import type { CallContext, ReceivedEvent, StorageClient } from '@cairn/clients'
import { CairnError, sleep, type TaskBody, Watch } from '@cairn/kernel'
import type { IncomingResponse, OutgoingRequest, Transport } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import type { FollowedNames, NameAnswer } from '../src/domain/name-source.ts'

export class TestNames implements FollowedNames {
  readonly changes = new Watch(0)
  readonly #meanings = new Map<string, NameAnswer>()
  asked = 0
  isClosed = false

  /** The registry has committed something else. */
  commit(name: string, answer: NameAnswer): void {
    this.#meanings.set(name, answer)
    this.changes.set(this.changes.value + 1)
  }

  /** Every question fails with this. */
  failure: CairnError | undefined

  async resolve(name: string): Promise<NameAnswer> {
    this.asked += 1
    if (this.failure !== undefined) throw this.failure
    return await Promise.resolve(this.#meanings.get(name) ?? { tag: 'absent' })
  }

  readonly run: TaskBody = async ({ draining }) => {
    await this.changes.until(() => false, { signal: draining })
  }

  meanings(): (readonly [string, Address])[] {
    return [...this.#meanings].flatMap(([name, answer]) => (answer.tag === 'found' ? [[name, answer.address]] : []))
  }

  readyFields() {
    return { status: 'following' }
  }

  async close(): Promise<void> {
    this.isClosed = true
    await Promise.resolve()
  }
}

export function resolvesTo(address: Address, version = 1): NameAnswer {
  return { tag: 'found', address, version, proof: Buffer.from(`proof of version ${version}`), freshnessMs: 1500 }
}

/** Objects, and nothing else. */
export class TestStorage {
  readonly objects = new Set<Address>()
  listed = 0
  /** Every question fails. */
  isDown = false
  readonly #told: ReceivedEvent[] = []
  readonly #changes = new Watch(0)

  /** Takes an object in and says so; `event` says something else instead. */
  ingest(address: Address, event = 'storage.ingest'): void {
    this.objects.add(address)
    this.#told.push({ id: `life-${this.#told.length}`, event, data: JSON.stringify({ address, new: true }) })
    this.#changes.set(this.#told.length)
  }

  async *#events({ signal }: CallContext, onOpen: () => void): AsyncGenerator<ReceivedEvent> {
    if (this.isDown) throw new CairnError('Timeout', 'Storage does not answer.')
    onOpen()
    for (let at = this.#told.length; ; at += 1) {
      await this.#changes.until((length) => length > at, { signal })
      const event = this.#told[at]
      if (event !== undefined) yield event
    }
  }

  get client(): StorageClient {
    const only: Pick<StorageClient, 'has' | 'list' | 'events'> = {
      events: (context, onOpen) => this.#events(context, onOpen),
      has: async (address) => {
        if (this.isDown) throw new CairnError('Timeout', 'Storage does not answer.')
        return await Promise.resolve(this.objects.has(address))
      },
      list: async (cursor) => {
        this.listed += 1
        if (this.isDown) throw new CairnError('Timeout', 'Storage does not answer.')
        const addresses = [...this.objects].sort().filter((each) => cursor === undefined || each > cursor)
        const page = addresses.slice(0, 100)
        return await Promise.resolve({ addresses: page, cursor: page.length < 100 ? undefined : page.at(-1) })
      },
    }
    return only as StorageClient
  }
}

/** Hosts that strangers name: `answer` gives the status, or throws; each takes 20 ms. */
export function outside(clock: Parameters<typeof sleep>[0], answer: (request: OutgoingRequest) => number): Transport {
  return {
    request: async (request): Promise<IncomingResponse> => {
      await sleep(clock, 20, { signal: request.signal })
      const status = answer(request)
      const body = { cancel: () => {}, async *[Symbol.asyncIterator]() {} }
      return { status, headers: {}, body }
    },
    close: async () => await Promise.resolve(),
  }
}
