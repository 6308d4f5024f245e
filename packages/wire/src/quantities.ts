/** Byte sizes (`64KiB`) and durations (`1500ms`) as people write them in configuration. */
import { CairnError } from '@cairn/kernel'

/** Numbers as people read them. */
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const

/** Two significant digits or whole units: `2.1 GB`, `610 MB`, `17 B`. */
export function spellBytes(bytes: number): string {
  let amount = bytes
  let unit = 0
  while (amount >= 999.5 && unit < UNITS.length - 1) {
    amount /= 1000
    unit += 1
  }
  const digits = unit > 0 && amount < 9.95 ? amount.toFixed(1) : amount.toFixed(0)
  return `${digits} ${UNITS[unit] ?? ''}`
}

/** Groups of three, `1 241`, and the noun that fits. */
export function spellCount(count: number, noun: string): string {
  const digits = String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ')
  return `${digits} ${noun}${count === 1 ? '' : 's'}`
}

export function spellSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`
}

/** Largest first, so that formatting finds the largest unit that leaves no fraction. */
const BYTE_UNITS = { TiB: 2 ** 40, GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10, B: 1 } as const
const TIME_UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const

/** Bytes of `64KiB`, `1MiB`, `512B` or a plain number. Decimal units are refused: `KB` means two things. */
export function parseByteSize(text: string): number {
  return parse(text, BYTE_UNITS, 'a byte size', /^\d+$/.test(text) ? 'B' : undefined)
}

/** The shortest exact spelling. */
export function formatByteSize(bytes: number): string {
  return format(bytes, BYTE_UNITS, 'B')
}

/** Milliseconds of `1500ms`, `3s`, `5m`, `2h` or `30d`. */
export function parseDuration(text: string): number {
  return parse(text, TIME_UNITS, 'a duration', undefined)
}

/** The shortest exact spelling. */
export function formatDuration(milliseconds: number): string {
  return format(milliseconds, TIME_UNITS, 'ms')
}

type Units = Readonly<Record<string, number>>

function parse(text: string, units: Units, what: string, plainUnit: string | undefined): number {
  const [, digits = '', unit = ''] = /^(\d{1,16}) ?([A-Za-z]*)$/.exec(text) ?? []
  const factor = Object.hasOwn(units, unit) ? units[unit] : units[plainUnit ?? '']
  const value = Number(digits) * (factor ?? Number.NaN)
  if (digits === '' || !Number.isSafeInteger(value)) {
    const names = Object.keys(units).reverse().join(', ')
    throw new CairnError(
      'Malformed',
      `${JSON.stringify(text)} is not ${what}: write a whole number and one of ${names}.`,
    )
  }
  return value
}

function format(value: number, units: Units, smallest: string): string {
  const fits = ([, factor]: [string, number]): boolean => value !== 0 && value % factor === 0
  const [unit, factor] = Object.entries(units).find(fits) ?? [smallest, 1]
  return `${value / factor}${unit}`
}
