/** What must be true of the first start of a data directory, wherever it is cut off. */
import assert from 'node:assert/strict'
import type { openDataDirectory } from '@cairn/platform'
import { type CrashCheck, checkEveryCall, checkEveryImage, checkImages } from './crash-check.ts'
import type { VirtualPlatform } from './machine.ts'
import { VirtualWorld } from './world.ts'

/** The function itself, so that a broken copy of it can be put through the same. */
type Open = typeof openDataDirectory

/** Opens the directory and returns what makes this node this node. */
async function identity(open: Open, platform: VirtualPlatform): Promise<string> {
  const secret = (): Uint8Array => platform.random.bytes(32)
  await using data = await open(platform, {
    path: 'var/cairn',
    secrets: { 'token-root': secret, 'node-identity': secret },
  })
  await data.writeAdminToken('token')
  const hex = (name: string): string => Buffer.from(data.secret(name)).toString('hex')
  return `${hex('token-root')} ${hex('node-identity')}`
}

function firstStart(open: Open): CrashCheck {
  return {
    seed: 1,
    work: async (platform, promise) => promise(await identity(open, platform)),
    check: async (platform, promised) => {
      const now = await identity(open, platform)
      for (const before of promised) assert.equal(now, before, 'the node woke up as another one')
      const names = (await platform.disk.list('var/cairn')).map(({ name }) => name)
      assert.deepEqual(names, ['.gitignore', 'admin.token', 'format', 'keys', 'lock.db'])
    },
  }
}

/** Cuts the power everywhere; returns how many states were looked at, and at how many calls. */
export async function checkPowerCuts(open: Open): Promise<{ images: number; calls: number }> {
  return { images: await checkEveryImage(firstStart(open)), calls: await checkEveryCall(firstStart(open)) }
}

/** Kills the process at every call, lets the next complete the start, and cuts the power in that one. */
export async function checkPowerCutsAfterKills(open: Open): Promise<number> {
  let images = 0
  for (let call = 1; ; call += 1) {
    const world = new VirtualWorld(call)
    const machine = world.machine('node')
    const first = machine.start()
    machine.killAfter(call)
    identity(open, first).catch(() => undefined)
    await world.runUntilIdle()
    if (machine.isUp) return images
    const platform = machine.start()
    machine.drive.mark(await world.run(identity(open, platform)))
    await platform.workers.close()
    images += await checkImages(machine, { ...firstStart(open), seed: call }, machine.drive.recorded)
  }
}
