/** What a client was told: which objects are acknowledged, which deletes; and whether the node holds to it. */
import { Agent } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { bytesOf } from '../bytes.ts'
import type { Answer, RunningNode } from '../node.ts'
import { sha256 } from '../operations.ts'

/** A rebuild of this little takes moments; one that takes so long never ends. */
const REBUILD_MS_MAX = 60_000
const AGAIN_MS = 20
const AT_ONCE = 8

export interface Breach {
  readonly address: string
  readonly what: string
}

interface Kept {
  readonly size: number
  readonly sha256: string
}

export class Ledger {
  readonly #kept = new Map<string, Kept>()
  readonly #deleted = new Set<string>()
  /** Whether a change under way was done is not known before it is answered: it counts as neither. */
  readonly #unsure = new Set<string>()

  get size(): number {
    return this.#kept.size
  }

  addresses(): readonly string[] {
    return [...this.#kept.keys()]
  }

  /** Stores new bytes; whether that was acknowledged. */
  async put(node: RunningNode, size: number, seed: string): Promise<boolean> {
    const bytes = bytesOf(size, seed)
    const path = size > 1 << 20 ? '/o?stream' : '/o'
    const answer = await attempt(node.request('storage', path, { method: 'POST', admin: true, body: bytes }))
    if (answer === undefined || answer.status >= 300) return false
    const { address } = JSON.parse(answer.body.toString()) as { address: string }
    this.#kept.set(address, { size, sha256: sha256(bytes) })
    return true
  }

  /** Drops one; whether that was acknowledged. */
  async delete(node: RunningNode, address: string): Promise<boolean> {
    const kept = this.#kept.get(address)
    this.#kept.delete(address)
    this.#unsure.add(address)
    const answer = await attempt(node.request('storage', `/o/${address}`, { method: 'DELETE', admin: true }))
    if (answer?.status === 204) {
      this.#unsure.delete(address)
      this.#deleted.add(address)
      return true
    }
    // Refused: it is still there. Without an answer nothing is known.
    if (answer !== undefined && answer.status >= 400 && kept !== undefined) {
      this.#unsure.delete(address)
      this.#kept.set(address, kept)
    }
    return false
  }

  /** Of one that is lost no more is asked. */
  forget(address: string): void {
    this.#kept.delete(address)
    this.#deleted.delete(address)
  }

  /** Asks for everything; what is not as it was told. */
  async check(node: RunningNode): Promise<readonly Breach[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
    const breaches: Breach[] = []
    const asked = [...this.#kept.keys(), ...this.#deleted]
    const endsAt = performance.now() + REBUILD_MS_MAX
    const ask = async (): Promise<void> => {
      for (let address = asked.pop(); address !== undefined; address = asked.pop()) {
        const what = await this.look(node, address, { agent, endsAt })
        if (what !== undefined) breaches.push({ address, what })
      }
    }
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, ask))
    } finally {
      agent.destroy()
    }
    return breaches
  }

  /** What is wrong with one, if anything is. While the node says `rebuilding`, it is asked again. */
  async look(
    node: RunningNode,
    address: string,
    { agent, endsAt = performance.now() + REBUILD_MS_MAX }: { readonly agent?: Agent; readonly endsAt?: number } = {},
  ): Promise<string | undefined> {
    for (;;) {
      const answer = await attempt(node.request('storage', `/o/${address}`, agent === undefined ? {} : { agent }))
      // Of a process that has died there is more to say than that it does not answer.
      if (node.hasEnded) return undefined
      if (answer !== undefined && !isRebuilding(answer)) return this.#judge(address, answer)
      if (performance.now() > endsAt) return answer === undefined ? 'no answer' : 'rebuilding, and no end of it'
      await wait(AGAIN_MS)
    }
  }

  #judge(address: string, { status, body }: Answer): string | undefined {
    const kept = this.#kept.get(address)
    if (kept === undefined)
      return this.#deleted.has(address) && status !== 404 ? `${status}, and it was deleted` : undefined
    if (status !== 200) return `${status} ${codeOf(body)}`
    return body.length === kept.size && sha256(body) === kept.sha256 ? undefined : 'other bytes'
  }
}

function isRebuilding({ status, body }: Answer): boolean {
  return status === 503 && codeOf(body) === 'rebuilding'
}

function codeOf(body: Buffer): string {
  return /"code":"([^"]*)"/.exec(body.toString())?.[1] ?? ''
}

async function attempt(asked: Promise<Answer>): Promise<Answer | undefined> {
  return await asked.catch(() => undefined)
}
