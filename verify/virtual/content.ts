/**
 * Waits until stores that nothing happens to any more are well again, as they themselves say.
 *
 *     everything read and proved, from its beginning ─▶ nothing to repair, twice in a row, at every one of them
 */
import type { DurabilityReport, ScrubReport } from '@cairn/sdk'
import type { VirtualWorld } from './world.ts'

/** Between two looks: about as long as a round of repairs takes, and each look asks for another one. */
const LOOK_MS = 700
/** A round of repairs that was under way when it was asked for another one may have begun too early to be believed. */
const LOOKS_CONTENT = 2

/** A storage service that can be asked; whoever asks sees to it that there is an answer. */
export interface AskedStore {
  readonly name: string
  /** The JSON of the answer. */
  ask(method: 'GET' | 'POST', path: string): Promise<unknown>
}

/** Throws if that takes longer, and says who is not content, and why. */
export async function untilContent(
  world: VirtualWorld,
  stores: readonly AskedStore[],
  withinMs: number,
): Promise<void> {
  const until = world.clock.now() + withinMs
  const mustNotBeLate = (why: string | undefined): void => {
    if (why !== undefined && world.clock.now() > until)
      throw new Error(`All is well for ${withinMs} ms, and still: ${why}`)
  }
  await Promise.all(stores.map(async (store) => await scrub(world, store, mustNotBeLate)))
  for (let content = 0; content < LOOKS_CONTENT; ) {
    for (const store of stores) await store.ask('POST', '/admin/repair')
    await world.sleep(LOOK_MS)
    const whys = await Promise.all(stores.map(async (store) => await whyNotContent(store)))
    const why = whys.find((each) => each !== undefined)
    content = why === undefined ? content + 1 : 0
    mustNotBeLate(why)
  }
}

/** Reads everything a store has, from its beginning: a round that was under way may have passed what has rotted since. */
async function scrub(world: VirtualWorld, store: AskedStore, mustNotBeLate: (why: string) => void): Promise<void> {
  for (let wasUnderWay = true; wasUnderWay; ) {
    const before = (await store.ask('POST', '/admin/scrub')) as ScrubReport
    wasUnderWay = before.state === 'reading'
    for (let last = before; last.completed_at === before.completed_at; ) {
      await world.sleep(LOOK_MS)
      last = (await reportOf(store)).scrub
      mustNotBeLate(`${store.name} has not read everything.`)
    }
  }
}

async function whyNotContent(store: AskedStore): Promise<string | undefined> {
  const { copies, repairs, places } = await reportOf(store)
  const isContent =
    copies !== null &&
    copies.full === copies.objects &&
    copies.planned + repairs.pending === 0 &&
    places.every(({ state }) => state === 'up')
  return isContent ? undefined : `${store.name} says ${JSON.stringify({ copies, repairs, places })}.`
}

async function reportOf(store: AskedStore): Promise<DurabilityReport & { readonly scrub: ScrubReport }> {
  return (await store.ask('GET', '/admin/durability')) as DurabilityReport & { readonly scrub: ScrubReport }
}
