import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDataDirectory } from '@cairn/platform'
import { type CrashCheck, checkEveryCall, checkEveryImage, checkImages } from './crash-check.ts'
import type { VirtualPlatform } from './machine.ts'
import { VirtualWorld } from './world.ts'

/** Opens the directory and returns what makes this node this node. */
async function identity(platform: VirtualPlatform): Promise<string> {
  const secret = (): Uint8Array => platform.random.bytes(32)
  await using data = await openDataDirectory(platform, {
    path: 'var/cairn',
    secrets: { 'token-root': secret, 'node-identity': secret },
  })
  await data.writeAdminToken('token')
  const hex = (name: string): string => Buffer.from(data.secret(name)).toString('hex')
  return `${hex('token-root')} ${hex('node-identity')}`
}

const FIRST_START: CrashCheck = {
  seed: 1,
  work: async (platform, promise) => promise(await identity(platform)),
  check: async (platform, promised) => {
    const now = await identity(platform)
    for (const before of promised) assert.equal(now, before, 'the node woke up as another one')
    const names = (await platform.disk.list('var/cairn')).map(({ name }) => name)
    assert.deepEqual(names, ['.gitignore', 'admin.token', 'format', 'keys', 'lock.db'])
  },
}

describe('the first start of a data directory', () => {
  test('is completed by the next one, whatever a power cut left', async (t) => {
    t.diagnostic(`${await checkEveryImage(FIRST_START)} images, ${await checkEveryCall(FIRST_START)} calls`)
  })

  test('is completed by the next one after a kill, and survives a power cut then', async (t) => {
    let images = 0
    for (let call = 1; ; call += 1) {
      const world = new VirtualWorld(call)
      const machine = world.machine('node')
      const first = machine.start()
      machine.killAfter(call)
      identity(first).catch(() => undefined)
      await world.runUntilIdle()
      if (machine.isUp) break
      const platform = machine.start()
      machine.drive.mark(await world.run(identity(platform)))
      await platform.workers.close()
      images += await checkImages(machine, { ...FIRST_START, seed: call }, machine.drive.recorded)
    }
    t.diagnostic(`${images} images`)
  })
})
