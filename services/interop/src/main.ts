/** Interop, from its parts to its port. */
import type { AuditFacts } from '@cairn/clients'
import {
  defineRoutes,
  eventsRoute,
  type Listen,
  type RefusedRequest,
  type RouteTable,
  runService,
  type ServiceHost,
  type ServiceModule,
  type StartedService,
} from '@cairn/http'
import { breakerJanitor, type Health, type Supervisor, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import { type Inflate, MaintenanceLock, type Platform } from '@cairn/platform'
import { spellCount } from '@cairn/wire'
import { noFacts } from './audit.ts'
import { INTEROP_PORT_OFFSET, type InteropConfig, interopSection } from './config.ts'
import { INTEROP_CODES } from './errors.ts'
import { INTEROP_METRICS } from './metrics.ts'
import { checkParts, type InteropDependencies, type InteropParts, openParts } from './parts.ts'
import { mailboxRoutes } from './routes/mailbox.ts'
import { objectRoutes } from './routes/objects.ts'
import { adoptRoutes, auditRoutes, hookRoutes } from './routes/operator.ts'
import { PUT_PATH, putRoutes } from './routes/put.ts'
import { WEBHOOK_PATH, webhookRoutes } from './routes/webhooks.ts'
import { auditAnchor } from './tasks/audit-anchor.ts'
import { auditFollower, auditSink } from './tasks/audit-writers.ts'
import { brownoutSentinel, readyFields } from './tasks/brownout-sentinel.ts'
import { forwarder, proposer } from './tasks/dispatcher.ts'

/** Every route of interop. */
export function interopRoutes(parts: InteropParts): RouteTable {
  return defineRoutes([
    ...webhookRoutes(parts),
    ...hookRoutes(parts),
    ...putRoutes(parts),
    ...objectRoutes(parts),
    ...mailboxRoutes(parts),
    ...auditRoutes(parts),
    ...adoptRoutes(parts),
    eventsRoute(parts.runtime.clock, parts.events),
  ])
}

// Every task of interop but those that all services have.

const ROUND_MS = 10_000
/** Forgets what may be forgotten: replay keys whose time is over, and segments nothing living is in. */
function journalKeeper(
  { clock, log }: Platform,
  { ledger, config }: InteropParts,
  maintenanceLock: MaintenanceLock,
): TaskBody {
  return async ({ draining }) => {
    for (;;) {
      await sleep(clock, ROUND_MS, { signal: draining })
      if (ledger.lost.value !== undefined) continue
      try {
        const settle = async (): Promise<void> => {
          await ledger.settleKeys()
          await ledger.trim(config().journal.keep_bytes)
        }
        await maintenanceLock.work(settle, { signal: draining })
      } catch (error) {
        if (draining.aborted) throw error
        log.warn({ error: toCairnError(error).message }, 'the journal was not trimmed; the next round tries again')
      }
    }
  }
}

const FORWARDERS = 4

function startTasks(
  host: Pick<InteropHost, 'platform' | 'config' | 'directory' | 'maintenanceLock' | 'breakers' | 'amnesia'>,
  parts: InteropParts,
  supervisor: Supervisor,
  health: Health,
): void {
  const { platform, config, directory, breakers, maintenanceLock = new MaintenanceLock() } = host
  const { workers, audit } = config.current
  supervisor.start('worker', parts.work.worker, workers)
  supervisor.start('audit-sink', auditSink(platform, parts))
  supervisor.start('audit-follower', auditFollower(platform, parts, directory, host.amnesia === true))
  supervisor.start('audit-anchor', auditAnchor(platform, parts, audit.anchor_interval))
  supervisor.start('brownout-sentinel', brownoutSentinel(platform, parts, health))
  supervisor.start('journal-keeper', journalKeeper(platform, parts, maintenanceLock))
  if (breakers !== undefined) supervisor.start('breaker-janitor', breakerJanitor(platform, [breakers]))
  supervisor.start('proposer', proposer(platform, parts))
  supervisor.start('forwarder', forwarder(platform, parts), FORWARDERS)
  if (parts.reconciler !== undefined) supervisor.start('reconciler', parts.reconciler)
}

/** One line: what is let in, and what waits. */
export function summaryOf(parts: InteropParts): string {
  const names = [...parts.providers.keys()].sort().join(', ')
  const { live, dead } = parts.mailbox.facts()
  const lines = spellCount(parts.chain.count, 'audit line')
  return `${names === '' ? 'no provider enabled' : names} · ${live} waiting · ${dead} dead · ${lines}`
}

/** Every refusal of a webhook or a put, whoever refused it: counted once, and on its way into the audit. */

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

/** A node gives what every service needs, and its neighbours; the simulator also its own listener and decoder. */
export interface InteropHost extends ServiceHost<InteropConfig>, InteropDependencies {
  readonly listen?: Listen
  readonly inflate?: Inflate
}

export async function startInterop(host: InteropHost): Promise<StartedService<InteropConfig>> {
  return await runParts(host, await openParts(host))
}

/** The service around parts that are open; they are closed with it. */
export async function runParts(host: InteropHost, parts: InteropParts): Promise<StartedService<InteropConfig>> {
  const running = await runService({
    ...host,
    runtime: host.platform,
    conditions: ['journal_whole', 'journal_writable'],
    build: ({ supervisor, health }) => {
      startTasks(host, parts, supervisor, health)
      return {
        routes: interopRoutes(parts),
        codes: INTEROP_CODES,
        onProblem: (code, request) => noteRefusal(parts, code, request),
        readyFields: (query) => readyFields(parts, query),
        intake: [parts.work, parts.audit],
        events: parts.events,
        close: parts.close,
      }
    },
  })
  return { running, summary: async () => await Promise.resolve(summaryOf(parts)) }
}

export const INTEROP: ServiceModule<InteropConfig> = {
  name: 'interop',
  about: 'Webhooks in, verified, stored, queued once, audited.',
  portOffset: INTEROP_PORT_OFFSET,
  schema: interopSection,
  metrics: INTEROP_METRICS,
  start: startInterop,
  check: checkParts,
}
