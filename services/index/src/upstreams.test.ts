import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline, Scope } from '@cairn/kernel'
import { simulate } from '../../../verify/virtual/simulate.ts'
import { remoteRegistry } from './upstreams.ts'

test('a registry elsewhere that does not answer is left alone for a while, and asked again later', async () => {
  await simulate(1, async (world) => {
    const platform = world.machine('node').start()
    const { client, janitor, close } = remoteRegistry(platform, 'http://registry.example:7073/')
    await using scope = new Scope(platform, 'janitor')
    scope.spawn('janitor', janitor)
    const ask = async (): Promise<string | undefined> => {
      try {
        await client.head({ deadline: Deadline.after(platform.clock, 1_000) })
        return undefined
      } catch (error) {
        return (error as { code?: string }).code
      }
    }
    const said = new Set<string | undefined>()
    for (let at = 0; at < 20; at += 1) said.add(await ask())
    assert.ok(said.has('breaker_open'), [...said].join(', '))
    await world.sleep(6_000)
    assert.notEqual(await ask(), 'breaker_open')
    scope.abort()
    close()
    await platform.workers.close()
  })
})
