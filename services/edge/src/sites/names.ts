/** What names mean now: asked of the index, remembered for a moment, and for a little longer while it is asked again. */
import type { IndexClient } from '@cairn/clients'
import { Deadline, type Runtime } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { EdgeRequestContext } from '../answers/serve.ts'
import { noSuchName } from '../errors.ts'

/** As long as the answers say they may be kept. */
const FRESH_MS = 5_000
const STALE_MS = 30_000
const NAMES_MAX = 10_000
/** For one question to the index. Whoever waits for it has a deadline of their own, which is nobody else's. */
const LOOKUP_MS = 5_000

export interface NamedTree {
  readonly address: Address
  /** The position of the checkpoint that vouches for it, where one does. */
  readonly version: string | undefined
}

interface CachedName {
  readonly tree: NamedTree
  readonly at: number
}

export class Names {
  readonly #runtime: Runtime
  readonly #index: IndexClient | undefined
  readonly #known = new Map<string, CachedName>()
  readonly #asked = new Map<string, Promise<NamedTree>>()

  constructor(runtime: Runtime, index: IndexClient | undefined) {
    this.#runtime = runtime
    this.#index = index
  }

  /** At once where it was asked lately. */
  resolve(name: string, context: EdgeRequestContext): NamedTree | Promise<NamedTree> {
    const known = this.#known.get(name)
    const ageMs = known === undefined ? Infinity : this.#runtime.clock.now() - known.at
    if (known !== undefined && ageMs < FRESH_MS) return known.tree
    const asking = this.#ask(name, context)
    if (known === undefined || ageMs >= FRESH_MS + STALE_MS) return asking
    // The one who waits for the new meaning is the next; a failure is theirs, too.
    asking.catch(() => {})
    return known.tree
  }

  /** Several who ask at once ask once. */
  #ask(name: string, context: EdgeRequestContext): Promise<NamedTree> {
    const asked = this.#asked.get(name)
    if (asked !== undefined) return asked
    const asking = this.#lookUp(name, context).finally(() => {
      this.#asked.delete(name)
    })
    this.#asked.set(name, asking)
    return asking
  }

  async #lookUp(name: string, { corrId }: EdgeRequestContext): Promise<NamedTree> {
    const deadline = Deadline.after(this.#runtime.clock, LOOKUP_MS)
    const found = await this.#index?.resolve(`name:${name}`, {}, { corrId, deadline })
    if (found === undefined) {
      this.#known.delete(name)
      throw noSuchName(name)
    }
    const tree = { address: found.manifest, version: checkpointPosition(found.proof) }
    this.#known.delete(name)
    this.#known.set(name, { tree, at: this.#runtime.clock.now() })
    const [oldest] = this.#known.size > NAMES_MAX ? this.#known.keys() : []
    if (oldest !== undefined) this.#known.delete(oldest)
    return tree
  }
}

/** The size of the log that the proof's checkpoint signs: the second line of the note. */
function checkpointPosition(proof: Uint8Array | undefined): string | undefined {
  if (proof === undefined) return undefined
  try {
    const file: unknown = JSON.parse(new TextDecoder().decode(proof))
    if (typeof file !== 'object' || file === null || !('checkpoint' in file)) return undefined
    const { checkpoint } = file
    const size = typeof checkpoint === 'string' ? checkpoint.split('\n')[1] : undefined
    return size !== undefined && /^\d{1,16}$/.test(size) ? size : undefined
  } catch {
    return undefined
  }
}
