import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError, isKind } from '@cairn/kernel'
import { openDataDirectory } from '@cairn/platform'
import { type Fault, type FaultyOperation, STRIKES } from '../virtual/faults.ts'
import type { VirtualMachine, VirtualPlatform } from '../virtual/machine.ts'
import { VirtualWorld } from '../virtual/world.ts'

/** Opens the directory and returns what makes this node this node. */
async function identity(platform: VirtualPlatform): Promise<string> {
  const secret = (): Uint8Array => platform.random.bytes(32)
  await using data = await openDataDirectory(platform, { path: 'var/cairn', secrets: { root: secret, node: secret } })
  await data.writeAdminToken('token')
  return `${Buffer.from(data.secret('root')).toString('hex')} ${Buffer.from(data.secret('node')).toString('hex')}`
}

/** The identity, or the error of ours that it was refused with. */
async function tryIdentity(platform: VirtualPlatform): Promise<string | CairnError> {
  try {
    return await identity(platform)
  } catch (error) {
    if (error instanceof CairnError) return error
    throw error
  }
}

async function inWorld<T>(body: (platform: VirtualPlatform, machine: VirtualMachine) => Promise<T>): Promise<T> {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const platform = machine.start()
  const value = await world.run(body(platform, machine))
  await platform.workers.close()
  assert.deepEqual(world.leaks(), [])
  return value
}

/** How often each call is made by the start number `start`. */
async function countCalls(start: number): Promise<Map<FaultyOperation, number>> {
  return await inWorld(async (platform, { faults }) => {
    for (let before = 1; before < start; before += 1) await identity(platform)
    const counts = new Map<FaultyOperation, number>()
    faults.strike = (operation) => {
      counts.set(operation, (counts.get(operation) ?? 0) + 1)
      return undefined
    }
    await identity(platform)
    return counts
  })
}

/** A fault at one call of a start; the node is never another one because of it. */
async function checkFault(start: number, operation: FaultyOperation, nth: number, fault: Fault): Promise<void> {
  await inWorld(async (platform, { faults }) => {
    const told = []
    for (let before = 1; before < start; before += 1) told.push(await identity(platform))
    faults.plan({ operation, nth, fault })
    const struck = await tryIdentity(platform)
    assert.equal(faults.pending, 0)
    if (typeof struck === 'string') told.push(struck)
    const where = `${fault} at ${operation} ${nth}`
    for (const afterwards of [await tryIdentity(platform), await tryIdentity(platform)]) {
      // What the drive wrote wrong is found out; a bit that flips on its way into a key cannot be put back.
      if (fault === 'bit-flip' && operation === 'append' && isKind(afterwards, 'Integrity')) return
      assert.equal(typeof afterwards, 'string', `${where}: ${String(afterwards)}`)
      told.push(String(afterwards))
    }
    assert.equal(new Set(told).size, 1, where)
  })
}

describe('a fault at any disk call of a start leaves the node what it was, and the next start works', async () => {
  for (const [name, start] of [
    ['the first start', 1],
    ['a later start', 2],
  ] as const) {
    const counts = await countCalls(start)
    for (const [fault, operations] of Object.entries(STRIKES) as [Fault, readonly FaultyOperation[]][]) {
      test(`${fault}, ${name}`, async (t) => {
        let calls = 0
        for (const operation of operations) {
          for (let nth = 1; nth <= (counts.get(operation) ?? 0); nth += 1) {
            await checkFault(start, operation, nth, fault)
            calls += 1
          }
        }
        t.diagnostic(`${fault}, ${name}: ${calls} calls`)
        assert.ok(calls > 0)
      })
    }
  }
})
