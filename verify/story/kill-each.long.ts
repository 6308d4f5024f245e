/** Each of five processes is killed in turn: the others go on and say so, and nothing acknowledged is lost. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { FIVE, type FiveProcesses, fiveProcesses, type ServiceName } from './five-processes.ts'
import { Town } from './town.ts'

/** Who calls whom: what `/readyz` of the first says about the others. */
const CALLERS: Readonly<Record<ServiceName, readonly ServiceName[]>> = {
  storage: ['registry', 'index', 'edge', 'interop'],
  registry: ['index', 'interop'],
  index: ['edge'],
  edge: [],
  interop: [],
}

interface Ready {
  readonly ready: boolean
  readonly degraded?: boolean
  readonly neighbours: Readonly<Record<string, { readonly ready: boolean }>>
}

let town: Town
let machines: FiveProcesses
let address = ''

function readyOf(body: Buffer): Ready {
  return JSON.parse(body.toString()) as Ready
}

/** What was acknowledged: a name, its bytes, and that they come through the edge. */
async function checkAll(): Promise<void> {
  assert.ok((await town.told('operator', 'name', 'show', 'kept@1')).includes(address))
  const path = `/edge/assets/b3/${address.slice('b3:'.length)}`
  const { body } = await town.eventually(({ status }) => status === 200, 'edge', path)
  assert.equal(body.toString(), 'acknowledged')
  await town.eventually(({ status }) => status === 200, 'index', '/resolve/name:kept@1')
  await town.told('operator', 'audit', 'verify')
}

before(async () => {
  town = await Town.open()
  machines = fiveProcesses(town, {})
  await town.write('operator/cairn.toml', '')
  town.urls = await machines.start()
  address = await town.told('operator', 'put', '-q', await town.write('operator/kept.txt', 'acknowledged'))
  const proposal = await town.told('operator', 'name', 'propose', '-q', 'kept@1', address)
  await town.told('operator', 'name', 'approve', '-q', proposal)
  await town.told('operator', 'name', 'commit', '-q', proposal)
})
after(async () => {
  await machines.kill()
  await town[Symbol.asyncDispose]()
})

describe('kill -9 of', () => {
  for (const service of FIVE) {
    test(`${service}: the others say so, and all is there when it is back`, async () => {
      await machines.killOne(service)
      for (const caller of CALLERS[service]) {
        const isAway = ({ body }: { body: Buffer }) => readyOf(body).neighbours[service]?.ready === false
        const said = await town.eventually(isAway, caller, '/readyz')
        const { ready, degraded } = readyOf(said.body)
        assert.deepEqual([said.status, ready, degraded], [200, true, true], caller)
      }
      const status = await town.run('operator', 'status')
      assert.equal(status.code, 5)
      assert.match(status.words, new RegExp(`Not ready: ${service}`))
      await machines.start()
      for (const caller of CALLERS[service])
        await town.eventually(({ body }) => readyOf(body).neighbours[service]?.ready === true, caller, '/readyz')
      await checkAll()
    })
  }
})
