/** Byte sizes and durations as settings take them: `"64KiB"`, `"3s"`, or a number of the unit in the key's name. */
import { formatByteSize, formatDuration, parseByteSize, parseDuration } from '@cairn/wire'
import { z } from 'zod'

export interface Bounds {
  readonly min?: number
  readonly max?: number
}

export type Quantity = z.ZodType<number, string | number>

/** A number of bytes, between the bounds. */
export function byteSize(bounds: Bounds = {}): Quantity {
  return quantity({ parse: parseByteSize, format: formatByteSize, form: 'a size such as "64KiB"', ...bounds })
}

/** A number of milliseconds, between the bounds. */
export function duration(bounds: Bounds = {}): Quantity {
  return quantity({
    parse: parseDuration,
    format: formatDuration,
    form: 'a duration such as "3s" or "1500ms"',
    ...bounds,
  })
}

interface Unit extends Bounds {
  readonly parse: (text: string) => number
  readonly format: (value: number) => string
  readonly form: string
}

function quantity(unit: Unit): Quantity {
  const { format, form, min = 0, max = Number.MAX_SAFE_INTEGER } = unit
  return z.union([z.string(), z.number()], { error: `must be ${form}` }).transform((input, context) => {
    const value = read(unit, input)
    if (value !== undefined && value >= min && value <= max) return value
    const range =
      max === Number.MAX_SAFE_INTEGER ? `at least ${format(min)}` : `between ${format(min)} and ${format(max)}`
    context.addIssue({ code: 'custom', message: value === undefined ? `must be ${form}` : `must be ${range}` })
    return z.NEVER
  })
}

function read({ parse }: Unit, input: string | number): number | undefined {
  if (typeof input === 'number') return Number.isSafeInteger(input) && input >= 0 ? input : undefined
  try {
    return parse(input)
  } catch {
    return undefined
  }
}
