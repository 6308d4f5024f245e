/** What a node answered to an administrator, each of the form it must have, else `bad_answer`. */
import { badAnswer } from '@cairn/clients'
import type { NodeStatus } from '@cairn/node'
import type { ConfigRow, ReloadOutcome } from '@cairn/platform'

/** Makes sense of a parsed answer. */
export type AnswerReader<T> = (value: unknown) => T

type NodeAnswerFields = Readonly<Record<string, unknown>>
type Reloaded = ReloadOutcome & { readonly tag: 'reloaded' }

function fieldsOf(value: unknown): NodeAnswerFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as NodeAnswerFields
  throw badAnswer('is not a JSON object')
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[]
  throw badAnswer(`has no list of ${what}`)
}

export function textField(value: unknown, name: string): string {
  const text = fieldsOf(value)[name]
  if (typeof text === 'string') return text
  throw badAnswer(`has no text ${name}`)
}

export function numberField(value: unknown, name: string): number {
  const number = fieldsOf(value)[name]
  if (typeof number === 'number') return number
  throw badAnswer(`has no number ${name}`)
}

/** For answers that say nothing but that it was done. */
export function readDone(value: unknown): true {
  fieldsOf(value)
  return true
}

/** A node of another version may leave a field out; without its services it is no node. */
export function readStatus(value: unknown): NodeStatus {
  const { version, pid, uptime_ms, urls, data, kept, ready, services, elsewhere } = fieldsOf(value)
  return {
    version: textOr(version),
    pid: numberOf(pid),
    uptime_ms: numberOf(uptime_ms),
    urls: textsOr(urls),
    data: textOr(data),
    kept: kept !== false,
    ready: ready === true,
    services: listOf(services, 'services').map(readService),
    elsewhere: Array.isArray(elsewhere) ? elsewhere.map(readElsewhere) : [],
  }
}

function readService(value: unknown): NodeStatus['services'][number] {
  const { urls, ready, missing, summary, concerns, notices } = fieldsOf(value)
  return {
    name: textField(value, 'name'),
    urls: textsOr(urls),
    ready: ready === true,
    missing: textsOr(missing),
    concerns: textsOr(concerns),
    ...(notices === undefined ? {} : { notices: textsOr(notices) }),
    summary: textOr(summary),
  }
}

function readElsewhere(value: unknown): NodeStatus['elsewhere'][number] {
  const { url, ready, why } = fieldsOf(value)
  return { name: textField(value, 'name'), url: textOr(url), ready: ready === true, why: textOr(why) }
}

export function readConfig(value: unknown): readonly ConfigRow[] {
  if (listOf(value, 'keys').length === 0) throw badAnswer('has no keys')
  for (const row of listOf(value, 'keys')) for (const name of ['key', 'reload', 'origin']) textField(row, name)
  return value as readonly ConfigRow[]
}

export function readReloaded(value: unknown): Reloaded {
  const { changes, pendingRestart } = fieldsOf(value)
  for (const row of listOf(changes, 'changes')) for (const name of ['key', 'reload', 'origin']) textField(row, name)
  listOf(pendingRestart, 'keys')
  return value as Reloaded
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textsOr(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
