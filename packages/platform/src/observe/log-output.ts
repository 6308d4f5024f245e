/**
 * Where every service's log lines go: one output, one level, one format, and no secrets in a line.
 *
 *     storage ─┐
 *     edge ────┼─▶ level ─▶ redaction ─▶ JSON line or text line ─▶ standard error
 *     node ────┘                                                    (bounded buffer; drops are counted and said)
 */
import { CairnError, type Clock, type Log, type LogFields, type LogLine, RepeatedWarning } from '@cairn/kernel'
import { type Logger, pino } from 'pino'
import { z } from 'zod'
import { section, setting } from '../config/setting.ts'

// A log line holds plain values of bounded size, and no credentials.

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

export type LogLevel = LogLine['level']
export type LogFormat = 'json' | 'text'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

/** The settings of the log output. */
export const logSection = section({
  level: setting(z.enum(LEVELS), {
    reload: 'live',
    default: 'info',
    does: 'The least serious lines that are written.',
  }),
  format: setting(z.enum(['auto', 'json', 'text']), {
    reload: 'restart',
    default: 'auto',
    does: 'JSON lines or text; auto is text on a terminal and JSON elsewhere.',
  }),
})

export interface LogDestination {
  /** Takes one line, with its end. Never waits. */
  write(line: string): void
  /** Lines that did not fit since this was last asked. */
  takeDropped(): number
  /** Writes what is buffered. */
  close(): void
}

export interface LogOutputOptions {
  readonly destination: LogDestination
  readonly format: LogFormat
  readonly level: LogLevel
  readonly clock: Clock
}

export class LogOutput {
  readonly #destination: LogDestination
  readonly #clock: Clock
  readonly #json: Logger | undefined
  readonly #dropWarning: RepeatedWarning
  #least: number

  constructor({ destination, format, level, clock }: LogOutputOptions) {
    this.#destination = destination
    this.#clock = clock
    this.#least = LEVELS.indexOf(level)
    this.#json = format === 'json' ? jsonLogger(destination, clock) : undefined
    this.#dropWarning = new RepeatedWarning(
      clock,
      this.service('log'),
      'log lines were dropped; the reader is too slow',
    )
  }

  setLevel(level: LogLevel): void {
    this.#least = LEVELS.indexOf(level)
  }

  /** The log of one service; its name is on every line. */
  service(service: string): Log {
    const child = this.#json?.child({ service })
    const at =
      (level: LogLevel) =>
      (fields: LogFields, message: string): void => {
        if (LEVELS.indexOf(level) < this.#least) return
        if (child === undefined) this.#destination.write(this.#textLine(level, service, fields, message))
        else child[level](loggable(fields), withoutCredentials(message))
        const dropped = this.#destination.takeDropped()
        if (dropped > 0) this.#dropWarning.happened({}, dropped)
      }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }

  close(): void {
    this.#destination.close()
  }

  #textLine(level: LogLevel, service: string, fields: LogFields, message: string): string {
    const time = timestamp(this.#clock).slice(11, 23)
    const pairs = Object.entries(loggable(fields)).map(([name, value]) => `${name}=${textValue(value)}`)
    const line = [time, level.padEnd(5), service.padEnd(8), withoutCredentials(message), ...pairs].join(' ')
    return `${line.replaceAll(/[\r\n]+/g, ' ')}\n`
  }
}

function jsonLogger(destination: LogDestination, clock: Clock): Logger {
  return pino(
    {
      level: 'debug',
      base: null,
      messageKey: 'message',
      timestamp: () => `,"ts":"${timestamp(clock)}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
}

function timestamp(clock: Clock): string {
  return new Date(clock.wall()).toISOString()
}

/** Plain words as they are; everything else as JSON, so that a line stays one line. */
function textValue(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/-]+$/.test(value) ? value : JSON.stringify(value)
}

/** Lines waiting for a slow reader of standard error, in bytes; past it lines are dropped, not waited for. */
const BUFFER_BYTES_MAX = 1024 * 1024

/** Lines are written together once they are so many bytes or so old: a write by itself costs more than its line. */
const BATCH_BYTES = 8 * 1024
const BATCH_MS = 20

/** Standard error, which carries the log so that standard output carries data alone. */
export function standardError(): LogDestination {
  return fileDestination(2)
}

/** A file descriptor, written without holding up the event loop. */
export function fileDestination(descriptor: number): LogDestination {
  const options = { fd: descriptor, sync: false, minLength: BATCH_BYTES, maxLength: BUFFER_BYTES_MAX }
  const stream = pino.destination(options)
  let dropped = 0
  let batch: NodeJS.Timeout | undefined
  const flush = (): void => {
    batch = undefined
    stream.flush()
  }
  stream.on('drop', () => {
    dropped += 1
  })
  return {
    write: (line) => {
      stream.write(line)
      // It keeps no process alive: what is left at its end is written then.
      batch ??= setTimeout(flush, BATCH_MS).unref()
    },
    takeDropped: () => {
      const count = dropped
      dropped = 0
      return count
    },
    close: () => {
      clearTimeout(batch)
      stream.flushSync()
      stream.end()
    },
  }
}
