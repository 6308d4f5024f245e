/** Which fault struck a machine while a request to which service was under way there. */
import { SERVICE_NAMES, type ServiceName } from './answer.ts'
import { FAULT_KINDS, type FaultKind } from './faults/fault.ts'

export type Counts = Readonly<Record<string, number>>

export class Matrix {
  readonly #counts = new Map<string, number>()

  count(kind: FaultKind, service: ServiceName): void {
    this.add({ [`${kind} ${service}`]: 1 })
  }

  add(counts: Counts): void {
    for (const [key, count] of Object.entries(counts)) this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
  }

  get counts(): Counts {
    return Object.fromEntries(this.#counts)
  }

  /** Pairs that never happened. */
  zeros(services: readonly ServiceName[] = SERVICE_NAMES): string[] {
    const pairs = FAULT_KINDS.flatMap((kind) => services.map((service) => `${kind} ${service}`))
    return pairs.filter((pair) => !this.#counts.has(pair))
  }

  /** On one line. */
  get line(): string {
    const cells = (kind: FaultKind): string => SERVICE_NAMES.map((each) => this.#of(kind, each)).join('/')
    return `${SERVICE_NAMES.join('/')}: ${FAULT_KINDS.map((kind) => `${kind} ${cells(kind)}`).join(', ')}`
  }

  /** As a Markdown table. */
  render(): string {
    const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
    return [
      row(['fault', ...SERVICE_NAMES]),
      row(['---', ...SERVICE_NAMES.map(() => '---:')]),
      ...FAULT_KINDS.map((kind) => row([kind, ...SERVICE_NAMES.map((each) => String(this.#of(kind, each)))])),
    ].join('\n')
  }

  #of(kind: FaultKind, service: ServiceName): number {
    return this.#counts.get(`${kind} ${service}`) ?? 0
  }
}
