/** What a day came to: what was acknowledged, what was refused and why, what was cut off. */
export class Tally {
  readonly #acknowledged = new Map<string, number>()
  readonly #refused = new Map<string, number>()
  readonly #cutOff = new Map<string, number>()

  acknowledge(service: string, times = 1): void {
    add(this.#acknowledged, service, times)
  }

  /** By a code, for a reason that a working node may give. */
  refuse(service: string, what: string): void {
    add(this.#refused, `${service}: ${what}`)
  }

  /** The process went while it was asked: whether it did it is not known. */
  cut(service: string): void {
    add(this.#cutOff, service)
  }

  acknowledgedBy(service: string): number {
    return this.#acknowledged.get(service) ?? 0
  }

  get acknowledged(): number {
    return [...this.#acknowledged.values()].reduce((sum, count) => sum + count, 0)
  }

  get refused(): number {
    return [...this.#refused.values()].reduce((sum, count) => sum + count, 0)
  }

  /** One line each, for people. */
  lines(): string[] {
    return [
      `acknowledged ${this.acknowledged}: ${listed(this.#acknowledged)}`,
      `cut off by a kill: ${listed(this.#cutOff)}`,
      `refused ${this.refused}:`,
      ...[...this.#refused].map(([what, count]) => `  ${what}: ${count}`).sort(),
    ]
  }
}

function add(counts: Map<string, number>, key: string, times = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + times)
}

function listed(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ') || 'nothing'
}
