/** Floods over real connections: who tells, asks or answers more than it may. */
import { Deadline, SystemClock, sleep } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { KadRouting } from '../../../packages/routing/src/kad-routing.ts'
import type { Provider } from '../../../packages/routing/src/provider-routing.ts'
import { HostilePeer } from '../../../packages/routing/test/hostile-peer.ts'
import { addressNamed, Peer } from '../../../packages/routing/test/peer.ts'

export const FOREVER = { signal: new AbortController().signal }
const HELD = addressNamed('wanted')
const TIMEOUT_MS = 60_000
const LOOK_EVERY_MS = 20

/** Resolves when it is true, or when nobody would wait any longer. */
export async function until(isTrue: () => boolean): Promise<void> {
  const clock = new SystemClock()
  for (let waited = 0; waited < TIMEOUT_MS && !isTrue(); waited += LOOK_EVERY_MS) await sleep(clock, LOOK_EVERY_MS)
}

/** Who says that they hold it; asked again while nobody does, because a first connection may take too long. */
export async function find(kad: KadRouting, peer: Peer, cid: Address, times = 10): Promise<string[]> {
  const found = new Map<string, Provider>()
  await kad.join(FOREVER)
  for (let time = 0; time < times && found.size === 0; time += 1) {
    for (const leg of kad.legs(cid, 1)) {
      const deadline = Deadline.after(peer.runtime.clock, 10_000)
      await leg.find(cid, { ...FOREVER, deadline, onProvider: (provider) => void found.set(provider.id, provider) })
    }
  }
  return [...found.keys()]
}

interface Flooded {
  /** Whom a third party found while the flood went on, and whom it should have. */
  readonly found: readonly string[]
  readonly honest: string
  readonly told: number
  readonly refused: number
  /** The longest that nothing else had its turn. */
  readonly stallMs: number
  readonly seconds: number
}

/** One peer tells of object after object that it holds it, until so many were refused; somebody else tells of one, and a third looks for that. */
export async function floodOfPointers(refusedMin: number): Promise<Flooded> {
  const [target, honest, asker] = [new Peer({ number: 200 }), new Peer({ number: 201 }), new Peer({ number: 202 })]
  const serving = target.kad({ transport: 'tcp' })
  const bootstrap = await serving.start(FOREVER)
  await using hostile = await HostilePeer.start(210, bootstrap[0] ?? '')
  const startedAt = performance.now()
  let [stallMs, lastAt] = [0, startedAt]
  const pulse = setInterval(() => {
    stallMs = Math.max(stallMs, performance.now() - lastAt)
    lastAt = performance.now()
  }, 1)
  const holding = honest.kad({ transport: 'tcp', bootstrap })
  const asking = asker.kad({ transport: 'tcp', bootstrap })
  try {
    let found: string[] | undefined
    const meanwhile = async (): Promise<void> => {
      await holding.provide([honest.hold(HELD)], FOREVER)
      found = await find(asking, asker, HELD)
    }
    const refused = (): number => target.metrics.refused('peer_full')
    const isOver = (): boolean => found !== undefined && refused() >= refusedMin
    const [told] = await Promise.all([hostile.floodPointers(isOver, FOREVER.signal), meanwhile()])
    const seconds = (performance.now() - startedAt) / 1000
    return { found: found ?? [], honest: honest.signer.publisher, told, refused: refused(), stallMs, seconds }
  } finally {
    clearInterval(pulse)
    await Promise.all([serving, holding, asking].map(async (kad) => await kad.close()))
  }
}
