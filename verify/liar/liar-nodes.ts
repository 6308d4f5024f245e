/** Two honest nodes and a third that lies: a real node behind a liar, in one virtual world. */

import { type ServiceOptions, TestService } from '../../services/storage/test/harness.ts'
import { Nodes, nodeOptions } from '../../services/storage/test/nodes.ts'
import { readAnswer } from '../virtual/answer.ts'
import { gather, joinHeaders } from '../virtual/network/message.ts'
import { VirtualWorld } from '../virtual/world.ts'
import type { LieName } from './lies.ts'
import { StorageLiar } from './storage-liar.ts'

const LIAR = 'm'
const BEHIND = 'behind'
const NONE = new Uint8Array(0)

export class LiarNodes extends Nodes {
  readonly liar: StorageLiar
  readonly #config: NonNullable<ServiceOptions['config']>
  #behind: TestService | undefined

  constructor(config: NonNullable<ServiceOptions['config']> = {}, world = new VirtualWorld(1)) {
    super(['a', 'b'], config, world, [LIAR])
    this.#config = config
    this.liar = new StorageLiar(
      LIAR,
      async ({ method, target, headers, body }) => {
        const asking = { headers: { ...headers, host: LIAR }, body: body.length === 0 ? undefined : body, token: null }
        const response = await this.behind.begin(method, target, asking)
        const answer = await readAnswer(response)
        return { status: answer.status, headers: answer.headers, body: answer.body }
      },
      async (ms) => await world.sleep(ms),
    )
  }

  /** The node whose answers are changed. */
  get behind(): TestService {
    if (this.#behind === undefined) throw new Error('The node behind the liar was not started.')
    return this.#behind
  }

  override async open(): Promise<void> {
    const { world } = this
    if (!world.machine(BEHIND).isUp) {
      const options = nodeOptions(LIAR, [...this.names, LIAR], this.#config)
      this.#behind = await TestService.open(options, world, world.machine(BEHIND))
      world
        .machine(LIAR)
        .start()
        .listen(7071, async ({ method, target, headers, body }) => {
          const request = { method, target, headers: joinHeaders(headers), body: (await gather(body)) ?? NONE }
          const { status, headers: fields, body: answer } = await this.liar.answer(request)
          return { status, headers: Object.entries(fields).flat(), body: answer }
        })
    }
    await super.open()
  }

  /** Tells these lies for a while, and the truth from then on. */
  async lie(ms: number, ...names: readonly LieName[]): Promise<void> {
    this.liar.tell(...names)
    await this.sleep(ms)
    this.liar.tell()
  }

  override async stop(): Promise<void> {
    await super.stop()
    this.world.machine(LIAR).kill()
    await this.world.run(this.behind.shutDown())
  }
}
