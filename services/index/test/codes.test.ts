/** Every code a client of this service may have to understand, each triggered once; one without a row fails the last test. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { CairnError } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import type { Answer } from '../../../verify/virtual/answer.ts'
import { codesSuite } from '../../../verify/virtual/codes-suite.ts'
import { INDEX_CODES } from '../src/errors.ts'
import { indexRoutes } from '../src/main.ts'
import { TestNames } from './dependencies.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { type Behaviour, TestNetwork } from './network.ts'

const CID = addressOf(Buffer.from('an object'))
const HANGS: Behaviour = { does: 'hang' }

/** Asks a service of its own, and ends it. */
function of(ask: (service: TestService) => Promise<Answer>, options: ServiceOptions = {}): () => Promise<Answer> {
  return async () => {
    const service = await TestService.start(options)
    const answer = await ask(service)
    await service.stop()
    return answer
  }
}

/** The name of a registry that fails in this way. */
function failing(...failure: ConstructorParameters<typeof CairnError>): () => Promise<Answer> {
  return async () => {
    const names = new TestNames()
    names.failure = new CairnError(...failure)
    return await of(async (service) => await service.ask('GET', '/resolve/name:site@1.0'), { names })()
  }
}

async function coded(service: TestService, bytes: number): Promise<Answer> {
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
  return await service.ask('POST', '/admin/pin', { body: gzipSync(Buffer.alloc(bytes, ' ')), headers })
}

/** The codes by which the layers below know an error, and that clients know by another name. */
const RENAMED: Readonly<Record<keyof typeof INDEX_CODES, () => Promise<Answer>>> = {
  malformed: of(async (service) => await service.ask('GET', '/resolve/b3:xyz')),
  ratio_cap: of(async (service) => await coded(service, 1024 * 1024)),
  decompress_cap: of(async (service) => await coded(service, 60_000), {
    config: { ingress: { decompress_max_bytes: 2000 } },
  }),
  busy: of(
    async (service) => {
      await service.ask('GET', `/resolve/${CID}`)
      return await service.ask('GET', `/resolve/${CID}`)
    },
    { config: { limits: { resolves_per_minute: 1 } } },
  ),
  too_many_connections: of(async (service) => await service.ask('GET', `/resolve/${CID}`, { crowded: true })),
  breaker_open: failing('BreakerOpen', 'The registry has failed too often.'),
  storage_busy: failing('StorageBusy', 'The registry is stalled.'),
  canceled: async () => {
    const service = await TestService.start({
      config: { dht: { deadline: '60s' }, ingress: { request_timeout: '60s' } },
      network: new TestNetwork([HANGS]),
    })
    const asked = service.send('GET', `/resolve/${CID}`)
    await service.world.clock.settle()
    const stopping = service.running.stop()
    const answer = await service.world.run(asked)
    await service.world.run(stopping)
    await service.world.run(service.platform.workers.close())
    return answer
  },
  draining: async () => {
    const service = await TestService.start({ network: new TestNetwork([HANGS]) })
    const asked = service.send('GET', `/resolve/${CID}`)
    await service.world.clock.settle()
    const stopping = service.running.stop()
    await service.world.clock.settle()
    const answer = await service.send('GET', `/resolve/${CID}`)
    await service.world.run(Promise.all([asked, stopping]))
    await service.world.run(service.platform.workers.close())
    return answer
  },
}

const OWN: Readonly<Record<string, () => Promise<Answer>>> = {
  bad_request: of(async (service) => await service.ask('GET', '/providers/not-a-cid')),
  not_found: of(async (service) => await service.ask('GET', `/providers/${CID}`)),
  over_capacity: RENAMED['busy'] ?? assert.fail(),
  upstream_unready: of(async (service) => await service.ask('GET', `/providers/${CID}`), {
    network: new TestNetwork([{ does: 'fail', afterMs: 1 }]),
  }),
  timeout: of(async (service) => await service.ask('GET', `/providers/${CID}`), { network: new TestNetwork([HANGS]) }),
  registry_configured: of(
    async (service) => await service.ask('PUT', '/admin/names/a@1', { body: { manifest_cid: CID } }),
    { names: new TestNames() },
  ),
  limit_reached: async () => {
    const pins = Array.from({ length: 8192 }, (_, at) => addressOf(Buffer.from(String(at))))
    const files = { 'data/index/book.json': Buffer.from(JSON.stringify({ v: 1, pins, names: {} })) }
    // Nothing is looked up: there is nobody to ask.
    return await of(async (service) => await service.ask('POST', '/admin/pin', { body: { cid: CID } }), { files })()
  },
  no_space: of(async (service) => {
    service.machine.drive.capacityBytes = 0
    return await service.ask('POST', '/admin/pin', { body: { cid: CID } })
  }),
}

codesSuite({
  own: OWN,
  renamed: RENAMED,
  names: INDEX_CODES,
  routes: async () => {
    const service = await TestService.start({ config: { facets: { search: true, graph: true } } })
    const routes = indexRoutes(service.parts)
    await service.stop()
    return routes
  },
})
