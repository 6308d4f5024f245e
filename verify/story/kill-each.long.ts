/** Each of five processes is killed in turn: the others go on and say so, and nothing acknowledged is lost. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { FIVE, type FiveProcesses, fiveProcesses, type ServiceName } from './five-processes.ts'
import { Testbed } from './testbed.ts'

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

let testbed: Testbed
let deployment: FiveProcesses
let address = ''

function readyOf(body: Buffer): Ready {
  return JSON.parse(body.toString()) as Ready
}

/** What was acknowledged: a name, its bytes, and that they come through the edge. */
async function checkAll(): Promise<void> {
  assert.ok((await testbed.told('operator', 'name', 'show', 'kept@1')).includes(address))
  const path = `/edge/assets/b3/${address.slice('b3:'.length)}`
  const { body } = await testbed.eventually(({ status }) => status === 200, 'edge', path)
  assert.equal(body.toString(), 'acknowledged')
  await testbed.eventually(({ status }) => status === 200, 'index', '/resolve/name:kept@1')
  await testbed.told('operator', 'audit', 'verify')
}

before(async () => {
  testbed = await Testbed.open()
  deployment = fiveProcesses(testbed, {})
  await testbed.write('operator/cairn.toml', '')
  testbed.urls = await deployment.start()
  address = await testbed.told('operator', 'put', '-q', await testbed.write('operator/kept.txt', 'acknowledged'))
  const proposal = await testbed.told('operator', 'name', 'propose', '-q', '--channel', 'kept@1', address)
  await testbed.told('operator', 'name', 'approve', '--yes', '-q', proposal)
  await testbed.told('operator', 'name', 'commit', '-q', proposal)
})
after(async () => {
  await deployment.kill()
  await testbed[Symbol.asyncDispose]()
})

describe('kill -9 of', () => {
  for (const service of FIVE) {
    test(`${service}: the others say so, and all is there when it is back`, async () => {
      await deployment.killOne(service)
      for (const caller of CALLERS[service]) {
        const isAway = ({ body }: { body: Buffer }) => readyOf(body).neighbours[service]?.ready === false
        const said = await testbed.eventually(isAway, caller, '/readyz')
        const { ready, degraded } = readyOf(said.body)
        assert.deepEqual([said.status, ready, degraded], [200, true, true], caller)
      }
      const status = await testbed.run('operator', 'status')
      assert.equal(status.code, 5)
      assert.match(status.words, new RegExp(`Not ready: ${service}`))
      await deployment.start()
      for (const caller of CALLERS[service])
        await testbed.eventually(({ body }) => readyOf(body).neighbours[service]?.ready === true, caller, '/readyz')
      await checkAll()
    })
  }
})
