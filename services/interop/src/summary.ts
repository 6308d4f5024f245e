import { spellCount } from '@cairn/wire'
import type { InteropParts } from './parts.ts'

/** One line: what is let in, and what waits. */
export function summaryOf(parts: InteropParts): string {
  const names = [...parts.providers.keys()].sort().join(', ')
  const { live, dead } = parts.mailbox.facts()
  const lines = spellCount(parts.chain.count, 'audit line')
  return `${names === '' ? 'no provider enabled' : names} · ${live} waiting · ${dead} dead · ${lines}`
}
