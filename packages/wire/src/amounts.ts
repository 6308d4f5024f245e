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
