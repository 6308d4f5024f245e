/**
 * Where every service's log lines go: one output, one level, one format.
 *
 *     storage ─┐
 *     edge ────┼─▶ level ─▶ redaction ─▶ JSON line or text line ─▶ standard error
 *     node ────┘                                                    (bounded buffer; drops are counted and said)
 */
import { type Clock, type Log, type LogFields, type LogLine, RepeatedWarning } from '@cairn/kernel'
import { type Logger, pino } from 'pino'
import { z } from 'zod'
import { section, setting } from '../config/setting.ts'
import { loggable, withoutCredentials } from './loggable.ts'

export type LogLevel = LogLine['level']
export type LogFormat = 'json' | 'text'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[]

/** The settings of a log, for whoever configures one. */
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
