/** What may stand in a log line: plain values of bounded size, and nothing that opens a door. */
import { CairnError, type LogFields } from '@cairn/kernel'

const REDACTED = '(redacted)'

/** Fields whose text is a credential or part of one. */
const SECRET_NAME = /authorization|cookie|token|secret|passw|macaroon|capability|signature|private_?key|api_?key/i

/** A credential inside a longer text, as in a header quoted by an error. */
const CREDENTIAL = /\b(bearer|macaroon|capability|basic)\s+[\w.~+/=-]{8,}/gi

/** A line is for a person: what is deeper or longer than this is cut. */
const DEPTH_MAX = 5
const ENTRIES_MAX = 64
const TEXT_MAX = 8192

/** The fields as plain JSON values, without secrets. Takes anything and never throws. */
export function loggable(fields: LogFields): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) plain[name] = field(name, value, 1)
  return plain
}

function field(name: string, value: unknown, depth: number): unknown {
  const isOpen = value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
  return !isOpen && SECRET_NAME.test(name) ? REDACTED : plainValue(value, depth)
}

/** A text without the credentials in it. */
export function withoutCredentials(text: string): string {
  const short = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text
  return short.replace(CREDENTIAL, `$1 ${REDACTED}`)
}

function plainValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return withoutCredentials(value)
    case 'bigint':
    case 'symbol':
    case 'function':
      return String(value)
    case 'object':
      return value === null ? null : plainObject(value, depth)
    case 'number':
    case 'boolean':
    case 'undefined':
      return value
  }
}

function plainObject(value: object, depth: number): unknown {
  if (value instanceof Uint8Array) return `${value.length} bytes`
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  // A query may carry a credential, and userinfo is one.
  if (value instanceof URL) return `${value.protocol}//${value.host}${value.pathname}`
  if (depth > DEPTH_MAX) return '…'
  if (value instanceof Error) return plainError(value, depth)
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX).map((entry) => plainValue(entry, depth + 1))
  const entries = Object.entries(value).slice(0, ENTRIES_MAX)
  return Object.fromEntries(entries.map(([name, inner]) => [name, field(name, inner, depth + 1)]))
}

function plainError(error: Error, depth: number): Record<string, unknown> {
  const ours = error instanceof CairnError ? { kind: error.kind, code: error.code } : systemCode(error)
  const cause = error.cause === undefined ? {} : { cause: plainValue(error.cause, depth + 1) }
  const stack = error.stack === undefined ? {} : { stack: withoutCredentials(error.stack) }
  return { name: error.name, ...ours, message: withoutCredentials(error.message), ...stack, ...cause }
}

function systemCode(error: Error): { code?: string } {
  return 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
}
