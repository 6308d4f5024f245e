/** How far a transfer is, on standard error: one line that is drawn again for people, a JSON line each time for programs. */
import type { Clock } from '@cairn/kernel'
import { spellBytes, spellCount } from '@cairn/wire'
import type { CommandArguments } from './command.ts'
import type { Terminal } from './terminal.ts'

export interface Transferred {
  readonly bytes: number
  readonly totalBytes?: number | undefined
  readonly newBytes?: number
  readonly files?: number
}

/** Between two lines; a transfer reports thousands of times a second. */
const INTERVAL_MS = 100
const BAR_WIDTH = 20
const NARROW_BAR_WIDTH = 8
/** Below this many columns the bar is short. */
const NARROW_COLUMNS = 80
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const

export class Progress {
  readonly #terminal: Terminal
  readonly #clock: Clock
  readonly #form: 'none' | 'bar' | 'json'
  readonly #startedAt: number
  #shownAt = Number.NEGATIVE_INFINITY

  constructor(terminal: Terminal, given: CommandArguments, clock: Clock) {
    const isBar = terminal.isWatched && !given.has('quiet') && !given.has('json')
    this.#terminal = terminal
    this.#clock = clock
    this.#form = given.text('progress') === 'json' ? 'json' : isBar ? 'bar' : 'none'
    this.#startedAt = clock.now()
  }

  /** Somebody will see it, so that it is worth finding out the total. */
  get isShown(): boolean {
    return this.#form !== 'none'
  }

  get elapsedMs(): number {
    return this.#clock.now() - this.#startedAt
  }

  show(now: Transferred): void {
    if (this.#form === 'none' || this.#clock.now() - this.#shownAt < INTERVAL_MS) return
    this.#shownAt = this.#clock.now()
    this.#say(now)
  }

  /** The last word; the line of people disappears, what comes after it says the same. */
  end(now?: Transferred): void {
    if (this.#form === 'bar' && this.#shownAt >= 0) this.#terminal.say('\r\u001B[K')
    if (this.#form === 'json' && now !== undefined) this.#say(now)
  }

  #say(now: Transferred): void {
    if (this.#form === 'bar') this.#terminal.say(`\r\u001B[K${barLine(now, this.elapsedMs, this.#terminal.columns)}`)
    else this.#terminal.say(`${JSON.stringify(eventOf(now))}\n`)
  }
}

function eventOf({ bytes, totalBytes, newBytes, files }: Transferred): Readonly<Record<string, unknown>> {
  return { event: 'progress', bytes, total_bytes: totalBytes, new_bytes: newBytes, files }
}

/** One line, whatever is cut off: of two, only the last would be drawn again. */
function barLine(now: Transferred, elapsedMs: number, columns = NARROW_COLUMNS): string {
  const width = columns < NARROW_COLUMNS ? NARROW_BAR_WIDTH : BAR_WIDTH
  return Array.from(barText(now, elapsedMs, width))
    .slice(0, columns - 1)
    .join('')
}

function barText({ bytes, totalBytes, files }: Transferred, elapsedMs: number, width: number): string {
  const perSecond = elapsedMs === 0 ? 0 : (bytes / elapsedMs) * 1000
  const tail = [`${spellBytes(perSecond)}/s`]
  if (totalBytes !== undefined && perSecond > 0)
    tail.push(`${Math.ceil(Math.max(0, totalBytes - bytes) / perSecond)} s left`)
  if (files !== undefined) tail.push(spellCount(files, 'file'))
  if (totalBytes === undefined) return `  ${[spellBytes(bytes), ...tail].join('  ')}`
  const share = totalBytes === 0 ? 1 : Math.min(1, bytes / totalBytes)
  const percent = `${Math.floor(share * 100)} %`
  return `  ▕${bar(share, width)}▏ ${[percent, `${spellBytes(bytes)}/${spellBytes(totalBytes)}`, ...tail].join('  ')}`
}

function bar(share: number, width: number): string {
  const eighths = Math.floor(share * width * 8)
  return `${'█'.repeat(Math.floor(eighths / 8))}${EIGHTHS[eighths % 8] ?? ''}`.padEnd(width)
}
