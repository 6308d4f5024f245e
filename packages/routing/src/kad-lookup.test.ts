import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemCrypto } from '@cairn/platform'
import { dhtKey, peerIdFromKey } from '@cairn/wire'
import { peerIdFromString } from '@libp2p/peer-id'
import { addressNamed, seedOf } from '../test/peer.ts'
import type { KadInternals, PeerId, PeerInfo, QueryPeer } from './kad-internals.ts'
import { KadLookup } from './kad-lookup.ts'

const FOREVER = new AbortController().signal
const PATH = { index: 0, queued: 0, running: 0, total: 0 }

function peerNumbered(number: number): PeerId {
  return peerIdFromString(peerIdFromKey(systemCrypto.ed25519PublicKey(seedOf(number))))
}

const PEERS = Array.from({ length: 12 }, (_, number) => peerNumbered(number))

function info(number: number): PeerInfo {
  return { id: PEERS[number] ?? peerNumbered(number), multiaddrs: [] }
}

interface Network {
  /** For each peer that answers, whom it names as closer and as provider; the others fail. */
  readonly answers: Readonly<Record<number, { readonly closer: number[]; readonly providers?: number[] }>>
}

/** A table whose walk asks everybody it hears of, as the library's does, without its distances. */
class Table {
  readonly routingTable = {
    kBucketSize: 20,
    size: 99,
    closestPeers: () => [...PEERS],
    queueRoutingTableUpdate: () => {},
  }
  readonly disjointPaths = 3

  async *run(_key: Uint8Array, ask: QueryPeer): AsyncGenerator<object> {
    assert.equal(this.disjointPaths, 1)
    const queue = this.routingTable.closestPeers().map((id): PeerInfo => ({ id, multiaddrs: [] }))
    const seen = new Set(queue.map(({ id }) => id.toString()))
    for (let peer = queue.shift(); peer !== undefined; peer = queue.shift()) {
      for await (const event of ask({ peer, signal: FOREVER, path: PATH })) {
        yield event
        if (event.name !== 'PEER_RESPONSE') continue
        for (const closer of event.closer) {
          if (!seen.has(closer.id.toString())) queue.push(closer)
          seen.add(closer.id.toString())
        }
      }
    }
  }
}

function lookupIn({ answers }: Network, closest: readonly number[], legs: number) {
  const asked: number[] = []
  const internals = {
    routingTable: new Table().routingTable,
    queryManager: new Table(),
    providers: { getProviders: async () => [] },
    network: {
      async *sendRequest(to: PeerId) {
        await Promise.resolve()
        const number = PEERS.findIndex((peer) => peer.equals(to))
        asked.push(number)
        const answer = answers[number]
        if (answer === undefined) yield { name: 'QUERY_ERROR', from: to, error: new Error('gone'), path: PATH }
        else {
          const closer = answer.closer.map(info)
          const providers = (answer.providers ?? []).map(info)
          yield { name: 'PEER_RESPONSE', messageName: 'GET_PROVIDERS', from: to, closer, providers, path: PATH }
        }
      },
    },
  }
  const starts = closest.map((number) => info(number).id)
  const lookup = new KadLookup(internals as object as KadInternals, dhtKey(addressNamed('held')), starts, legs)
  return { lookup, asked }
}

async function walk(lookup: KadLookup, leg: number) {
  const plan = lookup.plans[leg] ?? { leg, start: [] }
  const walking = lookup.walk(plan, FOREVER)
  const found: string[] = []
  for (;;) {
    const step = await walking.next()
    if (step.done === true) return { found, ...step.value }
    found.push(`${PEERS.findIndex((peer) => peer.equals(step.value.peer.id))} after ${step.value.hops}`)
  }
}

describe('the legs of a DHT lookup', () => {
  test('start at different peers, the closest dealt out like cards', () => {
    const { lookup } = lookupIn({ answers: {} }, [0, 1, 2, 3, 4], 3)
    const starts = lookup.plans.map(({ start }) => start.map((id) => PEERS.findIndex((peer) => peer.equals(id))))
    assert.deepEqual(starts, [[0, 3], [1, 4], [2]])
    assert.equal(lookupIn({ answers: {} }, [0], 3).lookup.plans.length, 1)
    assert.equal(lookupIn({ answers: {} }, [], 3).lookup.plans.length, 1)
  })

  test('never ask the same peer, though they hear of the same ones', async () => {
    const closer = [0, 1, 2, 3, 4, 5, 6, 7]
    const answers = Object.fromEntries(closer.map((number) => [number, { closer }]))
    const { lookup, asked } = lookupIn({ answers }, [0, 1, 2], 3)
    const walked = await Promise.all([walk(lookup, 0), walk(lookup, 1), walk(lookup, 2)])
    assert.deepEqual(
      asked.toSorted((a, b) => a - b),
      closer,
    )
    assert.equal(
      walked.reduce((sum, { answered }) => sum + answered, 0),
      closer.length,
    )
  })

  test('leave the starting peers of a leg that has not begun to that leg', async () => {
    const { lookup, asked } = lookupIn({ answers: { 0: { closer: [1, 2] }, 2: { closer: [] } } }, [0, 1], 2)
    await walk(lookup, 0)
    assert.deepEqual(asked, [0, 2])
    assert.equal((await walk(lookup, 1)).failed, 1)
  })

  test('name each provider once, with the peers in a row that led to it', async () => {
    const answers = {
      0: { closer: [1], providers: [9] },
      1: { closer: [2], providers: [9, 10] },
      2: { closer: [3], providers: [11] },
    }
    const { lookup } = lookupIn({ answers }, [0], 1)
    const expected = { found: ['9 after 1', '10 after 2', '11 after 3'], answered: 3, failed: 1 }
    assert.deepEqual(await walk(lookup, 0), expected)
  })
})
