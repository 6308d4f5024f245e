import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SeededRandom } from '@cairn/kernel/testing'
import { VirtualWorld } from '../virtual/world.ts'
import { SERVICE_NAMES } from './answer.ts'
import { Cluster } from './cluster.ts'
import { FAULTS } from './faults/all.ts'
import type { Plan } from './plan.ts'
import { urlOf } from './settings.ts'
import { simulateSeed } from './simulate-seed.ts'
import { Tally } from './tally.ts'

const NODE = 'oak.node'

describe('faults', () => {
  test('a drive that was filled twice has all its room when both are over', async () => {
    const cluster = new Cluster(new VirtualWorld(1), [])
    const { drive } = cluster.node(NODE).machine
    const { freeBytes } = drive.space
    const random = new SeededRandom(1)
    const ends = [await FAULTS['full-drive'](cluster, NODE, random), await FAULTS['full-drive'](cluster, NODE, random)]
    assert.ok(drive.space.freeBytes < freeBytes)
    for (const end of ends) await end?.()
    assert.equal(drive.space.freeBytes, freeBytes)
  })

  test('a configuration that was changed twice is as it was when both are over', async () => {
    const cluster = new Cluster(new VirtualWorld(1), [])
    const node = cluster.node(NODE)
    const { settings } = node
    const random = new SeededRandom(1)
    const ends = [await FAULTS.reload(cluster, NODE, random), await FAULTS.reload(cluster, NODE, random)]
    assert.notDeepEqual(node.settings, settings)
    for (const end of ends) await end?.()
    assert.deepEqual(node.settings, settings)
  })

  test('a drive that fails now and then has failed before it is over, and never after', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const world = new VirtualWorld(seed)
      const cluster = new Cluster(world, [])
      const { disk } = cluster.node(NODE).machine.start()
      const refusals = async (calls: number): Promise<number> => {
        let count = 0
        for (let call = 0; call < calls; call += 1) await disk.list('.').catch(() => (count += 1))
        return count
      }
      await world.run(
        (async () => {
          const end = await FAULTS['io-error'](cluster, NODE, new SeededRandom(seed))
          const over = Promise.resolve(end?.())
          assert.ok((await refusals(10)) > 0, `seed ${seed}`)
          await over
          assert.ok(cluster.faults > 0)
          const idle = await FAULTS['io-error'](cluster, NODE, new SeededRandom(seed))
          await idle?.()
          assert.equal(await refusals(10), 0, `seed ${seed}`)
        })(),
      )
    }
  })

  test('a blackout comes with the word that something is done, which still arrives, and to every node at once', async () => {
    const world = new VirtualWorld(1)
    const cluster = new Cluster(world, [])
    const isUp = (): boolean[] => cluster.nodes.map(({ machine }) => machine.isUp)
    for (const { machine } of cluster.nodes) {
      const { listen } = machine.start()
      for (const service of SERVICE_NAMES) {
        const port = Number(new URL(urlOf(machine.name, service)).port)
        listen(port, async () => await Promise.resolve({ status: 201, headers: [] }))
      }
    }
    await world.run(
      (async () => {
        await FAULTS.blackout(cluster, NODE, new SeededRandom(1))
        const asked = async (method: string, name: string): Promise<void> => {
          for (const service of SERVICE_NAMES) await cluster.send(cluster.node(name), service, method, '/')
        }
        for (let time = 0; time < 5; time += 1) {
          await asked('GET', NODE)
          await asked('PUT', 'elm.node')
        }
        assert.deepEqual(isUp(), [true, true, true])
        let told: number[] = []
        while (isUp().includes(true)) {
          const answers = SERVICE_NAMES.map(
            async (service) => await cluster.send(cluster.node(NODE), service, 'PUT', '/'),
          )
          told = (await Promise.all(answers)).map(({ status }) => status)
        }
        assert.deepEqual(isUp(), [false, false, false])
        assert.ok(told.includes(201), `nobody was told: ${told.join(', ')}`)
        assert.equal(cluster.faults, 1)
        await cluster.close()
      })(),
    )
  })

  test('nobody works while bit rot waits for everything to be well', async () => {
    const plan: Plan = {
      seed: 1,
      steps: [
        { tag: 'begin-fault', fault: { number: 1, kind: 'bit-rot', node: NODE, dice: 1 } },
        { tag: 'operate', service: 'storage', dice: 1 },
      ],
    }
    const hadBegun: boolean[] = []
    await simulateSeed(plan, [
      () => ({
        service: 'storage',
        tally: new Tally(),
        operate: async ({ trace }) => {
          hadBegun.push(trace.lines.some((line) => line.includes('⚡ 1')))
        },
        check: async () => undefined,
      }),
    ])
    assert.deepEqual(hadBegun, [true])
  })
})
