/** Others to ask, as a test wants them: each answers, fails or stays silent after its own time on the virtual clock. */
import { CairnError, type Clock, sleep } from '@cairn/kernel'
import { type Crypto, systemCrypto } from '@cairn/platform'
import type { Provider, ProviderRouting, RoutingLeg, SignedProviderRecord } from '@cairn/routing'
import { providerOf } from '@cairn/routing'
import type { FindOptions } from '@cairn/routing/testing'
import { RECORD_TTL_MS, signRecord } from '@cairn/routing/testing'
import type { Address } from '@cairn/wire'

export type Behaviour =
  | { readonly does: 'find'; readonly afterMs: number; readonly providers: (cid: Address) => readonly Provider[] }
  | { readonly does: 'nothing'; readonly afterMs: number }
  | { readonly does: 'fail'; readonly afterMs: number; readonly code?: string }
  | { readonly does: 'hang' }

export interface Asked {
  readonly target: string
  readonly cid: Address
  readonly at: number
  end: 'found' | 'nothing' | 'failed' | 'aborted' | undefined
}

const crypto: Crypto = systemCrypto

/** The 32 bytes of somebody's identity. */
export function seedOf(who: number): Uint8Array {
  return new Uint8Array(32).fill(who)
}

export function signedProvider(
  who: number,
  cid: Address,
  wallMs: number,
  more: { region?: string; ageMs?: number } = {},
): Provider {
  return providerOf(recordOf(who, cid, wallMs, more), wallMs)
}

export function recordOf(
  who: number,
  cid: Address,
  wallMs: number,
  {
    region,
    ageMs = 0,
    http = [`https://peer-${who}.example.org`],
  }: { region?: string; ageMs?: number; http?: string[] } = {},
): SignedProviderRecord {
  const exp = Math.floor((wallMs - ageMs + RECORD_TTL_MS) / 1000)
  const claim = { cid, http, seq: wallMs - ageMs, exp }
  return signRecord(crypto, seedOf(who), region === undefined ? claim : { ...claim, region })
}

/** Nobody signed for it. */
export function unsignedProvider(id: string, wallMs: number): Provider {
  return { id, http: ['https://somebody.example.org'], seenAtMs: wallMs }
}

export class TestNetwork implements ProviderRouting {
  readonly name = 'sim'
  readonly announces = true
  readonly asked: Asked[] = []
  readonly provided: SignedProviderRecord[] = []
  readonly unprovided: Address[] = []
  /** Legs under way. */
  running = 0
  #clock: Clock | undefined
  readonly peersBy: (cid: Address) => readonly Behaviour[]

  readonly #knowledgeOf: (peer: number) => string

  constructor(
    peers: readonly Behaviour[] | ((cid: Address) => readonly Behaviour[]),
    knowledgeOf: (peer: number) => string = (peer) => `peer-${peer}`,
  ) {
    this.peersBy = typeof peers === 'function' ? peers : () => peers
    this.#knowledgeOf = knowledgeOf
  }

  /** The clock of the service it is for. */
  on(clock: Clock): this {
    this.#clock = clock
    return this
  }

  legs(cid: Address, count: number): readonly RoutingLeg[] {
    return this.peersBy(cid)
      .slice(0, count)
      .map((first, at) => ({
        target: `peer-${at}`,
        knowledge: this.#knowledgeOf(at),
        // As it is when it is asked: a peer may have changed since the lookup began.
        find: async (_cid, options) => await this.#find(`peer-${at}`, this.peersBy(cid)[at] ?? first, cid, options),
      }))
  }

  async provide(records: readonly SignedProviderRecord[]): Promise<void> {
    this.provided.push(...records)
    await Promise.resolve()
  }

  async unprovide(cid: Address): Promise<void> {
    this.unprovided.push(cid)
    await Promise.resolve()
  }

  peers() {
    return [{ id: 'peer', addresses: ['/ip4/127.0.0.1/tcp/1'], connected: true }]
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #find(target: string, behaviour: Behaviour, cid: Address, { signal, onProvider }: FindOptions): Promise<void> {
    const clock = this.#clock
    if (clock === undefined) throw new Error('The network has no clock.')
    const asked: Asked = { target, cid, at: clock.now(), end: undefined }
    this.asked.push(asked)
    this.running += 1
    try {
      await sleep(clock, behaviour.does === 'hang' ? 1e9 : behaviour.afterMs, { signal })
      if (behaviour.does === 'fail') {
        asked.end = 'failed'
        throw new CairnError('Timeout', 'The peer cannot be reached.', { code: behaviour.code ?? 'unreachable' })
      }
      if (behaviour.does === 'find') for (const provider of behaviour.providers(cid)) onProvider(provider)
      asked.end = behaviour.does === 'find' ? 'found' : 'nothing'
    } finally {
      asked.end ??= 'aborted'
      this.running -= 1
    }
  }
}
