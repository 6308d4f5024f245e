/**
 * What was asked of a store and what it promised, from which follows what may be found after a crash.
 *
 *     begin present A ── ack present A ── begin absent A ──╳ crash     A: present (the last promise) or absent (under way)
 *     … opened again, A is read: absent ── ack absent A                A: absent, now and ever after
 *
 * The requests for one name come one after the other, so what may be found is what the last acknowledged one left, or
 * what one begun after it would have left. What was read once is a promise too.
 */

export type LedgerState = 'present' | 'absent'

const MARK = /^(begin|ack) (present|absent) (.+)$/

type Allowed = Map<string, Set<LedgerState>>

export class Ledger {
  readonly #mark: (label: string) => void
  readonly #allowed: Allowed = new Map()
  #promises = 0

  /** `mark` keeps the order of what was begun and what was promised, where a crash cannot reach it. */
  constructor(mark: (label: string) => void = () => undefined) {
    this.#mark = mark
  }

  /** Notes the request, makes it, and notes its acknowledgement. A refused request promises nothing. */
  async request(name: string, leaves: LedgerState, make: () => Promise<unknown>): Promise<void> {
    this.begin(name, leaves)
    await make()
    this.acknowledge(name, leaves)
  }

  begin(name: string, leaves: LedgerState): void {
    this.#note(`begin ${leaves} ${name}`)
  }

  acknowledge(name: string, leaves: LedgerState): void {
    this.#promises += 1
    this.#note(`ack ${leaves} ${name}`)
  }

  /** Throws unless this may be; from here on nothing else may. */
  found(name: string, state: LedgerState): void {
    const allowed = this.allowed(name)
    if (!allowed.has(state)) throw new Error(`${name} is ${state}, may only be ${[...allowed].join(' or ')}.`)
    if (allowed.size > 1) this.#note(`ack ${state} ${name}`)
  }

  /** What may be found of this name now; of one that nobody asked for, nothing. */
  allowed(name: string): ReadonlySet<LedgerState> {
    return this.#allowed.get(name) ?? new Set<LedgerState>(['absent'])
  }

  /** Every name a request was made for. */
  names(): string[] {
    return [...this.#allowed.keys()]
  }

  /** How many requests were acknowledged. */
  get promises(): number {
    return this.#promises
  }

  #note(mark: string): void {
    follow(this.#allowed, mark)
    this.#mark(mark)
  }
}

/** For every name a request was begun for: what may be found, given the marks made before a crash. */
export function allowedAfter(marks: readonly string[]): Allowed {
  const allowed: Allowed = new Map()
  for (const mark of marks) follow(allowed, mark)
  return allowed
}

function follow(allowed: Allowed, mark: string): void {
  const [, what, leaves, name] = MARK.exec(mark) ?? []
  if (name === undefined || (leaves !== 'present' && leaves !== 'absent')) return
  const states = allowed.get(name) ?? new Set<LedgerState>(['absent'])
  if (what === 'ack') states.clear()
  allowed.set(name, states.add(leaves))
}
