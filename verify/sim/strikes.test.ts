import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SeededRandom } from '@cairn/kernel'
import { VirtualWorld } from '../virtual/world.ts'
import { SERVICE_NAMES } from './answer.ts'
import { FAULTS } from './faults/all.ts'
import type { Plan } from './plan.ts'
import { urlOf } from './settings.ts'
import { simulateTown } from './simulate-town.ts'
import { Tally } from './tally.ts'
import { Town } from './town.ts'

const NODE = 'oak.town'

describe('faults', () => {
  test('a drive that was filled twice has all its room when both are over', async () => {
    const town = new Town(new VirtualWorld(1), [])
    const { drive } = town.node(NODE).machine
    const { freeBytes } = drive.space
    const random = new SeededRandom(1)
    const mends = [await FAULTS['full-drive'](town, NODE, random), await FAULTS['full-drive'](town, NODE, random)]
    assert.ok(drive.space.freeBytes < freeBytes)
    for (const mend of mends) await mend?.()
    assert.equal(drive.space.freeBytes, freeBytes)
  })

  test('a configuration that was changed twice is as it was when both are over', async () => {
    const town = new Town(new VirtualWorld(1), [])
    const node = town.node(NODE)
    const { settings } = node
    const random = new SeededRandom(1)
    const mends = [await FAULTS.reload(town, NODE, random), await FAULTS.reload(town, NODE, random)]
    assert.notDeepEqual(node.settings, settings)
    for (const mend of mends) await mend?.()
    assert.deepEqual(node.settings, settings)
  })

  test('a drive that fails now and then has failed before it is over, and never after', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const world = new VirtualWorld(seed)
      const town = new Town(world, [])
      const { disk } = town.node(NODE).machine.start()
      const refusals = async (calls: number): Promise<number> => {
        let count = 0
        for (let call = 0; call < calls; call += 1) await disk.list('.').catch(() => (count += 1))
        return count
      }
      await world.run(
        (async () => {
          const mend = await FAULTS['io-error'](town, NODE, new SeededRandom(seed))
          const over = Promise.resolve(mend?.())
          assert.ok((await refusals(10)) > 0, `seed ${seed}`)
          await over
          assert.ok(town.faults > 0)
          const idle = await FAULTS['io-error'](town, NODE, new SeededRandom(seed))
          await idle?.()
          assert.equal(await refusals(10), 0, `seed ${seed}`)
        })(),
      )
    }
  })

  test('a blackout comes with the word that something is done, which still arrives, and to every node at once', async () => {
    const world = new VirtualWorld(1)
    const town = new Town(world, [])
    const isUp = (): boolean[] => town.nodes.map(({ machine }) => machine.isUp)
    for (const { machine } of town.nodes) {
      const { listen } = machine.start()
      for (const service of SERVICE_NAMES) {
        const port = Number(new URL(urlOf(machine.name, service)).port)
        listen(port, async () => await Promise.resolve({ status: 201, headers: [] }))
      }
    }
    await world.run(
      (async () => {
        await FAULTS.blackout(town, NODE, new SeededRandom(1))
        const asked = async (method: string, name: string): Promise<void> => {
          for (const service of SERVICE_NAMES) await town.send(town.node(name), service, method, '/')
        }
        for (let time = 0; time < 5; time += 1) {
          await asked('GET', NODE)
          await asked('PUT', 'elm.town')
        }
        assert.deepEqual(isUp(), [true, true, true])
        let told: number[] = []
        while (isUp().includes(true)) {
          const answers = SERVICE_NAMES.map(async (service) => await town.send(town.node(NODE), service, 'PUT', '/'))
          told = (await Promise.all(answers)).map(({ status }) => status)
        }
        assert.deepEqual(isUp(), [false, false, false])
        assert.ok(told.includes(201), `nobody was told: ${told.join(', ')}`)
        assert.equal(town.faults, 1)
        await town.close()
      })(),
    )
  })

  test('nobody works while bit rot waits for everything to be well', async () => {
    const plan: Plan = {
      seed: 1,
      steps: [
        { tag: 'strike', strike: { number: 1, kind: 'bit-rot', node: NODE, dice: 1 } },
        { tag: 'operate', service: 'storage', dice: 1 },
      ],
    }
    const hadBegun: boolean[] = []
    await simulateTown(plan, [
      () => ({
        service: 'storage',
        tally: new Tally(),
        operate: async ({ story }) => {
          hadBegun.push(story.lines.some((line) => line.includes('⚡ 1')))
        },
        check: async () => undefined,
      }),
    ])
    assert.deepEqual(hadBegun, [true])
  })
})
