/** How numbers, sizes, times and foreign text are written. */

const THIN = '\u2009'
const FIXED = '\u00a0'

/** `41 382`, with thin spaces. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replaceAll(/\B(?=(?:\d{3})+$)/g, THIN)
}

/** `3 objects`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)}${FIXED}${value === 1 ? one : many}`
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const

/** `1.2 GB`: decimal, at most three digits. */
export function bytes(value: number): string {
  let [left, at] = [value, 0]
  while (left >= 999.5 && at < BYTE_UNITS.length - 1) {
    left /= 1000
    at += 1
  }
  const digits = at > 0 && left < 9.95 ? 1 : 0
  return `${left.toFixed(digits)}${FIXED}${BYTE_UNITS[at] ?? ''}`
}

/** `0.8 ms`, `2.1 s`. */
export function millis(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (value >= 1000) return `${(value / 1000).toFixed(1)}${FIXED}s`
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${FIXED}ms`
}

const SPANS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** The two largest units that are not zero: `12 d 4 h`; one where `short`. */
export function span(ms: number, parts = 2): string {
  let left = Math.max(0, ms)
  const said: string[] = []
  for (const [unit, size] of SPANS) {
    const whole = Math.floor(left / size)
    left -= whole * size
    if (whole > 0) said.push(`${whole}${FIXED}${unit}`)
  }
  return said.slice(0, parts).join(' ') || `0${FIXED}s`
}

/** Relative within a week, a date beyond. */
export function ago(atMs: number, nowMs: number): string {
  const past = nowMs - atMs
  if (past < 0 && past > -604_800_000) return `in ${span(-past, 1)}`
  if (past < 10_000) return 'just now'
  if (past < 604_800_000) return `${span(past, 1)} ago`
  return new Date(atMs).toISOString().slice(0, 10)
}

export function exact(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Text that somebody else wrote, with what would change how the rest is read as `U+202E`. */
export function shown(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}

/** `a, b and c`. */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`
}
