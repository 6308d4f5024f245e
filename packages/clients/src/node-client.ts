/** What a service says about itself: the worked example every other client follows. */
import type { IncomingResponse } from '@cairn/transport'
import type { CallContext, Caller } from './caller.ts'
import { badAnswer, readObject } from './response-body.ts'

export interface ServiceVersion {
  readonly version: string
  /** Everything else it tells: its name, its commit, its features. */
  readonly facts: Readonly<Record<string, unknown>>
}

export interface ServiceReadiness {
  readonly ready: boolean
  /** The conditions that are not met. */
  readonly missing: readonly string[]
  /** Why not, in a sentence; empty when ready. */
  readonly why: string
}

export type ServiceHealth =
  | { readonly tag: 'healthy' }
  /** A task failed too often and the service is going down. */
  | { readonly tag: 'failed'; readonly why: string }

/** The ops routes of any service. They need no scope. */
export interface NodeClient {
  version(context: CallContext): Promise<ServiceVersion>
  /** Not being ready is an answer, not an error. */
  readiness(context: CallContext): Promise<ServiceReadiness>
  health(context: CallContext): Promise<ServiceHealth>
}

/** A self-description is a few kilobytes. */
const ANSWER_BYTES_MAX = 256 * 1024

/** The client over HTTP or in process: the caller's transport decides. */
export function nodeClient(caller: Caller): NodeClient {
  const ask = { method: 'GET', idempotent: true } as const
  return {
    version: async (context) =>
      await caller.call({ ...ask, operation: 'version', path: 'version', read: readVersion }, context),
    readiness: async (context) =>
      await caller.call(
        { ...ask, operation: 'readiness', path: 'readyz', answers: [503], read: readReadiness },
        context,
      ),
    health: async (context) =>
      await caller.call({ ...ask, operation: 'health', path: 'healthz', answers: [503], read: readHealth }, context),
  }
}

async function readVersion(response: IncomingResponse): Promise<ServiceVersion> {
  const { version, ...facts } = await readObject(response, ANSWER_BYTES_MAX)
  if (typeof version !== 'string') throw badAnswer('has no version')
  return { version, facts }
}

async function readReadiness(response: IncomingResponse): Promise<ServiceReadiness> {
  const { ready, missing = [], detail = '' } = await readObject(response, ANSWER_BYTES_MAX)
  const isList = Array.isArray(missing) && missing.every((name) => typeof name === 'string')
  if (typeof ready !== 'boolean' || !isList || typeof detail !== 'string') throw badAnswer('is not a readiness')
  return { ready, missing, why: detail }
}

async function readHealth(response: IncomingResponse): Promise<ServiceHealth> {
  const { status, code, detail } = await readObject(response, ANSWER_BYTES_MAX)
  if (response.status === 200 && status === 'ok') return { tag: 'healthy' }
  if (code !== 'task_failed' || typeof detail !== 'string') throw badAnswer('is not a health')
  return { tag: 'failed', why: detail }
}
