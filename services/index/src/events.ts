/** What the index says happened, and the trail of every change somebody made. */

import type { RequestContext } from '@cairn/http'
import type { Bus, Runtime } from '@cairn/kernel'
import type { Address } from '@cairn/wire'

export interface IndexEvents {
  'index.resolve.observed': {
    readonly key_hint: string
    readonly source: string
    readonly latency_ms: number
    readonly corr_id: string
  }
  'index.pin.changed': { readonly cid: Address; readonly action: 'pin' | 'unpin'; readonly corr_id: string }
  'index.admin.accepted': {
    readonly task_id: string
    readonly kind: 'reindex'
    readonly keys: number
    readonly corr_id: string
  }
  'audit.event': {
    readonly action: AuditedAction
    /** What it was done to. */
    readonly subject: string
    readonly decision: 'accepted' | 'unchanged'
    /** The capability that allowed it. */
    readonly token_id: string
    readonly corr_id: string
  }
}

export type AuditedAction = 'pin' | 'unpin' | 'put_name' | 'remove_name' | 'reindex' | 'announce' | 'report'

/** One event for each change, changed or not: who, what, by which capability. */
export class IndexAudit {
  readonly #runtime: Runtime
  readonly #events: Bus<IndexEvents>

  constructor(runtime: Runtime, events: Bus<IndexEvents>) {
    this.#runtime = runtime
    this.#events = events
  }

  note(
    { token, corrId }: RequestContext<unknown, unknown, unknown>,
    action: AuditedAction,
    subject: string,
    isChanged: boolean,
  ): void {
    const decision = isChanged ? 'accepted' : 'unchanged'
    const body = { action, subject, decision, token_id: token?.tid ?? '', corr_id: corrId } as const
    this.#runtime.log.info(body, 'audit')
    this.#events.publish({ topic: 'audit.event', body })
  }
}
