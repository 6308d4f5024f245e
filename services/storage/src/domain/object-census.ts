import type { Storage } from '@cairn/store'
import type { Address } from '@cairn/wire'

const PAGE = 256

export interface Census {
  readonly sound: number
  /** The chunks that each damaged object has lost; the object itself if its record or its list of chunks is. */
  readonly damaged: ReadonlyMap<Address, Set<Address>>
}

/** Objects by state: one is sound if its record and its lists can be read and every chunk of it is here, none found damaged. */
export async function takeCensus({ objects, check }: Storage, damaged: ReadonlySet<string>): Promise<Census> {
  const found = new Map<Address, Set<Address>>()
  let sound = 0
  let after: Address | undefined
  for (;;) {
    const ids = await objects.list(after, PAGE)
    for (const id of ids) {
      const lost = await check.lost(id, damaged)
      if (lost === undefined) continue
      if (lost.size > 0) found.set(id, new Set(lost))
      else sound += 1
    }
    after = ids.at(-1)
    if (ids.length < PAGE) return { sound, damaged: found }
  }
}
