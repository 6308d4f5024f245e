/** What a node answers while something is wrong with it is in its API too, whatever it is asked. */
import { test } from 'node:test'
import { WRITER } from '../simulator/settings.ts'
import { readInputs } from './corpus.ts'
import { FuzzCluster, requestOf, type Trouble } from './fuzz-cluster.ts'

const DAY_MS = 24 * 3_600_000

const TROUBLES: Readonly<Record<string, Trouble>> = {
  'its drive is full': {
    begin: async ({ drive }) => {
      drive.capacityBytes = 0
      await Promise.resolve()
    },
  },
  'its drive fails one call of three': {
    begin: async ({ faults }) => {
      faults.rates = { 'io-error': 1 / 3 }
      await Promise.resolve()
    },
    isOfDrive: true,
  },
  'its drive takes a hundred thousand times as long': {
    begin: async ({ faults }) => {
      faults.slowness = 100_000
      await Promise.resolve()
    },
  },
  'its clock is a day ahead of theirs': {
    begin: async (machine) => {
      machine.jumpWall(DAY_MS)
      await Promise.resolve()
    },
  },
  'its clock is a day behind theirs': {
    begin: async (machine) => {
      machine.jumpWall(-DAY_MS)
      await Promise.resolve()
    },
  },
  'the others are down': {
    begin: async (_machine, cluster) => {
      for (const { name } of cluster.nodes) if (name !== WRITER) await cluster.bringDown(name)
    },
  },
}

for (const [what, trouble] of Object.entries(TROUBLES)) {
  test(`every answer is one the API tells of while ${what}`, async () => {
    const fuzzCluster = await FuzzCluster.open()
    await fuzzCluster.suffer(trouble)
    const inputs = [...fuzzCluster.seeds(), ...readInputs('corpus', 'requests'), ...readInputs('crashers', 'requests')]
    for (const request of inputs.map(requestOf)) if (request !== undefined) await fuzzCluster.hold(request)
    await fuzzCluster.close()
  })
}
