import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DriveStore } from '@cairn/store'
import type { VirtualMachine } from '../virtual/machine.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { LOAD_OPTIONS, put, remove, thingOf } from './storage-load.ts'

/** The next sync fails, and after it no new segment can be made. */
function failFromNowOn({ faults }: VirtualMachine): void {
  faults.plan({ operation: 'sync', fault: 'io-error' })
  for (let nth = 1; nth <= 20; nth += 1) faults.plan({ operation: 'open', path: /journal/, fault: 'io-error' })
}

/**
 * What a failed sync left in the file counts again after a power cut, unless a new segment says that it does not. Until
 * there is one, nothing may be promised that it would undo, not even "it is there already" or "it is gone already".
 */
for (const kind of ['chunk', 'object small']) {
  test(`while no segment is proven nothing is promised about what was refused: ${kind}`, async () => {
    const world = new VirtualWorld(1)
    const machine = world.machine('node')
    const platform = machine.start()
    const [kept, refused] = [thingOf(`${kind} kept`), thingOf(`${kind} refused`)]
    await world.run(
      (async () => {
        const storage = await DriveStore.open(platform, LOAD_OPTIONS)
        await put(storage, kept)
        failFromNowOn(machine)
        await assert.rejects(remove(storage, kept), { status: 503 }, 'the sync fails')
        await assert.rejects(put(storage, kept), { status: 503 }, 'its removal may yet count')
        await assert.rejects(put(storage, refused), { status: 503 })
        await assert.rejects(remove(storage, refused), { status: 503 })
        machine.faults.clear()
        while (storage.facts().unready !== undefined) await world.sleep(100)
        await put(storage, kept)
        await remove(storage, refused)
        await storage.close()
        await platform.workers.close()
      })(),
    )
    assert.deepEqual(world.leaks(), [])
  })
}
