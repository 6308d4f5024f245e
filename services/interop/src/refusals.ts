/** Every refusal of a webhook or a put, whoever refused it: counted once, and on its way into the audit. */
import type { AuditFacts } from '@cairn/clients'
import type { RefusedRequest } from '@cairn/platform'
import { noFacts } from './audit.ts'
import type { InteropParts } from './parts.ts'
import { PUT_PATH } from './routes/put.ts'
import { WEBHOOK_PATH } from './routes/webhooks.ts'

const ACTIONS: Readonly<Record<string, AuditFacts['action']>> = { [PUT_PATH]: 'put', [WEBHOOK_PATH]: 'webhook' }

/** Whoever asked has left, or the service has stopped: nobody decided anything. */
const UNDECIDED = 'canceled'

export function noteRefusal({ runtime, audit, providers }: InteropParts, code: string, request: RefusedRequest): void {
  const { served, path, corrId, isHandled } = request
  const action = ACTIONS[served?.route.path ?? '']
  if (action === undefined || code === UNDECIDED) return
  // What is refused before the handler is counted by the ingress.
  if (isHandled) runtime.metrics.count('rejected_total', { reason: code })
  // Only the name of a provider that is let in is written down, never whatever a stranger put into a path.
  const provider = providers.get(path.slice(path.lastIndexOf('/') + 1))?.name ?? ''
  audit.deny({ ...noFacts(runtime.clock), decision: 'deny', action, reason: code, provider, corr_id: corrId })
}
