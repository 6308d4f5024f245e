/**
 * Who holds an object, whichever way we come to know.
 *
 *     legs(cid, n) ──▶ leg 1 ──▶ onProvider …, resolves        each leg is asked on its own: own signal,
 *                      leg 2 ──▶ rejects: this way failed      own breaker, nothing shared with the others
 *                      leg 3 ──▶ aborted by a caller that has enough
 *
 * `local` knows what this node holds and has received, `http` asks configured indexes, `kad` asks the DHT, `sim` stands in
 * for all of them in tests. The caller decides how many legs run, when, and when it has heard enough.
 */
import { CairnError, type Deadline } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { SignedProviderRecord } from './record.ts'

/** No peer could be asked, or none of those asked answered: worth a retry, unlike an answer that says no. */
export function noRoute(detail: string, cause?: unknown): CairnError {
  return new CairnError('Timeout', detail, { code: 'no_route', status: 503, cause })
}

/** A node that says it holds an object. */
export interface Provider {
  /** Text of the libp2p peer id: the hash of the key that signs. */
  readonly id: string
  /** Base URLs of their storage or edge. */
  readonly http: readonly string[]
  readonly region?: string
  /** Verified before a caller receives it; absent where there is no signature. */
  readonly record?: SignedProviderRecord
  /** Wall milliseconds when this was last confirmed: the record's issue, or the receipt of an unsigned answer. */
  readonly seenAtMs: number
  /** Who named it here, in order: legs of lookups, or this node's own records. Whoever keeps a set fills this in. */
  readonly sources?: readonly string[]
}

export interface FindOptions {
  readonly deadline: Deadline
  readonly signal: AbortSignal
  /** Called for each provider as soon as it is known; the same one may come again from another leg. */
  readonly onProvider: (provider: Provider) => void
}

/** One independent way to ask: an endpoint, or a DHT query that starts at peers no other leg of the lookup uses. */
export interface RoutingLeg {
  /** Stable name of who is asked: the key of its breaker. */
  readonly target: string
  /** What the answer comes from. Legs of one name lead into the same: the silence of one may be made up for by another. */
  readonly knowledge: string
  /**
   * Resolves when this way knows no more. Rejects when it failed: `Timeout` (codes `no_route`, `unreachable`, …) is
   * worth a retry, what the others say is not. Stops at once, with nothing left behind, when the signal fires.
   */
  find(cid: Address, options: FindOptions): Promise<void>
}

export interface RoutingPeer {
  readonly id: string
  readonly addresses: readonly string[]
  readonly connected: boolean
}

export interface ProviderRouting extends AsyncDisposable {
  readonly name: 'local' | 'http' | 'kad' | 'sim'
  /** At most `count` distinct ways to ask for this address, the preferred first; none where no peer can be asked. */
  legs(cid: Address, count: number): readonly RoutingLeg[]
  /** Whether `provide` announces anything at all: where it does not, no record has to be signed for it. */
  readonly announces: boolean
  /** Announces these records to others; throws `no_route` when some of them reached no peer. */
  provide(records: readonly SignedProviderRecord[], options: { readonly signal: AbortSignal }): Promise<void>
  /** Stops announcing the object; earlier announcements end with their expiry. */
  unprovide(cid: Address): Promise<void>
  peers(): readonly RoutingPeer[]
}
