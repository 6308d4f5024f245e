/** What probes and people ask a service about itself. These answer while everything else is refused. */
import { CairnError, type Health, type LiveTopology, type Shutdown } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { z } from 'zod'
import { json, problem } from '../response/message.ts'
import { type Route, route } from './route.ts'

export interface OpsSource {
  readonly health: Health
  readonly shutdown: Shutdown
  readonly topology: LiveTopology
  /** The service, its version, its commit, its features: what `/version` shows. */
  readonly version: Readonly<Record<string, unknown>>
  /** The text of `/metrics`. */
  readonly metricsText: () => string | Promise<string>
  /** The table of routes as an OpenAPI document, as text. */
  readonly apiText: () => string
  /** More fields for `/readyz`, from its query: what a service knows about itself beside the conditions. */
  readonly readyFields?: (query: string) => ReadyFields
}

/** `ready` and `missing` take the place of what the conditions say; one that says no must name why. */
export interface ReadyFields {
  readonly ready?: boolean
  readonly missing?: readonly string[]
  readonly [field: string]: unknown
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
/** How soon a probe should look again. */
const READY_RETRY_MS = 1000

export function opsRoutes(source: OpsSource): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/healthz',
      lane: 'ops',
      summary: 'Whether the process is alive: 200 until a task has failed too often.',
      responses: { 200: { description: 'Alive, ready or not.', schema: z.strictObject({ status: z.literal('ok') }) } },
      errors: { task_failed: 503 },
      handler: ({ corrId }) => health(source, corrId),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      lane: 'ops',
      summary: 'Whether the service should be given work, and what it waits for if not.',
      responses: { 200: { description: 'Ready.', schema: z.looseObject({ ready: z.literal(true) }) } },
      errors: { not_ready: 503, draining: 503 },
      handler: ({ corrId, queryText }) => readiness(source, corrId, queryText),
    }),
    route({
      method: 'GET',
      path: '/metrics',
      lane: 'ops',
      summary: 'Metrics in the Prometheus text format; for this machine only, unless asked through `metrics_addr`.',
      responses: { 200: { description: 'The metrics.', mediaType: METRICS_TYPE } },
      errors: { local_only: 403 },
      handler: async () => ({ status: 200, headers: ['Content-Type', METRICS_TYPE], body: await source.metricsText() }),
    }),
    route({
      method: 'GET',
      path: '/version',
      lane: 'ops',
      summary: 'What is running.',
      responses: { 200: { description: 'Service, version, commit, features.', schema: z.looseObject({}) } },
      handler: () => json(200, source.version),
    }),
    route({
      method: 'GET',
      path: '/openapi.json',
      lane: 'ops',
      summary: 'Every route of the service, as an OpenAPI 3.1 document.',
      responses: { 200: { description: 'The document.', schema: z.looseObject({ openapi: z.literal('3.1.0') }) } },
      handler: () => ({ status: 200, headers: ['Content-Type', 'application/json'], body: source.apiText() }),
    }),
    route({
      method: 'GET',
      path: '/debug/topology',
      lane: 'ops',
      summary: 'Every queue, task and open resource with its state now; for this machine only.',
      responses: { 200: { description: 'What is alive.', schema: z.array(z.looseObject({})) } },
      errors: { local_only: 403 },
      handler: () => json(200, source.topology.snapshot()),
    }),
  ]
}

/** An answer that costs nothing, and that decides whether an orchestrator kills the process: it is never refused. */
export function isNeverRefused(path: string): boolean {
  return path === '/healthz'
}

/** Not for every client of a public address: they say much about the inside. */
export function isLocalOnly(path: string): boolean {
  return path === '/metrics' || path.startsWith('/debug/')
}

function health({ health: { fatal } }: OpsSource, corrId: string): IngressResponse {
  if (fatal === undefined) return json(200, { status: 'ok' })
  const detail = `The task ${fatal.task} failed too often: ${fatal.why}. The service stops; look into its log.`
  const error = new CairnError('Internal', detail, { code: 'task_failed', status: 503 })
  return problem(error, corrId, { fields: { detail, task: fatal.task } })
}

function readiness(source: OpsSource, corrId: string, query: string): IngressResponse {
  const { ready, missing, conditions } = source.health.readiness.value
  const isRunning = source.shutdown.phase.value === 'running'
  const own = source.readyFields?.(query)
  const said = { ready, missing, conditions, ...own }
  const fields = { ...said, ready: said.ready && isRunning }
  if (fields.ready) return json(200, fields)
  // A service may know more than its conditions say: it is not ready for all of its classes, and names why.
  const detail = fields.missing.length === 0 ? 'Not ready.' : `Not ready: ${fields.missing.join(', ')}.`
  const error = isRunning
    ? new CairnError('StorageBusy', detail, {
        code: 'not_ready',
        retryAfterMs: READY_RETRY_MS,
      })
    : new CairnError('Canceled', 'The service is shutting down.', { code: 'draining', retryAfterMs: READY_RETRY_MS })
  return problem(error, corrId, { fields: { ...fields, degraded: true } })
}
