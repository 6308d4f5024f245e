/** Which targets have answered lately: one that was cut off for being slower than another is then not taken for dead. */

const RECENT_MS = 60_000
const TARGETS_MAX = 4096

export class RecentAnswers {
  readonly #at = new Map<string, number>()

  note(target: string, now: number): void {
    this.#at.delete(target)
    this.#at.set(target, now)
    const [oldest] = this.#at.size > TARGETS_MAX ? this.#at.keys() : []
    if (oldest !== undefined) this.#at.delete(oldest)
  }

  has(target: string, now: number): boolean {
    const at = this.#at.get(target)
    return at !== undefined && now - at < RECENT_MS
  }
}
