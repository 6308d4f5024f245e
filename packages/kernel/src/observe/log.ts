import type { Clock } from '../clock.ts'

export type LogFields = Readonly<Record<string, unknown>>

/** Structured logging: fields first, then a sentence that stays the same so it can be searched for. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: LogFields
  readonly message: string
}

/** Keeps every line; for tests and the simulator. */
export class MemoryLog implements Log {
  readonly lines: LogLine[] = []

  debug(fields: LogFields, message: string): void {
    this.lines.push({ level: 'debug', fields, message })
  }
  info(fields: LogFields, message: string): void {
    this.lines.push({ level: 'info', fields, message })
  }
  warn(fields: LogFields, message: string): void {
    this.lines.push({ level: 'warn', fields, message })
  }
  error(fields: LogFields, message: string): void {
    this.lines.push({ level: 'error', fields, message })
  }
}

/** How often one source may repeat a warning: a flood of drops is one line and a count, not a flood of lines. */
const WARNING_INTERVAL_MS = 5_000

/** Says a repeated warning at most once per five seconds, with how many times it happened since. */
export class RepeatedWarning {
  readonly #clock: Clock
  readonly #log: Log
  readonly #message: string
  #quietUntil = Number.NEGATIVE_INFINITY
  #count = 0

  constructor(clock: Clock, log: Log, message: string) {
    this.#clock = clock
    this.#log = log
    this.#message = message
  }

  happened(fields: LogFields, times = 1): void {
    this.#count += times
    if (this.#clock.now() < this.#quietUntil) return
    this.#quietUntil = this.#clock.now() + WARNING_INTERVAL_MS
    this.#log.warn({ ...fields, count: this.#count }, this.#message)
    this.#count = 0
  }
}
