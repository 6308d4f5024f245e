/** Lookups over others who are fast, slow, dead or wrong, in virtual time: to the millisecond. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Address, addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { slotOf } from '../src/metrics.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { type Behaviour, signedProvider, TestNetwork, unsignedProvider } from './network.ts'

const WALL = 1_700_000_000_000
const CID = addressOf(Buffer.from('an object'))

const finds = (afterMs: number, who = 2): Behaviour => ({
  does: 'find',
  afterMs,
  providers: (cid) => [signedProvider(who, cid, WALL)],
})
const knowsNothing = (afterMs: number): Behaviour => ({ does: 'nothing', afterMs })
const fails = (afterMs: number): Behaviour => ({ does: 'fail', afterMs })
const HANGS: Behaviour = { does: 'hang' }

interface Case {
  readonly name: string
  readonly peers: readonly Behaviour[]
  /** `200`, or status and code. */
  readonly answer: string
  /** From the question to the answer. */
  readonly tookMs: number
  /** When each peer was asked, in order of asking. */
  readonly askedMs: readonly number[]
  readonly winner?: 'alpha' | 'beta' | 'tie'
  /** What each peer knows from; each from itself, if absent. */
  readonly knowledge?: (peer: number) => string
  readonly options?: ServiceOptions
}

const CASES: readonly Case[] = [
  {
    name: 'the first wave is satisfied early: the second is never sent',
    peers: [finds(20), finds(30, 3), finds(40, 4), finds(1, 5), finds(1, 6)],
    answer: '200',
    tookMs: 40,
    askedMs: [0, 0, 0],
    winner: 'alpha',
  },
  {
    name: 'a satisfied lookup gathers 100 ms more and not longer',
    peers: [finds(20), HANGS, HANGS],
    answer: '200',
    tookMs: 120,
    askedMs: [0, 0, 0],
    winner: 'alpha',
  },
  {
    name: 'every first way fails at once: others are asked at once',
    peers: [fails(0), fails(0), fails(0), finds(30), finds(30, 3)],
    answer: '200',
    tookMs: 30,
    askedMs: [0, 0, 0, 0, 0],
    winner: 'beta',
  },
  {
    name: 'slow first ways: the second wave goes out after 150 ms',
    peers: [finds(900), finds(900), finds(900), finds(30), HANGS],
    answer: '200',
    tookMs: 280,
    askedMs: [0, 0, 0, 150, 150],
    winner: 'beta',
  },
  {
    name: 'a peer of the first wave is dropped in mid-flight: the second wave wins',
    peers: [fails(100), HANGS, HANGS, HANGS, finds(30), HANGS],
    answer: '200',
    tookMs: 280,
    askedMs: [0, 0, 0, 100, 150, 150],
    winner: 'beta',
  },
  {
    name: 'one dead and one slow of five: the fast one decides',
    peers: [fails(0), finds(800), finds(25, 3), finds(25, 4), finds(25, 5)],
    answer: '200',
    tookMs: 125,
    askedMs: [0, 0, 0, 0],
    winner: 'alpha',
  },
  {
    name: 'nobody answers: 504 when the budget of 1200 ms is gone',
    peers: [HANGS, HANGS, HANGS, HANGS, HANGS],
    answer: '504 timeout',
    tookMs: 1200,
    askedMs: [0, 0, 0, 150, 150],
  },
  {
    name: 'the first ways know of no provider: the second wave goes out at once, and finds one',
    peers: [knowsNothing(20), knowsNothing(30), knowsNothing(40), knowsNothing(1), finds(1)],
    answer: '200',
    tookMs: 41,
    askedMs: [0, 0, 0, 40, 40],
    winner: 'beta',
  },
  {
    name: 'not found is said once every way of both waves has answered',
    peers: [knowsNothing(20), knowsNothing(30), knowsNothing(40), knowsNothing(1), knowsNothing(5)],
    answer: '404 not_found',
    tookMs: 45,
    askedMs: [0, 0, 0, 40, 40],
  },
  {
    name: 'of ten ways α and β are asked, and no more',
    peers: Array.from({ length: 10 }, () => knowsNothing(10)),
    answer: '404 not_found',
    tookMs: 20,
    askedMs: [0, 0, 0, 10, 10],
  },
  {
    name: 'while one way has not answered, it is not said that there is none',
    peers: [HANGS, knowsNothing(20), knowsNothing(20)],
    answer: '504 timeout',
    tookMs: 1200,
    askedMs: [0, 0, 0],
  },
  {
    name: 'the one that hangs may be the one that knows: four others that know of no provider are not enough',
    peers: [HANGS, knowsNothing(20), knowsNothing(20), knowsNothing(20), knowsNothing(20)],
    answer: '504 timeout',
    tookMs: 1200,
    askedMs: [0, 0, 0, 150, 150],
  },
  {
    name: 'ways into one network know the same: a first wave that knows of no provider is enough',
    peers: Array.from({ length: 5 }, () => knowsNothing(20)),
    answer: '404 not_found',
    tookMs: 20,
    askedMs: [0, 0, 0],
    knowledge: () => 'dht',
  },
  {
    name: 'ways into one network: one that hangs is made up for by one of the second wave',
    peers: [HANGS, knowsNothing(20), knowsNothing(20), knowsNothing(20), knowsNothing(20)],
    answer: '404 not_found',
    tookMs: 170,
    askedMs: [0, 0, 0, 150, 150],
    knowledge: () => 'dht',
  },
  {
    name: 'an index beside the network may know what the network does not',
    peers: [knowsNothing(20), finds(400), knowsNothing(20), knowsNothing(20), knowsNothing(20)],
    answer: '200',
    tookMs: 400,
    askedMs: [0, 0, 0, 150, 150],
    winner: 'alpha',
    knowledge: (at) => (at === 1 ? 'index' : 'dht'),
  },
  {
    name: 'a first way that failed is replaced before anybody says not found',
    peers: [fails(10), knowsNothing(20), knowsNothing(20), finds(30)],
    answer: '200',
    tookMs: 40,
    askedMs: [0, 0, 0, 10],
    winner: 'beta',
  },
  {
    name: 'too few answered to say not found: 503',
    peers: [fails(0), knowsNothing(10), knowsNothing(10)],
    answer: '503 upstream_unready',
    tookMs: 176,
    askedMs: [0, 0, 0, 83, 176],
  },
  {
    name: 'nobody signed: such providers are shown only if that is wanted',
    peers: [{ does: 'find', afterMs: 10, providers: () => [unsignedProvider('12D3KooWnobody', WALL)] }],
    answer: '404 not_found',
    tookMs: 10,
    askedMs: [0],
  },
  {
    name: 'nobody signed, and that is wanted: shown without being satisfied by it',
    peers: [{ does: 'find', afterMs: 10, providers: () => [unsignedProvider('12D3KooWnobody', WALL)] }, HANGS],
    answer: '200',
    tookMs: 1190,
    askedMs: [0, 0],
    winner: 'tie',
    options: { config: { dht: { accept_unsigned: true } } },
  },
  {
    name: 'a quorum of two waits for the second signature',
    peers: [finds(10, 2), finds(200, 3), HANGS],
    answer: '200',
    tookMs: 300,
    askedMs: [0, 0, 0],
    winner: 'alpha',
    options: { config: { dht: { quorum: 2 } } },
  },
  {
    name: 'with nobody to ask, nobody has it',
    peers: [],
    answer: '404 not_found',
    tookMs: 0,
    askedMs: [],
  },
]

async function providersOf(service: TestService, cid: Address = CID) {
  const startedAt = service.platform.clock.now()
  const answer = await service.ask('GET', `/providers/${cid}`)
  return { answer, startedAt, tookMs: Math.round(service.platform.clock.now() - startedAt) }
}

describe('a hedged lookup', () => {
  for (const { name, peers, answer: expected, tookMs: expectedMs, askedMs, winner, knowledge, options } of CASES) {
    test(name, async () => {
      const network = new TestNetwork(peers, knowledge)
      const service = await TestService.start({ ...options, network })
      const { answer, startedAt, tookMs } = await providersOf(service)
      const told = answer.code === undefined ? String(answer.status) : `${answer.status} ${answer.code}`
      assert.equal(told, expected, answer.body.toString())
      assert.deepEqual(
        network.asked.map(({ at }) => Math.round(at - startedAt)),
        askedMs,
      )
      assert.equal(tookMs, expectedMs)
      assert.equal(network.running, 0, 'nothing goes on behind the answer')
      if (winner !== undefined) {
        const { hedge } = answer.json() as { hedge: { winner: string; beta_ms?: number } }
        assert.equal(hedge.winner, winner)
        const isSent = askedMs.length > 3
        assert.equal(hedge.beta_ms !== undefined, isSent)
      }
      await service.stop()
    })
  }

  test('losers are aborted, and nothing of them is left behind', async () => {
    const network = new TestNetwork([finds(10), HANGS, HANGS])
    const service = await TestService.start({ network })
    await providersOf(service)
    assert.deepEqual(
      network.asked.map(({ end }) => end),
      ['found', 'aborted', 'aborted'],
    )
    await service.stop()
  })

  test('a way that hangs while others answer is left out in the end; one that is merely slower is not', async () => {
    for (const { peers, opened } of [
      { peers: [finds(20), HANGS, HANGS], opened: 2 },
      { peers: [finds(40), finds(150, 3), finds(150, 4)], opened: 0 },
    ]) {
      const service = await TestService.start({ network: new TestNetwork(peers) })
      for (let lookup = 0; lookup < 10; lookup += 1) {
        const cid = addressOf(Buffer.from(`object ${lookup}`))
        assert.equal((await service.ask('GET', `/providers/${cid}`)).status, 200)
      }
      const slots = new Set(peers.map((_, at) => slotOf(`peer-${at}`)))
      const counts = [...slots].map((target) => service.metric('breaker_open_total', { target }))
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        opened,
      )
      await service.stop()
    }
  })

  test('a client that leaves ends its lookup', async () => {
    const network = new TestNetwork([HANGS, HANGS, HANGS])
    const service = await TestService.start({ network })
    const client = new AbortController()
    const leaving = async (): Promise<void> => {
      const asked = service.send('GET', `/providers/${CID}`, { signal: client.signal })
      await service.world.sleep(50)
      assert.equal(network.running, 3)
      client.abort()
      await asked
      await service.world.sleep(1)
    }
    await service.world.run(leaving())
    assert.equal(network.running, 0)
    await service.stop()
  })
})

describe('what is kept', () => {
  test('an answer is kept for 10 s, and nobody is asked again until then', async () => {
    const network = new TestNetwork([finds(10)])
    const service = await TestService.start({ network })
    await providersOf(service)
    await service.sleep(9_800)
    assert.equal((await providersOf(service)).tookMs, 0)
    assert.equal(network.asked.length, 1)
    await service.sleep(300)
    await providersOf(service)
    assert.equal(network.asked.length, 2)
    await service.stop()
  })

  test('not found is kept for 2 s', async () => {
    const network = new TestNetwork([knowsNothing(10)])
    const service = await TestService.start({ network })
    for (let time = 1; time <= 3; time += 1) isProblem((await providersOf(service)).answer, 404, 'not_found')
    assert.equal(network.asked.length, 1)
    await service.sleep(2_000)
    isProblem((await providersOf(service)).answer, 404, 'not_found')
    assert.equal(network.asked.length, 2)
    await service.stop()
  })

  test('a timeout is never kept', async () => {
    const network = new TestNetwork([HANGS])
    const service = await TestService.start({ network })
    for (let time = 1; time <= 2; time += 1) isProblem((await providersOf(service)).answer, 504, 'timeout')
    assert.equal(network.asked.length, 2)
    await service.stop()
  })

  test('a failure is never kept', async () => {
    const network = new TestNetwork([fails(0)])
    const service = await TestService.start({ network })
    for (let time = 1; time <= 2; time += 1) isProblem((await providersOf(service)).answer, 503, 'upstream_unready')
    assert.ok(network.asked.length > 3, 'the second question was asked as well')
    await service.stop()
  })

  test('fresh=true looks past both caches, and what it finds is kept', async () => {
    let peers: readonly Behaviour[] = [finds(10)]
    const network = new TestNetwork(() => peers)
    const service = await TestService.start({ network })
    assert.equal((await service.ask('GET', `/resolve/${CID}`)).status, 200)
    peers = [knowsNothing(10)]
    assert.equal((await service.ask('GET', `/resolve/${CID}`)).fields()['source'], 'cache')
    isProblem(await service.ask('GET', `/resolve/${CID}?fresh=true`), 404, 'not_found')
    isProblem(await service.ask('GET', `/resolve/${CID}`), 404, 'not_found')
    assert.equal(network.asked.length, 2)
    peers = [finds(10)]
    const fresh = await service.ask('GET', `/resolve/${CID}?fresh=true`)
    assert.equal(fresh.status, 200)
    assert.equal(fresh.headers['cache-control'], 'no-cache')
    assert.equal(fresh.headers['etag'], `"${CID}"`)
    assert.equal((await service.ask('GET', `/resolve/${CID}`)).fields()['source'], 'cache')
    await service.stop()
  })

  test('everybody who asks the same at the same time shares one lookup', async () => {
    const network = new TestNetwork([finds(50)])
    const service = await TestService.start({ network })
    const answers = await service.world.run(
      Promise.all(Array.from({ length: 100 }, async () => await service.send('GET', `/providers/${CID}`))),
    )
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(network.asked.length, 1)
    await service.stop()
  })
})
