/** What is told of every decision: the event, the count, and for refusals the way into the chain. */
import type { AuditFacts } from '@cairn/clients'
import { type Bus, type Clock, openQueue, type Queue, type Runtime } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { Cause } from './domain/brownout-core.ts'
import { INTEROP_TOPOLOGY } from './topology.ts'

export interface InteropEvents {
  'interop.webhook.accepted': {
    readonly provider: string
    readonly event: string
    readonly delivery: string
    readonly address: Address
    readonly message: string
    readonly corr_id: string
  }
  'interop.put.accepted': { readonly address: Address; readonly corr_id: string }
  'interop.brownout': { readonly active: boolean; readonly reasons: readonly Cause[] }
  'audit.event': Pick<AuditFacts, 'decision' | 'action' | 'reason' | 'provider' | 'b3' | 'corr_id'>
}

export class InteropAudit {
  /** Refusals on their way into the chain; the oldest are dropped in a flood. */
  readonly denied: Queue<AuditFacts>
  readonly #events: Bus<InteropEvents>

  constructor(runtime: Runtime, events: Bus<InteropEvents>) {
    const onLost = (): void => runtime.metrics.count('audit_drop_total')
    this.denied = openQueue(runtime, INTEROP_TOPOLOGY, 'audit', onLost)
    this.#events = events
  }

  /** Something was refused; nobody waits for that to be durable. */
  deny(facts: AuditFacts): void {
    this.denied.trySend(facts)
    this.tell(facts)
  }

  close(): void {
    this.denied.close()
  }

  abort(): number {
    return this.denied.abort()
  }

  tell({ decision, action, reason, provider, b3, corr_id }: AuditFacts): void {
    this.#events.publish({ topic: 'audit.event', body: { decision, action, reason, provider, b3, corr_id } })
  }
}

/** Of now, and about nothing yet. */
export function noFacts(clock: Clock): Omit<AuditFacts, 'decision' | 'action' | 'corr_id'> {
  const at = Math.floor(clock.wall())
  return { at, reason: '', provider: '', event: '', delivery: '', b3: null, secret: '' }
}
