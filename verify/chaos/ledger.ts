/**
 * What was asked of a store and what it promised, from which follows what may be found after a crash.
 *
 *     begin present A ── ack present A ── begin absent A ──╳ crash     A: present (the last promise) or absent (under way)
 *
 * The requests for one name come one after the other, so what may be found is what the last acknowledged one left, or
 * what one begun after it would have left.
 */

export type LedgerState = 'present' | 'absent'

const MARK = /^(begin|ack) (present|absent) (.+)$/

export class Ledger {
  readonly #mark: (label: string) => void
  readonly #names = new Set<string>()

  /** `mark` keeps the order of what was begun and what was promised, where a crash cannot reach it. */
  constructor(mark: (label: string) => void) {
    this.#mark = mark
  }

  /** Notes the request, makes it, and notes its acknowledgement. A refused request promises nothing. */
  async request(name: string, leaves: LedgerState, make: () => Promise<unknown>): Promise<void> {
    this.#names.add(name)
    this.#mark(`begin ${leaves} ${name}`)
    await make()
    this.#mark(`ack ${leaves} ${name}`)
  }

  /** Every name a request was made for. */
  names(): string[] {
    return [...this.#names]
  }
}

/** For every name a request was begun for: what may be found, given the marks made before a crash. */
export function allowedAfter(marks: readonly string[]): Map<string, Set<LedgerState>> {
  const allowed = new Map<string, Set<LedgerState>>()
  for (const mark of marks) {
    const [, what, leaves, name] = MARK.exec(mark) ?? []
    if (name === undefined || (leaves !== 'present' && leaves !== 'absent')) continue
    const states = allowed.get(name) ?? new Set<LedgerState>(['absent'])
    if (what === 'ack') states.clear()
    allowed.set(name, states.add(leaves))
  }
  return allowed
}
