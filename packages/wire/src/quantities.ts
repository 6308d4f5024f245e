/** Byte sizes (`64KiB`) and durations (`1500ms`) as people write them in configuration. */
import { CairnError } from '@cairn/kernel'

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
