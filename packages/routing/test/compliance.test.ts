import assert from 'node:assert/strict'
import { virtualRuntime } from '@cairn/kernel/testing'
import { systemCrypto } from '@cairn/platform'
import { delegatedJson, delegatedPath } from '../src/delegated-routing.ts'
import { HttpRouting } from '../src/http-routing.ts'
import { signRecord } from '../src/record.ts'
import { providerOf } from '../src/record-gate.ts'
import { SimRouting } from '../src/sim-routing.ts'
import { DelegatedEndpoint } from './delegated-endpoint.ts'
import { LocalRouting } from './local-routing.ts'
import { addressNamed, METRICS, Peer, seedOf } from './peer.ts'
import { routingSuite } from './routing-suite.ts'

const HELD = addressNamed('held')
const FOREVER = { signal: new AbortController().signal }
const NOTHING = { async [Symbol.asyncDispose]() {} }

routingSuite('local', async () => {
  const peer = new Peer({ number: 1 })
  peer.hold(HELD)
  const routing = new LocalRouting(peer.runtime.clock, peer.local)
  return { ...NOTHING, routing, runtime: peer.runtime, held: HELD, holder: peer.signer.publisher }
})

routingSuite('http', async () => {
  const [holder, asker] = [new Peer({ number: 2 }), new Peer({ number: 3 })]
  const record = holder.hold(HELD)
  const known = JSON.stringify(delegatedJson([providerOf(record, asker.runtime.clock.wall())]))
  const transport = new DelegatedEndpoint(({ pathname }) =>
    pathname.endsWith(delegatedPath(HELD)) ? { body: [known] } : { status: 404 },
  )
  const endpoints = [new URL('http://one.example/'), new URL('http://two.example/base')]
  const routing = new HttpRouting(asker.runtime, {
    transport,
    endpoints: () => endpoints,
    gate: asker.gate,
    reach: () => asker.reach,
  })
  return {
    routing,
    runtime: asker.runtime,
    held: HELD,
    holder: holder.signer.publisher,
    async [Symbol.asyncDispose]() {
      assert.equal(transport.open, 0, 'a body was neither read nor canceled')
    },
  }
})

routingSuite('sim', async () => {
  const runtime = virtualRuntime(7, METRICS)
  const holder = new Peer({ number: 4 })
  const routing = new SimRouting(runtime, [
    { name: 'near', latencyMs: 5 },
    { name: 'far', latencyMs: 80, jitterMs: 40 },
  ])
  const claim = {
    cid: HELD,
    http: ['http://127.0.0.1:1'],
    seq: 1,
    exp: Math.floor(runtime.clock.wall() / 1000) + 86_400,
  }
  const telling = routing.provide([signRecord(systemCrypto, seedOf(holder.number), claim)], FOREVER)
  await runtime.clock.run(100)
  await telling
  return { ...NOTHING, routing, runtime, held: HELD, holder: holder.signer.publisher }
})

routingSuite('kad', async () => {
  const [middle, holder, asker] = [new Peer({ number: 5 }), new Peer({ number: 6 }), new Peer({ number: 7 })]
  const first = middle.kad()
  const bootstrap = await first.start(FOREVER)
  const second = holder.kad({ bootstrap })
  await second.provide([holder.hold(HELD)], FOREVER)
  const routing = asker.kad({ bootstrap })
  await routing.join(FOREVER)
  return {
    routing,
    runtime: asker.runtime,
    held: HELD,
    holder: holder.signer.publisher,
    async [Symbol.asyncDispose]() {
      await Promise.all([first.close(), second.close()])
    },
  }
})
