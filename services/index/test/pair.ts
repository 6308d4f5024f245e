/** Two indexes on one virtual network: one tells the other what its storage holds. */
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { outside, TestStorage } from './dependencies.ts'
import { TestService, tokenFor } from './harness.ts'
import { seedOf } from './network.ts'

export interface Pair {
  readonly world: VirtualWorld
  readonly teller: TestService
  readonly taker: TestService
  readonly storage: TestStorage
  /** What the taker asked for at the address in the records. */
  readonly asked: string[]
  stop(): Promise<void>
}

/** `answer` is what the taker hears when it asks for an object where the teller says it is. */
export async function startPair(answer: () => number, token = tokenFor(['index:announce'])): Promise<Pair> {
  const world = new VirtualWorld(1)
  const storage = new TestStorage()
  const asked: string[] = []
  const taker = await TestService.start(
    {
      config: { ingress: { hosts: ['taker'] } },
      outside: ({ clock }) =>
        outside(clock, ({ method, url }) => {
          asked.push(`${method} ${url.href}`)
          return answer()
        }),
    },
    world,
    world.machine('taker'),
  )
  const to = [{ url: 'http://taker:7072', token_path: 'taker.token' }]
  const files = { 'taker.token': Buffer.from(`${token}\n`) }
  const identitySeed = seedOf(2)
  const options = { config: { announce: { to } }, files, identitySeed, storage: storage.client, routings: undefined }
  const teller = await TestService.start(options, world, world.machine('teller'))
  const stop = async (): Promise<void> => {
    await world.run(teller.shutDown())
    await taker.stop()
  }
  return { world, teller, taker, storage, asked, stop }
}
