/**
 * A peer that lies about what it is told to lie about, and is honest otherwise: it stands before a real node.
 *
 *     node under test ─▶ StorageLiar ─▶ the lies in force ─▶ honest node behind it
 *                             └─ remembers what it was sent, to tell it again
 */
import { LiarMemory } from './liar-memory.ts'
import { LIES, type Lie, type LieName } from './lies.ts'
import { type Forward, type PeerAnswer, type PeerRequest, type PeerRoute, routeOf } from './message.ts'

export class StorageLiar {
  readonly memory: LiarMemory
  /** How often each lie was told. */
  readonly told = new Map<LieName, number>()
  /** What it was asked, by route. */
  readonly asked = new Map<PeerRoute, number>()
  readonly #forward: Forward
  #lies: readonly Lie[] = []

  constructor(node: string, forward: Forward, pause: (ms: number) => Promise<void>) {
    this.memory = new LiarMemory(node, pause)
    this.#forward = forward
  }

  /** These are told from now on, and no others; of two about the same question the first. */
  tell(...names: readonly LieName[]): void {
    this.#lies = names.map((name) => LIES[name])
    for (const name of names) if (!this.told.has(name)) this.told.set(name, 0)
  }

  get isHonest(): boolean {
    return this.#lies.length === 0
  }

  async answer(request: PeerRequest): Promise<PeerAnswer> {
    const route = routeOf(request)
    this.asked.set(route, (this.asked.get(route) ?? 0) + 1)
    this.#listen(request, route)
    const lie = this.#lies.find(({ about }) => about === 'all' || about.includes(route))
    if (lie === undefined) return await this.#forward(request)
    const { memory } = this
    const honest = async (): Promise<PeerAnswer> => await this.#forward(request)
    const answer = await lie.answer({ request, route, honest, memory })
    for (const [name, each] of Object.entries(LIES))
      if (each === lie) this.told.set(name as LieName, (this.told.get(name as LieName) ?? 0) + 1)
    return answer
  }

  #listen({ target, headers, body }: PeerRequest, route: PeerRoute): void {
    this.memory.learn(Object.values(headers))
    const url = new URL(target, 'http://liar')
    this.memory.learn([...url.searchParams.values()])
    const isWrite = route === 'put' || route === 'commit'
    if (isWrite) this.memory.sent.set(url.pathname.slice(3), url.searchParams.get('copy') ?? '')
    if (!isWrite && body.length > 0 && headers['content-type'] === 'application/json') {
      try {
        this.memory.learn(JSON.parse(Buffer.from(body).toString()))
      } catch {
        // What is not JSON holds no statement.
      }
    }
  }
}
