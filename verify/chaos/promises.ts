/** Holds a storage to the ledger of what was asked of it. */
import { isKind } from '@cairn/kernel'
import type { DriveStore } from '@cairn/store'
import { allowedAfter } from './ledger.ts'
import { find, isHold, thingOf } from './storage-load.ts'

/** Throws if something promised is lost, something removed is back, or something is there that nobody asked for. */
export async function checkPromises(storage: DriveStore, marks: readonly string[]): Promise<void> {
  await storage.caughtUp()
  for (const [name, states] of allowedAfter(marks)) {
    const found = await find(storage, name)
    if (!states.has(found)) throw new Error(`${name} is ${found}, may only be ${[...states].join(' or ')}.`)
  }
  await checkNoPhantom(storage, marks)
  if (storage.facts().damagedSegments.length > 0) throw new Error('A crash is taken for damage.')
}

/** Throws if something is there that nobody asked for. */
export async function checkNoPhantom(storage: DriveStore, marks: readonly string[]): Promise<void> {
  const asked = new Set<string>()
  for (const name of allowedAfter(marks).keys()) {
    if (isHold(name)) continue
    const { id, chunks, pages } = thingOf(name)
    for (const each of [id, ...chunks.map((chunk) => chunk.id), ...pages]) asked.add(each)
  }
  for (const list of [storage.chunks, storage.objects]) {
    const phantom = (await list.list(undefined, 10_000)).find((id) => !asked.has(id))
    if (phantom !== undefined) throw new Error(`${phantom} is there and nobody asked for it.`)
  }
}

/** Like `checkPromises`, where bytes may have been damaged: returns how many names say so. */
export async function countDamaged(storage: DriveStore, marks: readonly string[]): Promise<number> {
  await storage.caughtUp()
  let damaged = 0
  for (const [name, states] of allowedAfter(marks)) {
    try {
      const found = await find(storage, name)
      if (!states.has(found)) throw new Error(`${name} is ${found}, may only be ${[...states].join(' or ')}.`)
    } catch (error) {
      if (!isKind(error, 'Integrity')) throw error
      damaged += 1
    }
  }
  return damaged
}
