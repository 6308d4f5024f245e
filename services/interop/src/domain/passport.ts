/**
 * Capability translation: what an outside proof is worth inside. The proof itself goes no further; what interop holds
 * is narrowed to this event, for a minute.
 */
import type { Runtime } from '@cairn/kernel'
import type { Address, Caveat } from '@cairn/wire'

/** Narrows what this service may do elsewhere. The keys behind it are the node's. */
export interface Passport {
  /** For exactly this body: to store and hold it, nothing else. */
  forBody(address: Address): readonly Caveat[]
}

/** The longest a token made for one event is good. */
const CAPABILITY_MS = 60_000
/** Verifiers allow for clocks that differ by this much, so it is taken off the end. */
const SKEW_MS = 60_000

export function eventPassport({ clock, metrics }: Runtime): Passport {
  return {
    forBody: (address) => {
      metrics.count('capabilities_issued_total', { scope: 'storage:write' })
      metrics.count('capabilities_issued_total', { scope: 'storage:hold' })
      const at = Math.floor((clock.wall() + CAPABILITY_MS - SKEW_MS) / 1000) + 1
      return [
        { kind: 'exp', at },
        { kind: 'address', address },
        { kind: 'scope_in', scopes: ['storage:write', 'storage:hold'] },
      ]
    },
  }
}
